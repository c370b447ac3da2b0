package directory

import (
	"context"
	"math"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// SkillWrite says under which condition [Directory.PutSkill] stores a version.
type SkillWrite struct {
	// Revision is the revision that the skill must have. 0 means any, or no skill.
	Revision int64
	// New says that there must be no skill of this name.
	New bool
}

// PutSkill stores the content of a skill as a new version, and creates the skill if there is none. place
// is a reserved place with the content's bytes ([Directory.ReserveSkill]). If the newest version has the
// same content nothing changes, stored is false, and the place stays reserved. Old versions are removed, and
// their places given up: see [KeptSkillVersions].
//
// It returns [event.ErrQuota] if the tenant has [MostSkills], its active skills have more than
// [MostSkillText], or the skill has more than [MostSkillVersions].
func (d *Directory) PutSkill(
	ctx context.Context, by By, tenant, id string, spec SkillSpec, place string, w SkillWrite,
) (s Skill, stored bool, err error) {
	const op = "upload skill"
	if err := by.may(op, tenant); err != nil {
		return Skill{}, false, err
	}
	if err := checkSkill(op, tenant, id, &spec); err != nil {
		return Skill{}, false, err
	}
	err = d.write(ctx, op, tenant, func(tx *database.Tx) error {
		if err := needTenant(tx, op, tenant); err != nil {
			return err
		}
		if err := lockAgents(tx, tenant); err != nil { // of two writers at once one counts the other's skill
			return err
		}
		old, err := lockSkill(tx, op, tenant, id, 0)
		switch {
		case err == nil:
			if w.New {
				return skillExists(op)
			}
			if w.Revision != 0 && w.Revision != old.Revision {
				return outrun(op)
			}
			if old.SHA256 == spec.SHA256 {
				s, stored = old, false
				return nil
			}
		case !isNotFound(err):
			return err
		case w.Revision != 0:
			return outrun(op)
		}
		if s, err = addSkillVersion(tx, &old, tenant, id, spec, place); err != nil {
			return err
		}
		stored = true
		if took, err := takeLoose(tx, tenant, place); err != nil || !took {
			return skillSwept(op, err)
		}
		if err := roomForSkills(tx, op, tenant); err != nil {
			return err
		}
		if err := dropSkillVersions(tx, op, tenant, id, s.Updated); err != nil {
			return err
		}
		action := "skill.create"
		if s.Version > 1 {
			action = "skill.upload"
		}
		return record(tx, tenant, by, action, "skill/"+id, map[string]any{"version": s.Version, "sha256": spec.SHA256})
	})
	if err != nil {
		return Skill{}, false, err
	}
	return s, stored, nil
}

// addSkillVersion adds the next version, of a new skill if old is zero.
func addSkillVersion(tx *database.Tx, old *Skill, tenant, id string, spec SkillSpec, place string) (Skill, error) {
	s := *old
	s.SkillSpec, s.Updated = spec, database.Now()
	s.Version++
	s.Revision++
	s.Newest = s.Version
	if s.Version == 1 {
		s.Tenant, s.ID, s.Life, s.Status, s.Created = tenant, id, newLife(), Active, s.Updated
		if _, err := tx.Exec(`INSERT INTO skill (tenant, id, life, status, version, revision, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			s.Tenant, s.ID, s.Life, s.Status, s.Newest, s.Revision, database.Micros(s.Created), database.Micros(s.Updated)); err != nil {
			return Skill{}, err
		}
	} else if _, err := tx.Exec(`UPDATE skill SET version = ?, revision = ?, updated = ? WHERE tenant = ? AND id = ?`,
		s.Newest, s.Revision, database.Micros(s.Updated), tenant, id); err != nil {
		return Skill{}, err
	}
	doc, err := encode(s.SkillSpec)
	if err != nil {
		return Skill{}, err
	}
	_, err = tx.Exec(`INSERT INTO skill_version (tenant, skill, version, created, place, doc) VALUES (?, ?, ?, ?, ?, ?)`,
		tenant, id, s.Version, database.Micros(s.Updated), place, doc)
	return s, err
}

func skillExists(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "SKILL_EXISTS", Message: "a skill with this name exists",
		Hint: "rename yours, or leave out If-None-Match to add a version",
	}
}

// skillSwept returns the error of an upload that took so long that its bytes were swept.
func skillSwept(op string, err error) error {
	if err != nil {
		return err
	}
	return &event.Error{Op: op, Kind: event.ErrUnavailable, Message: "the upload took too long", Hint: "upload the skill again"}
}

// checkSkill validates what the service has read from the files.
func checkSkill(op, tenant, id string, spec *SkillSpec) error {
	c := checker{op: op}
	c.slug("tenant", tenant)
	c.want(isSkillName(id), "the name of the skill is none", "use 1 to 64 small letters and digits, with single hyphens between them")
	c.text("the description", spec.Description, longestSkillText)
	c.want(spec.SHA256 != "" && len(spec.Files) > 0, "the skill has no files", "upload a folder with a SKILL.md")
	return c.err
}

// GetSkill returns a skill in one of its versions, active or not. Version 0 is the newest. Runs use
// [Directory.Skills].
func (d *Directory) GetSkill(ctx context.Context, tenant, id string, version int) (s Skill, err error) {
	const op = "skill"
	if !isSlug(tenant) || !isSkillName(id) || version < 0 || version > math.MaxInt32 {
		return Skill{}, skillNotFound(op)
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		s, err = getSkill(tx, op, tenant, id, version)
		return err
	})
	return s, err
}

// Skills returns all skills of a tenant in their newest versions, by name, from the cache, without their
// files, metadata and diagnostics. The caller must not change the list.
func (d *Directory) Skills(ctx context.Context, tenant string) ([]Skill, error) {
	const op = "skills"
	if !isSlug(tenant) {
		return nil, nil
	}
	return lookup(ctx, &d.changes, &d.skills, tenant, func(ctx context.Context) (list []Skill, err error) {
		err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
			list, err = newestSkills(tx, tenant)
			for i := range list {
				list[i].Files, list[i].Metadata, list[i].Diagnostics = nil, nil, nil
			}
			return err
		})
		return list, err
	})
}

// ListSkills lists a tenant's skills, each in its newest version.
func (d *Directory) ListSkills(ctx context.Context, tenant string, q Query) (list []Skill, next string, err error) {
	return page(ctx, d.db, tenant, false, q, listing[Skill]{
		op: "list skills", from: selectSkill + ` AND v.version = s.version WHERE s.tenant = ?`, args: []any{tenant}, scan: scanSkill,
		prefix: "s.",
		place:  func(s Skill) (string, time.Time) { return s.ID, s.Created },
	})
}

// ListSkillVersions lists the versions of a skill, the newest first. It ignores q.Status and q.Sort.
func (d *Directory) ListSkillVersions(ctx context.Context, tenant, id string, q Query) ([]SkillVersion, string, error) {
	return versions(ctx, d.db, tenant, id, q, versionList[SkillVersion]{
		op: "list skill versions", none: skillNotFound, valid: isSkillName,
		exists: func(tx *database.Tx, op string) error { _, err := getSkill(tx, op, tenant, id, 0); return err },
		table:  "skill_version", column: "skill",
		read: func(version int, created time.Time, doc string) (SkillVersion, error) {
			v := SkillVersion{Version: version, Created: created}
			return v, decode(doc, &v.SkillSpec)
		},
		number: func(v SkillVersion) int { return v.Version },
	})
}

// UpdateSkill changes the status of a skill. revision is as in [Directory.UpdateTenant].
func (d *Directory) UpdateSkill(
	ctx context.Context, by By, tenant, id string, revision int64, change func(s *Skill) error,
) (s Skill, err error) {
	const op = "update skill"
	if err := by.may(op, tenant); err != nil {
		return Skill{}, err
	}
	if !isSkillName(id) {
		return Skill{}, skillNotFound(op)
	}
	err = d.write(ctx, op, tenant, func(tx *database.Tx) error {
		if err := lockAgents(tx, tenant); err != nil {
			return err
		}
		old, err := lockSkill(tx, op, tenant, id, revision)
		if err != nil {
			return err
		}
		s = old
		if err := change(&s); err != nil {
			return err
		}
		status := s.Status
		s = old
		if status == old.Status {
			return nil
		}
		c := checker{op: op}
		if c.status(status); c.err != nil {
			return c.err
		}
		s.Status, s.Revision, s.Updated = status, old.Revision+1, database.Now()
		if _, err := tx.Exec(`UPDATE skill SET status = ?, revision = ?, updated = ? WHERE tenant = ? AND id = ?`,
			s.Status, s.Revision, database.Micros(s.Updated), tenant, id); err != nil {
			return err
		}
		if err := roomForSkills(tx, op, tenant); err != nil {
			return err
		}
		what, err := differences(old, s)
		if err != nil {
			return err
		}
		return record(tx, tenant, by, "skill.update", "skill/"+id, what)
	})
	if err != nil {
		return Skill{}, err
	}
	return s, nil
}

// DeleteSkill removes a skill with its versions, and gives up the places of their bytes. revision is as in
// [Directory.UpdateTenant]. It returns [event.ErrConflict] with the code SKILL_IN_USE if the newest version
// of an agent names the skill, unless [Force] is given.
func (d *Directory) DeleteSkill(ctx context.Context, by By, tenant, id string, revision int64, options ...WriteOption) error {
	const op = "delete skill"
	if err := by.may(op, tenant); err != nil {
		return err
	}
	if !isSkillName(id) {
		return skillNotFound(op)
	}
	force := optionsOf(options).force
	return d.write(ctx, op, tenant, func(tx *database.Tx) error {
		if err := lockAgents(tx, tenant); err != nil {
			return err
		}
		if _, err := lockSkill(tx, op, tenant, id, revision); err != nil {
			return err
		}
		if !force {
			if err := skillUnused(tx, op, tenant, id); err != nil {
				return err
			}
		}
		if err := loosen(tx, tenant, id); err != nil {
			return err
		}
		for _, statement := range []string{
			`DELETE FROM skill_version WHERE tenant = ? AND skill = ?`, `DELETE FROM skill WHERE tenant = ? AND id = ?`,
		} {
			if _, err := tx.Exec(statement, tenant, id); err != nil {
				return err
			}
		}
		return record(tx, tenant, by, "skill.delete", "skill/"+id, nil)
	})
}
