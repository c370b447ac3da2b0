package journaltest

import (
	"fmt"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// find returns a page of runs.
func (p *probe) find(q journal.RunQuery) journal.RunPage {
	p.Helper()
	page, err := p.Store.FindRuns(p.ctx, q)
	p.ok("FindRuns", err)
	return page
}

// foundIDs returns the ids of the runs on all pages.
func (p *probe) foundIDs(q journal.RunQuery) (ids []string) {
	p.Helper()
	for {
		page := p.find(q)
		for _, r := range page.Runs {
			ids = append(ids, r.ID)
		}
		if page.Next == 0 {
			return ids
		}
		q.Before = page.Next
	}
}

func findCases() []testCase {
	return []testCase{
		{"runs of all tenants are found", func(p *probe) {
			equal(p, "runs of an empty store", p.foundIDs(journal.RunQuery{}), nil)
			var admitted []time.Time
			for i, r := range []journal.Run{
				{Tenant: "acme", User: "ann", Agent: "clerk"},
				{Tenant: "acme", User: "bob", Agent: "clerk"},
				{Tenant: "zeta", User: "ann", Agent: "cook"},
				{Tenant: "zeta", User: "ann", Agent: "clerk"},
			} {
				r.ID, r.Conversation = fmt.Sprint("r", i), fmt.Sprint("c", i)
				r.Input, r.Metadata = whole().Input, map[string]string{"k": "v"}
				admitted = append(admitted, p.admit(r).Admitted)
				p.tick()
			}
			w := p.take("r1")
			b := w.batch(event.Event{Body: &event.RunEnded{Status: event.RunFailed, Err: &event.Error{Kind: event.ErrPoisoned, Message: "it kills"}}})
			b.Status = event.RunFailed
			w.commit(b)
			p.take("r2").end(event.RunCompleted)
			w = p.take("r3")
			for _, c := range []struct {
				what string
				q    journal.RunQuery
				want []string
			}{
				{"all", journal.RunQuery{}, []string{"r3", "r2", "r1", "r0"}},
				{"pages of one", journal.RunQuery{Limit: 1}, []string{"r3", "r2", "r1", "r0"}},
				{"pages of two", journal.RunQuery{Limit: 2}, []string{"r3", "r2", "r1", "r0"}},
				{"one", journal.RunQuery{ID: "r2"}, []string{"r2"}},
				{"one of another tenant", journal.RunQuery{ID: "r2", Tenant: "acme"}, nil},
				{"none", journal.RunQuery{ID: "nobody"}, nil},
				{"a tenant's", journal.RunQuery{Tenant: "acme"}, []string{"r1", "r0"}},
				{"nobody's", journal.RunQuery{Tenant: "nobody"}, nil},
				{"open ones", journal.RunQuery{Status: []event.RunStatus{event.RunQueued, event.RunRunning, event.RunWaiting}}, []string{"r3", "r0"}},
				{"open ones of a tenant", journal.RunQuery{Tenant: "acme", Status: []event.RunStatus{event.RunQueued, event.RunRunning}}, []string{"r0"}},
				{"running", journal.RunQuery{Status: []event.RunStatus{event.RunRunning}, Limit: 1}, []string{"r3"}},
				{"ended or queued", journal.RunQuery{Status: []event.RunStatus{event.RunQueued, event.RunFailed, event.RunCompleted}}, []string{"r2", "r1", "r0"}},
				{"failed", journal.RunQuery{Status: []event.RunStatus{event.RunFailed}}, []string{"r1"}},
				{"failed ones of a tenant", journal.RunQuery{Tenant: "acme", Status: []event.RunStatus{event.RunFailed}}, []string{"r1"}},
				{"cancelled ones of a tenant", journal.RunQuery{Tenant: "acme", Status: []event.RunStatus{event.RunCancelled}}, nil},
				{"failed ones of another tenant", journal.RunQuery{Tenant: "zeta", Status: []event.RunStatus{event.RunFailed, event.RunCancelled}}, nil},
				{"failed or completed of a tenant", journal.RunQuery{Tenant: "zeta", Status: []event.RunStatus{event.RunFailed, event.RunCompleted}}, []string{"r2"}},
				{"of a user", journal.RunQuery{User: "ann"}, []string{"r3", "r2", "r0"}},
				{"of an agent", journal.RunQuery{Agent: "clerk", Tenant: "zeta"}, []string{"r3"}},
				{"poisoned", journal.RunQuery{Failure: event.ErrPoisoned}, []string{"r1"}},
				{"since", journal.RunQuery{Since: admitted[2]}, []string{"r3", "r2"}},
				{"since then on, in pages", journal.RunQuery{Since: admitted[1], Limit: 1}, []string{"r3", "r2", "r1"}},
				{"hostile names", journal.RunQuery{User: "' OR 1 = 1 --", Agent: "%"}, nil},
			} {
				equal(p, c.what, p.foundIDs(c.q), c.want)
			}
			got := p.find(journal.RunQuery{ID: "r1"}).Runs[0]
			want := journal.Run{
				ID: "r1", Conversation: "c1", Tenant: "acme", User: "bob", Agent: "clerk", Turn: 1, Session: got.Session,
				Status: event.RunFailed, Admitted: admitted[1], Failure: event.ErrPoisoned,
			}
			equal(p, "a failed run", got, want)
			w.release()
		}},
	}
}
