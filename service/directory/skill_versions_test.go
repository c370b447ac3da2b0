package directory_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/directory/directorytest"
)

// Of the versions of a skill the 20 newest stay. An older one stays for a day after it was replaced, and then the next upload
// removes it and gives up its place.
func TestOldVersionsOfASkillEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, err := database.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		d := directory.New(directory.Options{Database: db})
		defer func() {
			if err := errors.Join(d.Close(), db.Close()); err != nil {
				t.Error(err)
			}
		}()
		ctx, by := t.Context(), directorytest.Operator()
		if _, err := d.CreateTenant(ctx, by, directory.Tenant{ID: "acme"}, ""); err != nil {
			t.Fatal(err)
		}
		places := map[int]string{}
		put := func(n int) {
			t.Helper()
			place, err := d.ReserveSkill(ctx, by, "acme")
			if err != nil {
				t.Fatal(err)
			}
			s, stored, err := d.PutSkill(ctx, by, "acme", "pdf", directory.SkillSpec{
				Description: "x", SHA256: fmt.Sprintf("%064x", n), Files: []directory.SkillFile{{Path: "SKILL.md"}},
			}, place, directory.SkillWrite{})
			if err != nil || !stored {
				t.Fatalf("version %d: %v %v", n, stored, err)
			}
			places[s.Version] = place
		}
		there := func(version int) bool {
			_, err := d.GetSkill(ctx, "acme", "pdf", version)
			if err != nil && !errors.Is(err, event.ErrNotFound) {
				t.Fatal(err)
			}
			return err == nil
		}
		given := func() map[string]bool {
			list, err := d.LooseSkills(ctx, "acme", time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]bool{}
			for _, place := range list {
				all[place] = true
			}
			return all
		}
		for n := range 30 { // one an hour
			put(n)
			time.Sleep(time.Hour)
		}
		// Version 30 came 24 hours after version 5 was replaced, and 23 after version 6 was.
		for version, want := range map[int]bool{1: false, 5: false, 6: true, 7: true, 10: true, 11: true, 30: true} {
			if there(version) != want || given()[places[version]] == want {
				t.Errorf("version %d is there: %t, its place is given up: %t", version, there(version), given()[places[version]])
			}
		}
		time.Sleep(30 * 24 * time.Hour)
		if !there(6) {
			t.Error("a version has gone without an upload")
		}
		put(100)
		for version, want := range map[int]bool{6: false, 10: false, 11: false, 12: true, 31: true} {
			if there(version) != want {
				t.Errorf("after a month version %d is there: %t", version, there(version))
			}
		}
		list, _, err := d.ListSkillVersions(ctx, "acme", "pdf", directory.Query{Limit: 100})
		if err != nil || len(list) != directory.KeptSkillVersions || len(given()) != 31-directory.KeptSkillVersions {
			t.Errorf("%d versions are left, %d places are given up: %v", len(list), len(given()), err)
		}
	})
}
