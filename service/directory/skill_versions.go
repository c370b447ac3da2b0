package directory

import (
	"strconv"
	"time"

	"github.com/braidrun/braid/service/database"
)

// These bound the versions of a skill.
const (
	// KeptSkillVersions is how many of the newest versions are kept.
	KeptSkillVersions = 20
	// KeptSkillTime is how long an older version is kept after another one has replaced it. A run that
	// works reads the version that it began with. Queued and waiting runs use the newest one when they go on.
	KeptSkillTime = 24 * time.Hour
	// MostSkillVersions bounds the versions with those that are kept for KeptSkillTime.
	MostSkillVersions = 200
)

// skillVersion is a version with the place of its bytes.
type skillVersion struct {
	version int
	created time.Time
	place   string
}

// dropSkillVersions removes the versions of a skill that are not kept, and gives up their places. It returns
// [event.ErrQuota] if too many are left.
func dropSkillVersions(tx *database.Tx, op, tenant, skill string, now time.Time) error {
	var all []skillVersion // the newest first
	err := tx.List(`SELECT version, created, place FROM skill_version WHERE tenant = ? AND skill = ? ORDER BY version DESC`,
		[]any{tenant, skill}, func(scan func(...any) error) error {
			var v skillVersion
			var created int64
			err := scan(&v.version, &created, &v.place)
			v.created = database.Time(created)
			all = append(all, v)
			return err
		})
	if err != nil {
		return err
	}
	left := len(all)
	for i := KeptSkillVersions; i < len(all); i++ {
		if now.Sub(all[i-1].created) < KeptSkillTime { // replaced by the version above it
			continue
		}
		left--
		if err := dropSkillVersion(tx, tenant, skill, &all[i]); err != nil {
			return err
		}
	}
	if left > MostSkillVersions {
		return OverQuota(op, "QUOTA_SKILLS", "the skill has "+strconv.Itoa(MostSkillVersions)+" versions of the last day, the most that it may have",
			"upload fewer versions, or delete the skill first")
	}
	return nil
}

func dropSkillVersion(tx *database.Tx, tenant, skill string, v *skillVersion) error {
	if _, err := tx.Exec(`INSERT INTO skill_loose (tenant, place, since) VALUES (?, ?, 0)`, tenant, v.place); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM skill_version WHERE tenant = ? AND skill = ? AND version = ?`, tenant, skill, v.version)
	return err
}
