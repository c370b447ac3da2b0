package directory

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/braidrun/braid/service/database"
)

// The bytes of skills are not in this database. A version names the place of its bytes. A place that no
// version names is loose: an upload is under way, or its version is not wanted any more. The row of a
// loose place is written before its bytes, and removed after them. So whatever a crash leaves behind is
// still known. A place whose since is 0 is given up: no upload can take it.

// ReserveSkill reserves a place for the bytes of a new version, before they are stored.
// [Directory.PutSkill] makes it the version's. Otherwise call [Directory.ReleaseSkill].
func (d *Directory) ReserveSkill(ctx context.Context, by By, tenant string) (place string, err error) {
	const op = "reserve skill"
	if err := by.may(op, tenant); err != nil {
		return "", err
	}
	place = strings.ToLower(rand.Text())
	err = d.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		if err := needTenant(tx, op, tenant); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO skill_loose (tenant, place, since) VALUES (?, ?, ?)`, tenant, place, database.Micros(database.Now()))
		return err
	})
	return place, err
}

// ReleaseSkill gives up a reserved place. It does nothing if the place is a version's.
func (d *Directory) ReleaseSkill(ctx context.Context, tenant, place string) error {
	return d.db.Write(ctx, "release skill", tenant, func(tx *database.Tx) error {
		_, err := tx.Exec(`UPDATE skill_loose SET since = 0 WHERE tenant = ? AND place = ?`, tenant, place)
		return err
	})
}

// LooseSkills returns places that are given up, at most 100, and gives up those that were reserved before
// a time. Remove their bytes, and then call [Directory.ForgetLooseSkills].
func (d *Directory) LooseSkills(ctx context.Context, tenant string, before time.Time) (places []string, err error) {
	const op = "loose skills"
	if !isSlug(tenant) {
		return nil, nil
	}
	err = d.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		if _, err := tx.Exec(`UPDATE skill_loose SET since = 0 WHERE tenant = ? AND since < ? AND since > 0`,
			tenant, database.Micros(before)); err != nil {
			return err
		}
		places = nil
		return tx.List(`SELECT place FROM skill_loose WHERE tenant = ? AND since = 0 ORDER BY place LIMIT 100`,
			[]any{tenant}, func(scan func(...any) error) error {
				var place string
				err := scan(&place)
				places = append(places, place)
				return err
			})
	})
	return places, err
}

// ForgetLooseSkills forgets places whose bytes were removed.
func (d *Directory) ForgetLooseSkills(ctx context.Context, tenant string, places ...string) error {
	return d.db.Write(ctx, "forget loose skills", tenant, func(tx *database.Tx) error {
		for _, place := range places {
			if _, err := tx.Exec(`DELETE FROM skill_loose WHERE tenant = ? AND place = ? AND since = 0`, tenant, place); err != nil {
				return err
			}
		}
		return nil
	})
}

// takeLoose makes a reserved place a version's. It returns false if the place was given up.
func takeLoose(tx *database.Tx, tenant, place string) (bool, error) {
	n, err := tx.Exec(`DELETE FROM skill_loose WHERE tenant = ? AND place = ? AND since > 0`, tenant, place)
	return n == 1, err
}

// loosen gives up the places of all versions of a skill.
func loosen(tx *database.Tx, tenant, skill string) error {
	_, err := tx.Exec(`INSERT INTO skill_loose (tenant, place, since) SELECT tenant, place, 0 FROM skill_version WHERE tenant = ? AND skill = ?`,
		tenant, skill)
	return err
}
