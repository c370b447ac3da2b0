package journaltest

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func removeCases() []testCase {
	r := journal.Run{ID: first, Conversation: talk, Tenant: "acme", User: "ann", Key: "k"}
	return []testCase{
		{"what was removed was never there", func(p *probe) {
			p.admit(r)
			p.admit(journal.Run{ID: next, Conversation: other, Tenant: "acme", User: "ann"})
			p.take(next).end(event.RunCompleted)
			w := p.take(first)
			w.write(set("app:n", "1", "user:n", "2", "own", "3"), begun("t", 1, event.StepTool))
			p.post(letter("a", first))
			p.post(reply("b", first))
			b := w.ending(event.RunCompleted)
			b.Read = []string{"a"}
			w.commit(b)
			p.ok("Remove", p.Store.Remove(p.ctx, "acme", talk))

			equal(p, "log", p.log(talk), nil)
			_, err := p.Store.Acquire(p.ctx, first, 0)
			p.refused("Acquire", err, event.ErrNotFound)
			p.refused("Post", p.Store.Post(p.ctx, letter("a", first)), event.ErrNotFound)
			err = p.Store.Commit(p.ctx, w.lease, w.batch(note("late")))
			p.refused("Commit", err, event.ErrLeaseLost)
			_, err = p.Store.Renew(p.ctx, w.lease)
			p.refused("Renew", err, event.ErrLeaseLost)
			p.wantDue()
			equal(p, "conversations", summaryIDs(p.conversations("acme", "", 0)), []string{other})
			p.refused("Remove again", p.Store.Remove(p.ctx, "acme", talk), event.ErrNotFound)

			// Shared data stays, and any tenant may reuse the names.
			equal(p, "the other log", len(p.log(other)), 1)
			v := p.startIn(talk, first)
			equal(p, "turn", v.opened.Run.Turn, 1)
			equal(p, "tenant", v.opened.Run.Tenant, "")
			equal(p, "mail", mailIDs(v.opened.Mail), nil)
			equal(p, "last seq", v.opened.Last, int64(0))
			v.write(begun("t", 1, event.StepTool))
			p.post(letter("a", first))
			again := r
			again.ID, again.Conversation = "run 3", "a third"
			p.admit(again)
			equal(p, "shared state", p.acquire("run 3", 0).Shared, map[string]json.RawMessage{
				"app:n": json.RawMessage("1"), "user:n": json.RawMessage("2"),
			})
		}},
		{"a conversation with an open run stays", func(p *probe) {
			refused := func(what string) {
				p.Helper()
				p.refused("Remove while a run "+what, p.Store.Remove(p.ctx, "acme", talk), event.ErrLocked)
			}
			p.admit(r)
			refused("is queued")
			w := p.take(first)
			b := w.write(note("a"))
			refused("runs")
			p.post(letter("a", first))
			w.park(time.Time{})
			refused("waits")
			w = p.take(first)
			equal(p, "log", w.opened.Events, b.Events)
			equal(p, "mail", mailIDs(w.opened.Mail), []string{"a"})
			w.end(event.RunCompleted)
			refused("is queued for mail")
			p.take(first + "+").end(event.RunCompleted)
			refused("is queued for mail once more")
			w = p.take(first + "++")
			e := w.ending(event.RunCompleted)
			e.Read = []string{"a"}
			w.commit(e)
			p.ok("Remove", p.Store.Remove(p.ctx, "acme", talk))
		}},
		{"a tenant that is removed has nothing", func(p *probe) {
			p.ok("RemoveTenant of nothing", p.Store.RemoveTenant(p.ctx, "acme"))
			p.admit(r)
			p.admit(journal.Run{ID: next, Conversation: other, Tenant: "zeta"})
			p.take(next).end(event.RunCompleted)
			w := p.take(first)
			w.write(set("app:n", "1", "user:n", "2", "own", "3"), begun("t", 1, event.StepTool))
			p.post(letter("a", first))
			p.refused("RemoveTenant while a run is open", p.Store.RemoveTenant(p.ctx, "acme"), event.ErrLocked)
			b := w.ending(event.RunCompleted)
			b.Read, b.Usage, b.Tools = []string{"a"}, []journal.UsageEntry{used(1, "opus", nil)}, []journal.ToolEntry{runs("t")}
			w.commit(b)
			p.ok("KeepMessages", p.Store.KeepMessages(p.ctx, first, []journal.MessageEntry{says(1, 0, "a")}))
			p.ok("RemoveTenant", p.Store.RemoveTenant(p.ctx, "acme"))
			equal(p, "log", p.log(talk), nil)
			equal(p, "usage", p.usage(journal.LedgerQuery{Tenant: "acme"}), nil)
			equal(p, "tools", p.tools(journal.LedgerQuery{Tenant: "acme"}), nil)
			equal(p, "another's log", len(p.log(other)), 1)
			p.admit(r)
			o := p.acquire(first, 0)
			equal(p, "shared state", o.Shared, nil)
			equal(p, "turn", o.Run.Turn, 1)
			equal(p, "mail", mailIDs(o.Mail), nil)
			list, err := p.Store.Messages(p.ctx, journal.MessageQuery{Tenant: "acme", Conversation: talk})
			p.ok("Messages", err)
			equal(p, "messages", list, nil)
		}},
		{"what is on its way to what was buried comes too late", func(p *probe) {
			b := p.Store
			of := func(life string) journal.Run {
				r := r
				r.Incarnation = life
				return r
			}
			p.admit(of("1"))
			p.refused("Tombstone while a run is open", b.Tombstone(p.ctx, "acme", talk, "1"), event.ErrLocked)
			p.take(first).end(event.RunCompleted)
			p.refused("Tombstone by another tenant", b.Tombstone(p.ctx, "zeta", talk, "1"), event.ErrNotFound)
			p.admit(journal.Run{ID: next, Conversation: talk, Tenant: "acme", Incarnation: "1"})
			p.take(next).end(event.RunCompleted)
			p.ok("Tombstone", b.Tombstone(p.ctx, "acme", talk, "1"))
			p.ok("Tombstone again", b.Tombstone(p.ctx, "acme", talk, "1"))
			equal(p, "log", p.log(talk), nil)
			late := func(what string) {
				p.Helper()
				for _, r := range []journal.Run{of("1"), {ID: "late", Conversation: talk, Tenant: "acme", Incarnation: "1", Alone: true}} {
					_, err := p.Store.Admit(p.ctx, r)
					p.refused("Admit "+what, err, event.ErrNotFound)
				}
			}
			late("to a life that is over")
			equal(p, "turn", p.admit(of("2")).Turn, 1)
			late("while there is another life")
			p.take(first).end(event.RunCompleted)
			late("after another life's run")
			p.ok("Tombstone what is buried, while another life has the name", b.Tombstone(p.ctx, "acme", talk, "1"))
			equal(p, "turn", p.admit(journal.Run{ID: next, Conversation: talk, Tenant: "acme", Incarnation: "2"}).Turn, 2)
			p.ok("Tombstone what is buried, while a run of another life is open", b.Tombstone(p.ctx, "acme", talk, "1"))
			p.take(next).end(event.RunCompleted)
			equal(p, "events of another life", len(p.log(talk)), 2)
			p.ok("Tombstone the other life", b.Tombstone(p.ctx, "acme", talk, "2"))
			equal(p, "events", len(p.log(talk)), 0)
		}},
		{"what never had a log is buried, too", func(p *probe) {
			b := p.Store
			p.refused("Tombstone of no name", b.Tombstone(p.ctx, "acme", "", "1"), event.ErrInvalid)
			p.refused("Tombstone of no life", b.Tombstone(p.ctx, "acme", talk, ""), event.ErrInvalid)
			p.ok("Tombstone", b.Tombstone(p.ctx, "acme", talk, "1"))
			equal(p, "conversations", summaryIDs(p.conversations("acme", "", 0)), nil)
			late := r
			late.Incarnation = "1"
			_, err := p.Store.Admit(p.ctx, late)
			p.refused("Admit", err, event.ErrNotFound)
			late.Tenant = "zeta" // another tenant with the same name
			equal(p, "turn", p.admit(late).Turn, 1)
		}},
		{"an admission comes before a burial, or too late", func(p *probe) {
			b := p.Store
			for n := range 40 {
				r := journal.Run{ID: fmt.Sprint("run ", n), Conversation: fmt.Sprint("talk ", n), Tenant: "acme", Incarnation: "1"}
				if n%2 == 0 { // half of them have a run
					before := r
					before.ID += " before"
					p.admit(before)
					p.take(before.ID).end(event.RunCompleted)
				}
				var admitted, buried error
				var work sync.WaitGroup
				work.Go(func() { _, admitted = p.Store.Admit(p.ctx, r) })
				work.Go(func() { buried = b.Tombstone(p.ctx, "acme", r.Conversation, "1") })
				work.Wait()
				if admitted == nil {
					p.refused("Tombstone", buried, event.ErrLocked)
					p.take(r.ID).end(event.RunCompleted)
					continue
				}
				p.refused("Admit", admitted, event.ErrNotFound)
				p.ok("Tombstone", buried)
				equal(p, "log", p.log(r.Conversation), nil)
			}
		}},
		{"a tenant removes its own", func(p *probe) {
			remove := p.Store.Remove
			p.admit(r)
			p.take(first).end(event.RunCompleted)
			p.refused("Remove by another tenant", remove(p.ctx, "zeta", talk), event.ErrNotFound)
			p.refused("Remove by nobody", remove(p.ctx, "", talk), event.ErrNotFound)
			p.refused("Remove of nothing", remove(p.ctx, "acme", other), event.ErrNotFound)
			p.refused("Remove of no name", remove(p.ctx, "acme", ""), event.ErrInvalid)
			equal(p, "events", len(p.log(talk)), 1)
			p.ok("Remove", remove(p.ctx, "acme", talk))
		}},
	}
}
