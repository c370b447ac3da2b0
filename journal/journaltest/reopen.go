package journaltest

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func reopenCases() []testCase {
	return []testCase{
		{"what was acknowledged is there again", func(p *probe) {
			r := whole()
			p.admit(r)
			w := p.take(first)
			b := w.write(append(everything()[:2], set("app:n", "1", "user:n", "2"), begun("t", 1, event.StepTool))...)
			p.post(letter("a", first))
			p.post(letter("b", first))
			w.commit(journal.Batch{Read: []string{"a"}})
			p.post(journal.Mail{ID: "c", Run: first, Kind: journal.MailCancel})
			row := p.row(r)

			p.reopen()
			equal(p, "log", p.log(talk), b.Events)
			equal(p, "row", p.row(r), row)
			r.ID = next
			equal(p, "row by its key", p.row(r).ID, first)
			_, err := p.Store.Acquire(p.ctx, first, 0)
			p.refused("Acquire while the lease holds", err, event.ErrLocked)
			w.repeat("the commit again", b)
			w.refused("commit that reads mail again", journal.Batch{Read: []string{"a"}}, event.ErrConflict)
			w.write(ended("t", 1, event.StepTool, event.OutcomeDone))
			w.release()

			v := p.take(first)
			if v.lease.Epoch <= w.lease.Epoch {
				p.Errorf("epoch is %d after %d, want it to rise", v.lease.Epoch, w.lease.Epoch)
			}
			equal(p, "mail", mailIDs(v.opened.Mail), []string{"b", "c"})
			equal(p, "cancelled", v.opened.Run.Cancelled, true)
			equal(p, "shared state", v.opened.Shared, map[string]json.RawMessage{
				"app:n": json.RawMessage("1"), "user:n": json.RawMessage("2"),
			})
		}},
		{"what was left to the next run is there again", func(p *probe) {
			r := whole()
			p.admit(r)
			w := p.take(first)
			p.post(letter("a", first))
			p.post(letter("b", first))
			end := w.end(event.RunCompleted)
			before := p.due(0)

			p.reopen()
			equal(p, "due runs", p.due(0), before)
			w.repeat("the end again", end)
			changed := letter("a", first)
			changed.Message = words("another")
			p.refused("Post of other words", p.Store.Post(p.ctx, changed), event.ErrConflict)
			p.post(letter("a", first))
			p.post(letter("c", first+"+"))
			v := p.take(first + "+")
			equal(p, "mail", mailIDs(v.opened.Mail), []string{"a", "b", "c"})
			equal(p, "which of it is early", early(v.opened.Mail), []bool{true, true, false})
			row := v.opened.Run
			equal(p, "row", row, journal.Run{
				ID: first + "+", Conversation: r.Conversation, Tenant: r.Tenant, User: r.User, Agent: r.Agent,
				Executor: r.Executor, Metadata: r.Metadata, Turn: 2, Status: event.RunRunning, Admitted: row.Admitted,
			})
			p.post(reply("d", first+"+"))

			p.reopen()
			equal(p, "news", mailIDs(v.renew().Mail), []string{"a", "b", "c", "d"})
		}},
		{"what is due is due again", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.startIn("waits", "waits").park(time.Time{})
			p.startIn("posted", "posted").park(time.Time{})
			p.post(letter("a", "posted"))
			p.startIn("woken", "woken").park(time.Unix(0, 0))
			p.startIn("released", "released").release()
			p.startIn("over", "over").end(event.RunCompleted)
			due := p.due(0)

			p.reopen()
			equal(p, "due runs", p.due(0), due)
			p.take(first).end(event.RunCompleted)
			equal(p, "turn", p.acquire(next, 0).Run.Turn, 2)
		}},
		{"a run that began in one commit is there again", func(p *probe) {
			s := p.beginner()
			p.needClock()
			w := p.begin(s, whole(), journal.Place{Turn: 1, Epoch: 1}, note("one"))

			p.reopen()
			p.Advance(journal.DefaultTerm + p.Term)
			p.wantDue(first)
			v := p.take(first)
			equal(p, "log", seqs(v.opened.Events), []int64{w.last})
			equal(p, "labels", v.opened.Run.Metadata, whole().Metadata)
			equal(p, "lost drivers", v.opened.Run.Lost, 1)
		}},
	}
}
