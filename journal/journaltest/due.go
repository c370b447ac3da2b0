package journaltest

import (
	"fmt"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func dueCases() []testCase {
	past := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	far := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	return []testCase{
		{"nothing is due in an empty store", func(p *probe) {
			p.wantDue()
		}},
		{"a queued run is due until it is taken", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.wantDue(first)
			p.wantDue(first)
			p.take(first)
			p.wantDue()
		}},
		{"a run behind another is not due", func(p *probe) {
			for i := 1; i <= 3; i++ {
				p.admit(journal.Run{ID: fmt.Sprint("run ", i), Conversation: talk})
			}
			for i := 1; i <= 3; i++ {
				run := fmt.Sprint("run ", i)
				p.wantDue(run)
				w := p.take(run)
				p.wantDue()
				w.park(far)
				p.wantDue()
				p.take(run).end(event.RunCompleted)
			}
			p.wantDue()
			p.admit(journal.Run{ID: "run 4", Conversation: talk})
			p.wantDue("run 4")
		}},
		{"a run that has ended is not due", func(p *probe) {
			w := p.start()
			p.post(reply("a", first))
			w.end(event.RunFailed)
			p.wantDue()
		}},
		{"a run without a driver is due", func(p *probe) {
			w := p.start()
			p.wantDue()
			w.release()
			p.wantDue(first)
			p.take(first)
			p.wantDue()
		}},
		{"a run whose lease has run out is due", func(p *probe) {
			p.needClock()
			w := p.start()
			p.Advance(p.Term / 2)
			p.wantDue()
			p.Advance(p.Term/2 + time.Second)
			p.wantDue(first)
			_, err := p.Store.Renew(p.ctx, w.lease)
			p.ok("Renew", err)
			p.wantDue()
		}},
		{"a waiting run is due by mail", func(p *probe) {
			w := p.start()
			w.park(time.Time{})
			p.wantDue()
			p.post(reply("a", first))
			p.wantDue(first)
			w = p.take(first)
			b := w.batch(note("read"))
			b.Read, b.Status = []string{"a"}, event.RunWaiting
			w.commit(b)
			p.wantDue()
			p.post(reply("a", first))
			p.wantDue()
			p.post(journal.Mail{ID: "c", Run: first, Kind: journal.MailCancel})
			p.wantDue(first)
		}},
		{"a run that waits with mail unread is due at once", func(p *probe) {
			w := p.start()
			p.post(reply("a", first))
			p.post(reply("b", first))
			b := w.batch(note("read"))
			b.Read, b.Status, b.WakeAt = []string{"a"}, event.RunWaiting, far
			w.commit(b)
			p.wantDue(first)
		}},
		{"a message does not make a waiting run due", func(p *probe) {
			w := p.start()
			w.park(time.Time{})
			p.post(letter("a", first))
			p.wantDue()
			p.post(reply("b", first))
			p.wantDue(first)
		}},
		{"a run that waits with a message unread stays waiting", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			p.post(reply("b", first))
			b := w.batch(note("read"))
			b.Read, b.Status, b.WakeAt = []string{"b"}, event.RunWaiting, far
			w.commit(b)
			p.wantDue()
			w = p.take(first)
			equal(p, "mail", mailIDs(w.opened.Mail), []string{"a"})
			w.park(past)
			p.wantDue(first)
		}},
		{"a waiting run is due by time", func(p *probe) {
			w := p.start()
			w.park(far)
			p.wantDue()
			w = p.take(first)
			w.park(past)
			p.wantDue(first)
			w = p.take(first)
			p.wantDue()
			w.park(time.Time{})
			p.wantDue()
		}},
		{"a waiting run is due when its time comes", func(p *probe) {
			p.needClock()
			row := p.admit(journal.Run{ID: first, Conversation: talk})
			w := p.take(first)
			w.park(row.Admitted.Truncate(time.Second).Add(time.Hour))
			p.Advance(59 * time.Minute)
			p.wantDue()
			p.Advance(2 * time.Minute)
			p.wantDue(first)
		}},
		{"a run that runs is not due by mail or an old wake-up", func(p *probe) {
			w := p.start()
			w.park(past)
			p.take(first)
			p.post(letter("a", first))
			p.wantDue()
		}},
		{"runs end in any order", func(p *probe) {
			var open []string
			for i := range 7 {
				id := fmt.Sprint(i)
				p.admit(journal.Run{ID: id, Conversation: id})
				open = append(open, id)
				p.tick()
			}
			for _, id := range []string{"3", "0", "6", "2", "4", "5", "1"} {
				p.take(id).end(event.RunCompleted)
				open = slices.DeleteFunc(open, func(o string) bool { return o == id })
				p.wantDue(open...)
			}
			p.admit(journal.Run{ID: "7", Conversation: "1"})
			p.wantDue("7")
		}},
		{"the oldest come first, and no more than asked for", func(p *probe) {
			const n = 6
			want := make([]string, n)
			for i := range n {
				// Names and conversations do not sort by age.
				want[i] = fmt.Sprint((i*5)%n, " run")
				p.admit(journal.Run{ID: want[i], Conversation: fmt.Sprint((i*7)%n, " talk")})
				p.tick()
			}
			// A run that was acquired and released keeps its age.
			p.take(want[2]).release()
			p.take(want[4]).park(past)
			for limit, size := range map[int]int{-1: n, 0: n, 1: 1, 4: 4, n: n, 100: n} {
				equal(p, fmt.Sprint("due runs, at most ", limit), p.due(limit), want[:size])
			}
			p.take(want[0])
			equal(p, "due runs, at most 2", p.due(2), want[1:3])
		}},
	}
}
