package directory

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// These bound the skills of a tenant.
const (
	// MostSkills bounds the number, including inactive ones.
	MostSkills = 100
	// MostSkillText bounds the bytes of the names and descriptions of the active ones together, because
	// the model reads all of them with each request.
	MostSkillText = 48 << 10
)

func getSkill(tx *database.Tx, op, tenant, id string, version int) (Skill, error) {
	which, args := ` AND v.version = s.version`, []any{tenant, id}
	if version > 0 {
		which, args = ` AND v.version = ?`, append(args, version)
	}
	s, err := one(tx, op, "skill", selectSkill+` WHERE s.tenant = ? AND s.id = ?`+which, args, scanSkill)
	if isNotFound(err) {
		err = skillNotFound(op)
	}
	return s, err
}

// newestSkills lists the skills of a tenant in their newest versions.
func newestSkills(tx *database.Tx, tenant string) (list []Skill, err error) {
	err = tx.List(selectSkill+` AND v.version = s.version WHERE s.tenant = ? ORDER BY s.id`, []any{tenant},
		func(scan func(...any) error) error {
			s, err := scanSkill(scan)
			list = append(list, s)
			return err
		})
	return list, err
}

// lockSkill locks a skill for a change, and returns its newest version.
func lockSkill(tx *database.Tx, op, tenant, id string, revision int64) (Skill, error) {
	// Lock in a statement of its own, so that the next one sees the committed state.
	if _, err := tx.Get(`SELECT version FROM skill WHERE tenant = ? AND id = ?`+tx.ForUpdate(), []any{tenant, id}, new(int)); err != nil {
		return Skill{}, err
	}
	s, err := getSkill(tx, op, tenant, id, 0)
	if err == nil && revision != 0 && revision != s.Revision {
		err = outrun(op)
	}
	return s, err
}

// roomForSkills returns an error if the tenant has too many skills, or too long descriptions.
func roomForSkills(tx *database.Tx, op, tenant string) error {
	all, err := newestSkills(tx, tenant)
	if err != nil {
		return err
	}
	text := 0
	for i := range all {
		if all[i].Status == Active {
			text += len(all[i].ID) + len(all[i].Description)
		}
	}
	switch {
	case len(all) > MostSkills:
		return OverQuota(op, "QUOTA_SKILLS", "the tenant has "+strconv.Itoa(MostSkills)+" skills, the most that it may have",
			"delete one that is not needed")
	case text > MostSkillText:
		return OverQuota(op, "QUOTA_SKILLS",
			"the names and descriptions of the active skills have more than "+strconv.Itoa(MostSkillText>>10)+" KiB together",
			"shorten descriptions, or make a skill inactive that is not needed")
	}
	return nil
}

// skillUnused returns an error if the newest version of an agent names the skill.
func skillUnused(tx *database.Tx, op, tenant, id string) error {
	var users []string
	err := tx.List(selectAgent+` AND v.version = a.version WHERE a.tenant = ? AND v.doc LIKE '%"skills":%' ORDER BY a.id`, []any{tenant},
		func(scan func(...any) error) error {
			a, err := scanAgent(scan)
			if err == nil && slices.Contains(a.Skills, id) {
				users = append(users, a.ID)
			}
			return err
		})
	if err != nil || len(users) == 0 {
		return err
	}
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "SKILL_IN_USE", Message: "the skill is in use by the agents " + someNames(users),
		Hint: "change these first, or send force=true to leave them without it",
	}
}

// skill refuses a skill that neither the tenant nor the server has. Inactive ones exist.
func (r *referrer) skill(path, name string) error {
	if slices.Contains(r.skills, name) {
		return nil
	}
	if isSkillName(name) {
		there, err := r.tx.Get(`SELECT id FROM skill WHERE tenant = ? AND id = ?`, []any{r.tenant.ID, name}, new(string))
		if err != nil || there {
			return err
		}
	}
	known, err := r.list(`SELECT id FROM skill WHERE tenant = ? ORDER BY id LIMIT ?`, r.tenant.ID)
	if err != nil {
		return err
	}
	known = append(known, r.skills...)
	slices.Sort(known)
	return r.refuse(path, "there is no skill "+strconv.Quote(cutName(name)), knownNames("skills", slices.Compact(known)))
}

// cutName shortens a name for an error.
func cutName(name string) string {
	if r := []rune(name); len(r) > longestSkillName {
		return string(r[:longestSkillName-1]) + "…"
	}
	return name
}
