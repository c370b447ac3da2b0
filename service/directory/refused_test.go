package directory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

type counted struct {
	Count int    `json:"count"`
	Path  string `json:"path"`
}

// refusedIn reads what a tenant's audit has counted.
func refusedIn(t *testing.T, d *directory.Directory, tenant string) (list []directory.Entry, counts []counted) {
	t.Helper()
	list, _, err := d.Audit(t.Context(), tenant, directory.AuditQuery{Action: "request.refused", Limit: directory.MostPage})
	done(t, err)
	for _, e := range list {
		var c counted
		done(t, json.Unmarshal(e.Detail, &c))
		counts = append(counts, c)
	}
	return list, counts
}

// A flood of refused requests costs a few rows and keeps the number, whoever floods with what.
func TestAFloodOfRefusals(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		const tenants, workers, each = 3, 8, 1000
		for n := range tenants {
			_, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: fmt.Sprint("t", n)}, "")
			done(t, err)
		}
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range each {
					d.Refused(directory.Refused{
						By:     directory.By{Tenant: fmt.Sprint("t", i%tenants), Key: fmt.Sprint("k", w), User: fmt.Sprint("u", i)},
						Status: 404, Code: "NOT_FOUND", Route: "GET /x", Path: strings.Repeat("\u00e9\x00", 1000) + fmt.Sprint(i),
					})
				}
			})
		}
		wg.Wait()
		done(t, d.WriteRefused(t.Context()))
		sum := 0
		for n := range tenants {
			tenant := fmt.Sprint("t", n)
			list, counts := refusedIn(t, d, tenant)
			if len(list) > 17 {
				t.Errorf("%s has %d entries", tenant, len(list))
			}
			for i, c := range counts {
				sum += c.Count
				if len(c.Path) > 1000 || strings.Contains(c.Path, "\x00") {
					t.Errorf("%s has a path of %d bytes", list[i].Object, len(c.Path))
				}
			}
			if v, err := d.VerifyAudit(t.Context(), tenant); err != nil || !v.OK() {
				t.Errorf("%s: %+v, %v", tenant, v, err)
			}
		}
		if sum != workers*each {
			t.Errorf("%d are counted, want %d", sum, workers*each)
		}
		done(t, d.WriteRefused(t.Context()))
		if list, _ := refusedIn(t, d, "t0"); len(list) > 17 {
			t.Errorf("what was written is written again: %d entries", len(list))
		}
	})
}

// What was refused in an erased tenant is not in the audit of the one that has its id now, nor in that of
// none. Counts that cannot be written wait.
func TestRefusalsOfTenantsThatAreGone(t *testing.T) {
	t.Parallel()
	db := databasetest.OpenMemory(t)
	d := directory.New(directory.Options{Database: db})
	create := func(status directory.Status) {
		t.Helper()
		_, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: "acme", Status: status}, "")
		done(t, err)
	}
	refuse := func(tenant string) {
		d.Refused(directory.Refused{By: directory.By{Tenant: tenant, Key: "k"}, Status: 403, Code: "SCOPE_MISSING", Route: "GET /x"})
	}
	create(directory.Inactive)
	refuse("acme")
	refuse("nobody")
	refuse("")
	_, err := d.EraseTenant(t.Context(), operator, "acme")
	done(t, err)
	create(directory.Active)
	done(t, d.WriteRefused(t.Context()))
	for tenant, want := range map[string]int{"acme": 0, "nobody": 0, "": 1} {
		if list, _ := refusedIn(t, d, tenant); len(list) != want {
			t.Errorf("the audit of %q has %+v", tenant, list)
		}
	}
	refuse("acme")
	refuse("acme")
	done(t, d.Close()) // which writes them
	if _, counts := refusedIn(t, d, "acme"); len(counts) != 1 || counts[0].Count != 2 {
		t.Errorf("after the end there is %+v", counts)
	}
	refuse("acme") // nobody writes it, and nothing is kept
	done(t, d.WriteRefused(t.Context()))
	if _, counts := refusedIn(t, d, "acme"); len(counts) != 1 {
		t.Errorf("after the end there is more: %+v", counts)
	}
}

// Counts are written by themselves, and not before their time.
func TestRefusalsAreWrittenLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := directory.New(directory.Options{Database: databasetest.OpenMemory(t)})
		defer func() { done(t, d.Close()) }()
		for n := range 2 {
			d.Refused(directory.Refused{Status: 401, Code: "UNAUTHENTICATED", Route: "GET /x"})
			for _, c := range []struct {
				wait time.Duration
				want int
			}{{directory.DefaultRefusedEvery - time.Second, n}, {time.Second, n + 1}} {
				time.Sleep(c.wait)
				synctest.Wait()
				if list, _ := refusedIn(t, d, ""); len(list) != c.want {
					t.Errorf("%d: there are %d entries, want %d", n, len(list), c.want)
				}
			}
		}
	})
}
