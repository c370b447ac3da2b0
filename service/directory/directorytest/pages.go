package directorytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

func pages(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	const n = 11
	for i := range n {
		a := directory.Agent{Tenant: "acme", ID: fmt.Sprintf("agent-%02d", (i*7)%n), Status: directory.Active}
		if i%3 == 0 {
			a.Status = directory.Inactive
		}
		must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), a, ""))
	}
	for _, status := range []directory.Status{"", directory.Active, directory.Inactive} {
		for _, sort := range []directory.Sort{"", directory.SortID, directory.SortOldest, directory.SortNewest} {
			var seen []directory.Agent
			q := directory.Query{Status: status, Sort: sort, Limit: 3}
			for {
				list, next, err := d.ListAgents(ctx, "acme", q)
				done(t, err)
				if len(list) > 3 || next != "" && len(list) != 3 {
					t.Fatalf("a page of %d, with more: %v", len(list), next != "")
				}
				seen = append(seen, list...)
				if q.Cursor = next; next == "" {
					break
				}
			}
			if want := map[directory.Status]int{"": n, directory.Active: 7, directory.Inactive: 4}[status]; len(seen) != want {
				t.Errorf("%q by %q are %d, want %d", status, sort, len(seen), want)
			}
			ordered := slices.IsSortedFunc(seen, func(a, b directory.Agent) int {
				switch sort {
				case directory.SortOldest:
					return a.Created.Compare(b.Created)
				case directory.SortNewest:
					return b.Created.Compare(a.Created)
				default:
					return strings.Compare(a.ID, b.ID)
				}
			})
			if !ordered {
				t.Errorf("%q by %q are in no order", status, sort)
			}
		}
	}
	for name, q := range map[string]directory.Query{
		"too many": {Limit: 101}, "less than nothing": {Limit: -1}, "an order that is none": {Sort: "doc; DROP TABLE tenant"},
		"a status that is none": {Status: "gone' OR 1=1"},
	} {
		_, _, err := d.ListAgents(ctx, "acme", q)
		want(t, name, err, event.ErrInvalid, "")
	}
	if _, _, err := d.ListTenants(ctx, directory.Query{}); err != nil {
		t.Error(err)
	}
}

func cursors(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	for _, id := range []string{"acme", "evil"} {
		tenant(t, d, id)
		for _, agent := range []string{"a", "b", "c"} {
			must[directory.Agent](t)(d.CreateAgent(ctx, of(id), directory.Agent{Tenant: id, ID: agent}, ""))
		}
	}
	_, next, err := d.ListAgents(ctx, "acme", directory.Query{Limit: 1})
	done(t, err)
	_, entry, err := d.Audit(ctx, "acme", directory.AuditQuery{Limit: 1})
	done(t, err)
	for name, c := range map[string]directory.Query{
		"garbage": {Cursor: "x"}, "cut": {Cursor: next[:len(next)-2]}, "longer": {Cursor: next + "AA"},
		"another order's":  {Cursor: next, Sort: directory.SortNewest},
		"another filter's": {Cursor: next, Status: directory.Active}, "another list's": {Cursor: entry}, "no text": {Cursor: "\xff"},
		"huge": {Cursor: strings.Repeat("A", 1<<20)}, "SQL": {Cursor: "' OR 1=1 --"},
	} {
		_, _, err := d.ListAgents(ctx, "acme", c)
		want(t, name, err, event.ErrInvalid, "")
	}
	_, _, err = d.ListAgents(ctx, "evil", directory.Query{Cursor: next})
	want(t, "another tenant's", err, event.ErrInvalid, "")
	_, _, err = d.Audit(ctx, "acme", directory.AuditQuery{Cursor: next})
	want(t, "an agent's in the audit", err, event.ErrInvalid, "")
	_, _, err = d.ListAgentVersions(ctx, "acme", "a", directory.Query{Cursor: next})
	want(t, "an agent's among versions", err, event.ErrInvalid, "")
}
