package journaltest

import (
	"fmt"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func (p *probe) conversations(tenant, after string, limit int) []journal.Summary {
	p.Helper()
	list, err := p.Store.Conversations(p.ctx, tenant, after, limit)
	p.ok("Conversations", err)
	return list
}

func summaryIDs(list []journal.Summary) []string {
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

func listCases() []testCase {
	return []testCase{
		{"what admitted last comes first", func(p *probe) {
			equal(p, "conversations of an empty store", p.conversations("", "", 0), nil)
			for i, c := range []string{"b", "c", "a", "b", "d"} {
				p.admit(journal.Run{ID: fmt.Sprint(i), Conversation: c})
				p.tick()
			}
			p.admit(journal.Run{ID: "3", Conversation: "b"}) // a repeat does not change the order
			p.startIn("e", "e").release()
			p.take("2").end(event.RunCompleted) // nor does an end
			want := []string{"e", "d", "b", "a", "c"}
			equal(p, "conversations", summaryIDs(p.conversations("", "", 0)), want)
			equal(p, "the first two", summaryIDs(p.conversations("", "", 2)), want[:2])
			for i, id := range want {
				equal(p, "after "+id, summaryIDs(p.conversations("", id, -1)), want[i+1:])
				equal(p, "the one after "+id, summaryIDs(p.conversations("", id, 1)), want[i+1:min(i+2, len(want))])
			}
			_, err := p.Store.Conversations(p.ctx, "", "nowhere", 0)
			p.refused("Conversations after one that is not there", err, event.ErrNotFound)
		}},
		{"a tenant sees its own", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			p.admit(journal.Run{ID: next, Conversation: other, Tenant: "zeta"})
			p.admit(journal.Run{ID: "run 3", Conversation: "bare"})
			for tenant, want := range map[string]string{"acme": talk, "zeta": other, "": "bare"} {
				equal(p, "conversations of "+tenant, summaryIDs(p.conversations(tenant, "", 0)), []string{want})
			}
			equal(p, "conversations of nobody", p.conversations("nobody", "", 0), nil)
			_, err := p.Store.Conversations(p.ctx, "acme", other, 0)
			p.refused("Conversations after another tenant's", err, event.ErrNotFound)
		}},
		{"a summary follows the runs", func(p *probe) {
			r := journal.Run{ID: first, Conversation: talk, Tenant: "acme", User: "ann", Agent: "calc", Input: whole().Input}
			row := p.admit(r)
			want := journal.Summary{
				ID: talk, Tenant: "acme", User: "ann", Agent: "calc", Turns: 1, Open: 1,
				Status: event.RunQueued, Created: row.Admitted, Updated: row.Admitted,
			}
			look := func(what string) {
				p.Helper()
				equal(p, what, p.conversations("acme", "", 0), []journal.Summary{want})
			}
			look("a queued run")
			w := p.take(first)
			want.Status = event.RunRunning
			look("a run that runs")
			p.tick()
			r.ID, r.User, r.Agent = next, "bob", "poet"
			row = p.admit(r)
			want.User, want.Agent, want.Turns, want.Open, want.Updated = "bob", "poet", 2, 2, row.Admitted
			look("one behind it")
			w.park(time.Time{}, note("a"), note("b"))
			want.Status, want.Last = event.RunWaiting, 2
			look("a run that waits")
			p.take(first).end(event.RunFailed)
			want.Status, want.Last, want.Open = event.RunQueued, 3, 1
			look("the one behind it is next")
			p.take(next).end(event.RunCompleted)
			want.Status, want.Last, want.Open = event.RunCompleted, 4, 0
			look("all have ended")
		}},
		{"runs come by their turn, as they stand", func(p *probe) {
			r := whole()
			p.admit(r)
			for i := 9; i > 0; i-- {
				p.admit(journal.Run{ID: fmt.Sprint(i), Conversation: talk, Tenant: "acme", Metadata: map[string]string{"n": "1"}})
			}
			p.admit(journal.Run{ID: next, Conversation: other})
			p.take(first).end(event.RunFailed)
			p.take("9").park(time.Unix(1000, 0))
			got, err := p.Store.Runs(p.ctx, talk, 0, 0)
			p.ok("Runs", err)
			for i := range got {
				equal(p, "turn", got[i].Turn, i+1)
			}
			equal(p, "how many", len(got), 10)
			equal(p, "the first", got[0], p.row(r))
			equal(p, "when the second wakes", got[1].WakeAt.Unix(), int64(1000))
			got[1].Metadata["n"] = "2"
			again, err := p.Store.Runs(p.ctx, talk, 0, 0)
			p.ok("Runs", err)
			equal(p, "a label that the caller changed", again[1].Metadata["n"], "1")

			for _, page := range []struct{ after, limit, first, many int }{
				{0, 3, 1, 3}, {3, 3, 4, 3}, {9, 3, 10, 1}, {8, 0, 9, 2}, {10, 3, 0, 0}, {-1, 1, 1, 1}, {99, 0, 0, 0},
			} {
				part, err := p.Store.Runs(p.ctx, talk, page.after, page.limit)
				p.ok("a page of Runs", err)
				equal(p, fmt.Sprintf("how many after %d", page.after), len(part), page.many)
				if len(part) > 0 {
					equal(p, fmt.Sprintf("the first after %d", page.after), part[0].Turn, page.first)
				}
			}

			none, err := p.Store.Runs(p.ctx, "nowhere", 0, 0)
			p.ok("Runs of nowhere", err)
			equal(p, "runs of nowhere", none, nil)
			_, err = p.Store.Runs(p.ctx, "", 0, 0)
			p.refused("Runs of no name", err, event.ErrInvalid)
		}},
		{"a run that was made for mail is listed", func(p *probe) {
			w := p.start()
			p.startIn(other, next).release()
			p.post(letter("a", first))
			w.end(event.RunCompleted)
			got, err := p.Store.Runs(p.ctx, talk, 0, 0)
			p.ok("Runs", err)
			equal(p, "runs", len(got), 2)
			equal(p, "the second", got[1].ID, first+"+")
			list := p.conversations("", "", 0)
			equal(p, "conversations", summaryIDs(list), []string{talk, other})
			equal(p, "turns", list[0].Turns, 2)
			equal(p, "open ones", list[0].Open, 1)
		}},
		{"the queue is the open runs in their order", func(p *probe) {
			want := func(ids ...string) {
				p.Helper()
				runs, err := p.Store.Queue(p.ctx, talk)
				p.ok("Queue", err)
				var got []string
				for _, r := range runs {
					got = append(got, r.ID)
				}
				equal(p, "queue", got, ids)
			}
			want()
			r := whole()
			p.admit(r)
			p.admit(journal.Run{ID: "a", Conversation: talk, Tenant: "acme"})
			p.admit(journal.Run{ID: "0", Conversation: other, Tenant: "acme"})
			want(first, "a")
			w := p.take(first)
			runs, err := p.Store.Queue(p.ctx, talk)
			p.ok("Queue", err)
			equal(p, "the run that runs", runs[0], p.row(r))
			w.park(time.Time{})
			want(first, "a")
			p.post(letter("a", first))
			p.take(first).end(event.RunCompleted)
			want("a")
			p.take("a").end(event.RunFailed)
			want("a+")
			_, err = p.Store.Queue(p.ctx, "")
			p.refused("Queue of no name", err, event.ErrInvalid)
		}},
	}
}
