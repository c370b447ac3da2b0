package service

import (
	"context"
	"io"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/skillpack"
)

// PutSkill stores an uploaded skill of a tenant as a new version. Its bytes count towards the tenant's
// quota. If the newest version has the same files nothing changes, and stored is false. After any error
// nothing is stored.
func (s *Service) PutSkill(
	ctx context.Context, by directory.By, tenant string, of *skillpack.Skill, w directory.SkillWrite,
) (out directory.Skill, stored bool, err error) {
	const op = "upload skill"
	people := s.options.Directory
	if people == nil {
		return directory.Skill{}, false, noTenants(op)
	}
	s.sweepSkills(ctx, tenant) // what a crash has left counts towards the quota
	place, err := people.ReserveSkill(ctx, by, tenant)
	if err != nil {
		return directory.Skill{}, false, err
	}
	defer func() {
		if stored {
			return
		}
		ctx := context.WithoutCancel(ctx)
		if err := people.ReleaseSkill(ctx, tenant, place); err != nil { // a later sweep gives it up
			s.log.Warn("an upload of a skill could not be undone yet", "tenant", tenant, "error", err)
			return
		}
		s.sweepSkills(ctx, tenant)
	}()
	if err := s.quotas.stores(ctx, tenant, of.Bytes()); err != nil {
		return directory.Skill{}, false, err
	}
	spec, err := s.builder.skills.Put(ctx, tenant, place, of)
	if err != nil {
		return directory.Skill{}, false, err
	}
	if err := s.quotas.stores(ctx, tenant, 0); err != nil { // others may have stored something meanwhile
		return directory.Skill{}, false, err
	}
	out, stored, err = people.PutSkill(ctx, by, tenant, of.Name, spec, place, w)
	if stored && out.Version > directory.KeptSkillVersions {
		s.sweepSkills(context.WithoutCancel(ctx), tenant) // it has replaced an old version
	}
	return out, stored, err
}

// DeleteSkill removes a skill of a tenant with its files: see [directory.Directory.DeleteSkill].
func (s *Service) DeleteSkill(
	ctx context.Context, by directory.By, tenant, id string, revision int64, options ...directory.WriteOption,
) error {
	people := s.options.Directory
	if people == nil {
		return noTenants("delete skill")
	}
	if err := people.DeleteSkill(ctx, by, tenant, id, revision, options...); err != nil {
		return err
	}
	s.sweepSkills(context.WithoutCancel(ctx), tenant)
	return nil
}

// SkillArchive returns the archive of a skill in its version: a zip file with one folder.
func (s *Service) SkillArchive(ctx context.Context, of *directory.Skill) (io.ReadCloser, error) {
	r, err := s.builder.skills.Archive(ctx, of.Tenant, &of.SkillSpec)
	if event.KindOf(err) == event.ErrNotFound { // it was removed since it was looked up
		err = &event.Error{Op: "skill", Kind: event.ErrNotFound, Code: "SKILL_NOT_FOUND", Message: "there is no such skill", Hint: "check the name"}
	}
	return r, err
}

// sweepSkills removes the bytes of the tenant's removed skills, and of uploads that did not end. What
// fails is left for the next sweep.
func (s *Service) sweepSkills(ctx context.Context, tenant string) {
	people := s.options.Directory
	for more := true; more; {
		places, err := people.LooseSkills(ctx, tenant, time.Now().Add(-skillpack.UploadTime))
		for _, place := range places {
			if err == nil {
				err = s.builder.skills.Remove(ctx, tenant, place)
			}
		}
		if more = len(places) > 0 && err == nil; more {
			err = people.ForgetLooseSkills(ctx, tenant, places...)
		}
		if err != nil {
			s.log.Warn("the bytes of removed skills could not be removed yet", "tenant", tenant, "error", err)
			return
		}
	}
}

func noTenants(op string) error {
	return &event.Error{Op: op, Kind: event.ErrUnsupported, Message: "this service has no tenants", Hint: "give it a directory"}
}
