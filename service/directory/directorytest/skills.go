package directorytest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// content is the content of a skill with this text in its only file.
func content(text string) directory.SkillSpec {
	return directory.SkillSpec{
		Description: "Does " + text + ".", SHA256: fmt.Sprintf("%064x", text), ArchiveBytes: 100,
		Files: []directory.SkillFile{{Path: "SKILL.md", Bytes: int64(len(text)), SHA256: "00"}},
	}
}

// upload reserves a place and stores a version.
func upload(
	t *testing.T, d *directory.Directory, by directory.By, id string, spec directory.SkillSpec, w directory.SkillWrite,
) (directory.Skill, bool, error) {
	t.Helper()
	place := must[string](t)(d.ReserveSkill(t.Context(), by, by.Tenant))
	s, stored, err := d.PutSkill(t.Context(), by, by.Tenant, id, spec, place, w)
	if !stored {
		done(t, d.ReleaseSkill(t.Context(), by.Tenant, place))
	}
	return s, stored, err
}

// uploaded wants a version to be stored.
func uploaded(t *testing.T, d *directory.Directory, by directory.By, id string, spec directory.SkillSpec) directory.Skill {
	t.Helper()
	s, stored, err := upload(t, d, by, id, spec, directory.SkillWrite{})
	if done(t, err); !stored {
		t.Errorf("%s is not stored", id)
	}
	return s
}

// loose lists the places without a version, after giving up what was reserved before a time.
func loose(t *testing.T, d *directory.Directory, tenant string, before time.Time) []string {
	t.Helper()
	return must[[]string](t)(d.LooseSkills(t.Context(), tenant, before))
}

// New content is a version, the same content and a change of the status are none.
func skills(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	made := uploaded(t, d, of("acme"), "pdf", content("one"))
	if made.Version != 1 || made.Newest != 1 || made.Revision != 1 || made.Status != directory.Active || made.Life == "" {
		t.Errorf("made as %+v", made)
	}
	if diff := cmp.Diff(made, must[directory.Skill](t)(d.GetSkill(ctx, "acme", "pdf", 0))); diff != "" {
		t.Error(diff)
	}
	short := func(s directory.Skill) []directory.Skill { s.Files = nil; return []directory.Skill{s} }
	if diff := cmp.Diff(short(made), must[[]directory.Skill](t)(d.Skills(ctx, "acme"))); diff != "" {
		t.Error(diff)
	}
	same, stored, err := upload(t, d, of("acme"), "pdf", content("one"), directory.SkillWrite{})
	if diff := cmp.Diff(made, same); diff != "" || stored || err != nil {
		t.Errorf("the same content: %v %v %s", stored, err, diff)
	}
	_, _, err = upload(t, d, of("acme"), "pdf", content("two"), directory.SkillWrite{New: true})
	want(t, "made twice", err, event.ErrConflict, "SKILL_EXISTS")
	change := func(revision int64, status directory.Status) (directory.Skill, error) {
		return d.UpdateSkill(ctx, of("acme"), "acme", "pdf", revision, func(s *directory.Skill) error {
			s.Status, s.Description = status, "only the status changes"
			return nil
		})
	}
	idle := must[directory.Skill](t)(change(1, directory.Inactive))
	if idle.Version != 1 || idle.Revision != 2 || idle.Status != directory.Inactive || idle.Description != made.Description {
		t.Errorf("switched off as %+v", idle)
	}
	if again := must[directory.Skill](t)(change(0, directory.Inactive)); again.Revision != 2 {
		t.Errorf("switched off twice: %+v", again)
	}
	_, err = change(0, "perhaps")
	want(t, "another status", err, event.ErrInvalid, "")
	for what, err := range map[string]error{
		"status":   second(change(1, directory.Active)),
		"content":  third(upload(t, d, of("acme"), "pdf", content("two"), directory.SkillWrite{Revision: 1})),
		"no skill": third(upload(t, d, of("acme"), "docx", content("two"), directory.SkillWrite{Revision: 1})),
	} {
		want(t, what+" changed too late", err, event.ErrConflict, "REVISION_CONFLICT")
	}
	next, _, err := upload(t, d, of("acme"), "pdf", content("two"), directory.SkillWrite{Revision: 2})
	if err != nil || next.Version != 2 || next.Newest != 2 || next.Revision != 3 || next.Status != directory.Inactive {
		t.Errorf("changed to %+v, %v", next, err)
	}
	if diff := cmp.Diff(short(next), must[[]directory.Skill](t)(d.Skills(ctx, "acme"))); diff != "" {
		t.Errorf("an old list is remembered: %s", diff)
	}
	if old := must[directory.Skill](t)(d.GetSkill(ctx, "acme", "pdf", 1)); old.SHA256 != made.SHA256 || old.Version != 1 || old.Newest != 2 {
		t.Errorf("the first version is %+v", old)
	}
	_, err = d.GetSkill(ctx, "acme", "pdf", 3)
	want(t, "a version that is not there", err, event.ErrNotFound, "SKILL_NOT_FOUND")
	list, cursor, err := d.ListSkillVersions(ctx, "acme", "pdf", directory.Query{Limit: 1})
	if err != nil || len(list) != 1 || list[0].Version != 2 || cursor == "" {
		t.Fatalf("%+v %q %v", list, cursor, err)
	}
	list, cursor, err = d.ListSkillVersions(ctx, "acme", "pdf", directory.Query{Limit: 1, Cursor: cursor})
	if err != nil || len(list) != 1 || list[0].Version != 1 || list[0].SHA256 != made.SHA256 || cursor != "" {
		t.Errorf("%+v %q %v", list, cursor, err)
	}
	uploaded(t, d, of("acme"), "docx", content("three"))
	all, _, err := d.ListSkills(ctx, "acme", directory.Query{Status: directory.Active})
	if err != nil || len(all) != 1 || all[0].ID != "docx" || len(all[0].Files) != 1 {
		t.Errorf("listed as %+v: %v", all, err)
	}
	want(t, "removed too late", d.DeleteSkill(ctx, of("acme"), "acme", "pdf", 1), event.ErrConflict, "REVISION_CONFLICT")
	done(t, d.DeleteSkill(ctx, of("acme"), "acme", "pdf", 3))
	want(t, "removed twice", d.DeleteSkill(ctx, of("acme"), "acme", "pdf", 0), event.ErrNotFound, "SKILL_NOT_FOUND")
	_, _, err = d.ListSkillVersions(ctx, "acme", "pdf", directory.Query{})
	want(t, "versions of nothing", err, event.ErrNotFound, "SKILL_NOT_FOUND")
	if again := uploaded(t, d, of("acme"), "pdf", content("one")); again.Life == made.Life || again.Version != 1 {
		t.Errorf("made again as %+v", again)
	}
	entries, _, err := d.Audit(ctx, "acme", directory.AuditQuery{Object: "skill/pdf"})
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]string{"skill.create", "skill.delete", "skill.upload", "skill.update", "skill.create"}, actions); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// A place has a version, or an upload, or is given up. No place is lost, and none has two owners.
func skillPlaces(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	long := time.Now().Add(-time.Hour)
	place := must[string](t)(d.ReserveSkill(ctx, of("acme"), "acme"))
	if list := loose(t, d, "acme", long); len(list) != 0 {
		t.Errorf("an upload that is under way is given up: %v", list)
	}
	s, stored, err := d.PutSkill(ctx, of("acme"), "acme", "pdf", content("one"), place, directory.SkillWrite{})
	if done(t, err); !stored || s.Version != 1 {
		t.Fatalf("%+v", s)
	}
	done(t, d.ReleaseSkill(ctx, "acme", place)) // the caller did not learn that the version is stored
	if list := loose(t, d, "acme", time.Now().Add(time.Hour)); len(list) != 0 {
		t.Errorf("the place of a version is given up: %v", list)
	}
	// An upload that takes too long loses its place, and cannot take it any more.
	slow := must[string](t)(d.ReserveSkill(ctx, of("acme"), "acme"))
	if diff := cmp.Diff([]string{slow}, loose(t, d, "acme", time.Now().Add(time.Second))); diff != "" {
		t.Error(diff)
	}
	_, _, err = d.PutSkill(ctx, of("acme"), "acme", "docx", content("two"), slow, directory.SkillWrite{})
	want(t, "an upload without its place", err, event.ErrUnavailable, "")
	_, err = d.GetSkill(ctx, "acme", "docx", 0)
	want(t, "its skill", err, event.ErrNotFound, "SKILL_NOT_FOUND")
	done(t, d.ForgetLooseSkills(ctx, "acme", slow, place))
	if list := loose(t, d, "acme", time.Now().Add(time.Hour)); len(list) != 0 {
		t.Errorf("forgotten places are there: %v", list)
	}
	second := must[string](t)(d.ReserveSkill(ctx, of("acme"), "acme"))
	if _, _, err := d.PutSkill(ctx, of("acme"), "acme", "pdf", content("two"), second, directory.SkillWrite{}); err != nil {
		t.Fatal(err)
	}
	done(t, d.DeleteSkill(ctx, of("acme"), "acme", "pdf", 0))
	gone := []string{place, second}
	slices.Sort(gone)
	if diff := cmp.Diff(gone, loose(t, d, "acme", long)); diff != "" {
		t.Errorf("after the removal: %s", diff)
	}
}

// Two uploads of one name at once are two versions, in either order.
func skillsAtOnce(t *testing.T, h Harness) {
	d := h.Directory
	tenant(t, d, "acme")
	var wait sync.WaitGroup
	versions := make([]int, 8)
	for i := range versions {
		wait.Go(func() {
			place, err := d.ReserveSkill(t.Context(), of("acme"), "acme")
			if err != nil {
				t.Error(err)
				return
			}
			s, stored, err := d.PutSkill(t.Context(), of("acme"), "acme", "pdf", content(fmt.Sprint("text ", i)), place, directory.SkillWrite{})
			if versions[i] = s.Version; err != nil || !stored {
				t.Error(stored, err)
			}
		})
	}
	wait.Wait()
	slices.Sort(versions)
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6, 7, 8}, versions); diff != "" {
		t.Error(diff)
	}
}

// What cannot be meant is refused, and nothing of it is stored.
func skillsRefused(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	for _, id := range []string{
		"", ".", "..", "../pdf", "pdf/..", "/pdf", `..\pdf`, "pdf\x00", "Pdf", "pdf-", "-pdf", "p--f", "p_f", "p f", strings.Repeat("a", 65), "ｐdf",
	} {
		_, _, err := upload(t, d, of("acme"), id, content("one"), directory.SkillWrite{})
		says(t, "the name "+id, err, event.ErrInvalid, "", "name")
		_, err = d.GetSkill(ctx, "acme", id, 0)
		want(t, "get "+id, err, event.ErrNotFound, "SKILL_NOT_FOUND")
		want(t, "delete "+id, d.DeleteSkill(ctx, of("acme"), "acme", id, 0), event.ErrNotFound, "SKILL_NOT_FOUND")
	}
	long := strings.Repeat("a", 64)
	uploaded(t, d, of("acme"), long, content("one"))
	if list, _, err := d.ListSkillVersions(ctx, "acme", long, directory.Query{}); err != nil || len(list) != 1 {
		t.Errorf("versions of the longest name: %v %v", list, err)
	}
	done(t, d.DeleteSkill(ctx, of("acme"), "acme", long, 0))
	if list := must[[]directory.Skill](t)(d.Skills(ctx, "acme")); len(list) != 0 {
		t.Errorf("there are %+v", list)
	}
	for i := range directory.MostSkills {
		uploaded(t, d, of("acme"), fmt.Sprint("s", i), content(strconv.Itoa(i)))
	}
	_, _, err := upload(t, d, of("acme"), "more", content("more"), directory.SkillWrite{})
	want(t, "one too many", err, event.ErrQuota, "QUOTA_SKILLS")
	// The descriptions of the active skills are bounded together.
	wordy := content("x")
	wordy.Description = strings.Repeat("d", 1024)
	stored := 0
	for i := range directory.MostSkills {
		wordy.SHA256 = fmt.Sprintf("%064x", fmt.Sprint("wordy ", i))
		if _, _, err = upload(t, d, of("acme"), fmt.Sprint("s", i), wordy, directory.SkillWrite{}); err != nil {
			break
		}
		stored++
	}
	says(t, "too many words", err, event.ErrQuota, "QUOTA_SKILLS", "48 KiB")
	if stored < 40 || stored > 48 {
		t.Errorf("%d long descriptions were stored", stored)
	}
	must[directory.Skill](t)(d.UpdateSkill(ctx, of("acme"), "acme", "s0", 0, func(s *directory.Skill) error {
		s.Status = directory.Inactive
		return nil
	}))
	uploaded(t, d, of("acme"), fmt.Sprint("s", stored), wordy)
	_, err = d.UpdateSkill(ctx, of("acme"), "acme", "s0", 0, func(s *directory.Skill) error { s.Status = directory.Active; return nil })
	want(t, "active again", err, event.ErrQuota, "QUOTA_SKILLS")
}

// Versions of the last day are kept, up to a bound; the skill stays as it is after an upload beyond it.
func skillVersions(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	for i := range directory.MostSkillVersions {
		uploaded(t, d, of("acme"), "pdf", content(strconv.Itoa(i)))
	}
	before := must[directory.Skill](t)(d.GetSkill(ctx, "acme", "pdf", 0))
	_, stored, err := upload(t, d, of("acme"), "pdf", content("more"), directory.SkillWrite{})
	says(t, "one too many", err, event.ErrQuota, "QUOTA_SKILLS", "200 versions of the last day")
	after := must[directory.Skill](t)(d.GetSkill(ctx, "acme", "pdf", 0))
	if diff := cmp.Diff(before, after); diff != "" || stored {
		t.Errorf("it has changed: %s", diff)
	}
	list, _, err := d.ListSkillVersions(ctx, "acme", "pdf", directory.Query{Limit: directory.MostPage})
	if err != nil || len(list) == 0 || list[0].Version != directory.MostSkillVersions {
		t.Errorf("%d versions are listed: %v", len(list), err)
	}
	if first := must[directory.Skill](t)(d.GetSkill(ctx, "acme", "pdf", 1)); first.Version != 1 {
		t.Errorf("the first version is %+v", first)
	}
	if list := loose(t, d, "acme", time.Time{}); len(list) != 1 { // of the refused upload
		t.Errorf("%d places are given up", len(list))
	}
	uploaded(t, d, of("acme"), "other", content("0"))
	done(t, d.DeleteSkill(ctx, of("acme"), "acme", "pdf", 0))
	uploaded(t, d, of("acme"), "pdf", content("more"))
}

// A skill of another tenant is one that is not there.
func skillIsolation(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	tenant(t, d, "evil")
	evil := of("evil")
	uploaded(t, d, of("acme"), "pdf", content("canary"))
	place := must[string](t)(d.ReserveSkill(ctx, of("acme"), "acme"))
	stays := func(*directory.Skill) error { return nil }
	for name, err := range map[string]error{
		"reserve": second(d.ReserveSkill(ctx, evil, "acme")),
		"put":     third(d.PutSkill(ctx, evil, "acme", "pdf", content("x"), place, directory.SkillWrite{})),
		"update":  second(d.UpdateSkill(ctx, evil, "acme", "pdf", 0, stays)), "delete": d.DeleteSkill(ctx, evil, "acme", "pdf", 0),
	} {
		want(t, name, err, event.ErrNotFound, "TENANT_NOT_FOUND")
	}
	for name, err := range map[string]error{
		"get": second(d.GetSkill(ctx, "evil", "pdf", 0)), "update": second(d.UpdateSkill(ctx, evil, "evil", "pdf", 0, stays)),
		"delete": d.DeleteSkill(ctx, evil, "evil", "pdf", 0), "versions": third(d.ListSkillVersions(ctx, "evil", "pdf", directory.Query{})),
	} {
		want(t, name, err, event.ErrNotFound, "SKILL_NOT_FOUND")
	}
	_, _, err := d.PutSkill(ctx, evil, "evil", "pdf", content("x"), place, directory.SkillWrite{})
	want(t, "another tenant's place", err, event.ErrUnavailable, "")
	if list := must[[]directory.Skill](t)(d.Skills(ctx, "evil")); len(list) != 0 {
		t.Errorf("evil has %+v", list)
	}
	if list := loose(t, d, "evil", time.Now().Add(time.Hour)); len(list) != 0 {
		t.Errorf("evil has the places %v", list)
	}
	// Agents name skills of their own tenant only, and one that is named stays.
	_, err = d.CreateAgent(ctx, evil, directory.Agent{Tenant: "evil", ID: "helper", AgentSpec: directory.AgentSpec{Skills: []string{"pdf"}}}, "")
	says(t, "an agent with another tenant's skill", err, event.ErrInvalid, "REFERENCE_UNKNOWN", "skills[0]")
	must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), directory.Agent{
		Tenant: "acme", ID: "helper", AgentSpec: directory.AgentSpec{Skills: []string{"pdf"}},
	}, ""))
	_, err = d.UpdateAgent(ctx, of("acme"), "acme", "helper", 0, func(a *directory.Agent) error { a.Skills = []string{"pfd"}; return nil })
	says(t, "an unknown skill", err, event.ErrInvalid, "REFERENCE_UNKNOWN", "pdf")
	want(t, "one in use", d.DeleteSkill(ctx, of("acme"), "acme", "pdf", 0), event.ErrConflict, "SKILL_IN_USE")
	done(t, d.DeleteSkill(ctx, of("acme"), "acme", "pdf", 0, directory.Force()))
	uploaded(t, d, of("acme"), "docx", content("x"))
	idle(t, d, "acme")
	if erased := must[directory.Erased](t)(d.EraseTenant(ctx, Operator(), "acme")); erased.Skills != 1 {
		t.Errorf("erased %+v", erased)
	}
	tenant(t, d, "acme")
	if list := loose(t, d, "acme", time.Now().Add(time.Hour)); len(list) != 0 {
		t.Errorf("the next tenant of that id has the places %v", list)
	}
}
