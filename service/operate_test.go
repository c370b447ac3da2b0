package service_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// The runs of a tenant that becomes inactive end on every server that works on the journal, also those that wait for a user and
// that no server drives.
func TestRunsOfAnInactiveTenantEnd(t *testing.T) {
	t.Parallel()
	d := people(t)
	if _, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: "beta"}, ""); err != nil {
		t.Fatal(err)
	}
	rows := &service.MemoryRows{}
	here := tenants(t, d, func(o *service.Options) { o.Rows, o.Shared = rows, true })
	join := func() *house {
		return tenants(t, d, func(o *service.Options) { o.Journal, o.Rows, o.Shared = here.store, rows, true })
	}
	there := join()
	bob := service.Principal{Tenant: "beta", User: "bob"}
	start := func(h *house, p service.Principal, input string) journal.Run {
		t.Helper()
		conv, err := h.CreateConversation(t.Context(), p, service.NewConversation{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := h.StartRun(t.Context(), p, conv.ID, service.RunRequest{Input: input})
		if err != nil {
			t.Fatal(err)
		}
		return s.Run
	}
	reaches := func(run journal.Run, want event.RunStatus) {
		t.Helper()
		until(t, "the run is "+string(want), func() bool {
			got, err := here.FindRun(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status.Ended() && got.Status != want {
				t.Fatalf("the run ended as %s, want %s", got.Status, want)
			}
			return got.Status == want
		})
	}
	parked, other := start(here, ann, "use ask"), start(there, bob, "use sleep")
	busy := []journal.Run{start(here, ann, "use sleep"), start(there, ann, "use sleep")}
	reaches(parked, event.RunWaiting)
	for _, r := range append(busy, other) {
		reaches(r, event.RunRunning)
	}

	setTenant(t, d, func(a *directory.Tenant) { a.Status = directory.Inactive })
	for _, r := range busy {
		reaches(r, event.RunCancelled)
	}
	join() // a server that starts looks at the runs of all tenants
	reaches(parked, event.RunCancelled)
	reaches(other, event.RunRunning)
	if _, err := there.CancelAnyRun(t.Context(), operator, other.ID); err != nil {
		t.Fatal(err)
	}
	reaches(other, event.RunCancelled)
	if _, err := there.CancelAnyRun(t.Context(), operator, other.ID); !errors.Is(err, event.ErrConflict) {
		t.Errorf("cancelling a run that has ended: %v", err)
	}
	audit, _, err := d.Audit(t.Context(), "beta", directory.AuditQuery{Action: "run.cancel"})
	if err != nil || len(audit) != 1 || audit[0].Object != "run/"+other.ID || !audit[0].By.Operator {
		t.Errorf("the audit of the tenant has %+v (%v)", audit, err)
	}
}

// The operator finds runs by tenant, state, user, agent, kind of error and age, in pages whose cursors are good for one query.
func TestOperatorFindsRuns(t *testing.T) {
	t.Parallel()
	store := &journal.Memory{}
	admitted := make(map[string]time.Time)
	for _, r := range []journal.Run{
		{ID: "run_1", Tenant: "acme", User: "ann", Agent: "clerk"},
		{ID: "run_2", Tenant: "acme", User: "bob", Agent: "cook"},
		{ID: "run_3", Tenant: "beta", User: "ann", Agent: "clerk"},
	} {
		r.Conversation = "conv_" + r.ID
		row, err := store.Admit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		admitted[r.ID] = row.Admitted
	}
	o, err := store.Acquire(t.Context(), "run_2", 0)
	if err != nil {
		t.Fatal(err)
	}
	end := &event.Event{
		Header: event.Header{Seq: 1, Conversation: "conv_run_2", Run: "run_2"},
		Body:   &event.RunEnded{Status: event.RunFailed, Err: &event.Error{Kind: event.ErrPoisoned, Message: "it kills"}},
	}
	if err := store.Commit(t.Context(), o.Lease, journal.Batch{Events: []*event.Event{end}, Status: event.RunFailed}); err != nil {
		t.Fatal(err)
	}
	nobody := func(context.Context, service.AgentRequest) (*braid.Agent, error) {
		return nil, errors.New("nobody answers")
	}
	s, err := service.New(service.Options{Journal: store, Rows: &service.MemoryRows{}, Agent: nobody})
	if err != nil {
		t.Fatal(err)
	}
	all := func(q service.RunQuery) (ids []string) {
		t.Helper()
		for {
			runs, next, err := s.FindRuns(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range runs {
				ids = append(ids, r.ID)
			}
			if q.Cursor = next; next == "" {
				return ids
			}
		}
	}
	for _, c := range []struct {
		what string
		q    service.RunQuery
		want []string
	}{
		{"all", service.RunQuery{}, []string{"run_3", "run_2", "run_1"}},
		{"pages", service.RunQuery{Limit: 1}, []string{"run_3", "run_2", "run_1"}},
		{"a tenant's", service.RunQuery{Tenant: "acme"}, []string{"run_2", "run_1"}},
		{"open", service.RunQuery{Status: "open"}, []string{"run_3", "run_1"}},
		{"failed", service.RunQuery{Status: "failed"}, []string{"run_2"}},
		{"poisoned", service.RunQuery{Failure: event.ErrPoisoned}, []string{"run_2"}},
		{"ann's", service.RunQuery{User: "ann"}, []string{"run_3", "run_1"}},
		{"the cook's", service.RunQuery{Agent: "cook"}, []string{"run_2"}},
		{"since", service.RunQuery{Since: admitted["run_3"]}, []string{"run_3"}},
		{"nobody's", service.RunQuery{Tenant: "gamma"}, nil},
	} {
		if got := all(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	_, next, err := s.FindRuns(t.Context(), service.RunQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]service.RunQuery{
		"another query's cursor": {Tenant: "acme", Cursor: next}, "no cursor": {Cursor: "x"}, "no status": {Status: "asleep"},
		"too many": {Limit: service.MostPage + 1}, "less than none": {Limit: -1},
	} {
		if _, _, err := s.FindRuns(t.Context(), q); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []string{"", "run_", "run_9", "conv_1", "run_1' --"} {
		if _, err := s.FindRun(t.Context(), id); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("run %q: %v", id, err)
		}
	}
}
