package journaltest

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func acquireCases() []testCase {
	return []testCase{
		{"a queued run is taken and runs", func(p *probe) {
			row := p.admit(whole())
			o := p.acquire(first, 0)
			if o.Lease.Epoch < 1 {
				p.Errorf("epoch is %d, want 1 or more", o.Lease.Epoch)
			}
			if ahead := o.Lease.Until.Sub(row.Admitted); ahead < p.Term/2 {
				p.Errorf("the lease ends %v after admission, want a term of %v", ahead, p.Term)
			}
			row.Status = event.RunRunning
			equal(p, "opened", o, journal.Opened{
				Lease: journal.Lease{Conversation: talk, Run: first, Epoch: o.Lease.Epoch, Until: o.Lease.Until, Term: o.Lease.Term},
				Run:   row,
			})
			equal(p, "row afterwards", p.row(whole()), row)
		}},
		{"an unknown run is not found", func(p *probe) {
			_, err := p.Store.Acquire(p.ctx, first, 0)
			p.refused("Acquire", err, event.ErrNotFound)
		}},
		{"an empty id is invalid", func(p *probe) {
			_, err := p.Store.Acquire(p.ctx, "", 0)
			p.refused("Acquire", err, event.ErrInvalid)
		}},
		{"one driver at a time", func(p *probe) {
			w := p.start()
			_, err := p.Store.Acquire(p.ctx, first, 0)
			p.refused("Acquire of a run that is held", err, event.ErrLocked)
			w.write(note("still mine"))
		}},
		{"a run that has ended is a conflict", func(p *probe) {
			for _, s := range []event.RunStatus{event.RunCompleted, event.RunFailed, event.RunCancelled} {
				p.startIn(string(s), string(s)).end(s)
				_, err := p.Store.Acquire(p.ctx, string(s), 0)
				p.refused("Acquire of a run that is "+string(s), err, event.ErrConflict)
			}
		}},
		{"runs are taken in the order of their turns", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: talk})
			locked := func(when string) {
				p.Helper()
				_, err := p.Store.Acquire(p.ctx, next, 0)
				p.refused("Acquire of the second run while the first "+when, err, event.ErrLocked)
			}
			locked("is queued")
			w := p.take(first)
			locked("runs")
			w.park(time.Time{})
			locked("waits")
			w = p.take(first)
			w.release()
			locked("runs without a driver")
			p.take(first).end(event.RunFailed)
			o := p.acquire(next, 0)
			equal(p, "turn of what comes next", o.Run.Turn, 2)
			equal(p, "last seq", o.Last, int64(1))
		}},
		{"conversations do not wait for each other", func(p *probe) {
			a, b := p.startIn(talk, first), p.startIn(other, next)
			a.write(note("a"))
			b.write(note("b"))
			equal(p, "seqs of the one", seqs(p.log(talk)), []int64{1})
			equal(p, "seqs of the other", seqs(p.log(other)), []int64{1})
		}},
		{"the epoch rises with every lease of the conversation", func(p *probe) {
			p.admit(journal.Run{ID: next, Conversation: other})
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: "run 3", Conversation: talk})
			var before int64
			rises := func(w *pen) *pen {
				p.Helper()
				if w.lease.Epoch <= before {
					p.Errorf("epoch is %d after %d, want it to rise", w.lease.Epoch, before)
				}
				before = w.lease.Epoch
				return w
			}
			rises(p.take(first)).release()
			rises(p.take(first)).park(time.Time{})
			rises(p.take(first)).end(event.RunCompleted)
			rises(p.take("run 3")).end(event.RunCompleted)
		}},
		{"a run that waits may be taken at any time", func(p *probe) {
			far := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
			p.start().park(far)
			r := journal.Run{ID: first, Conversation: talk}
			equal(p, "wake-up while it waits", p.row(r).WakeAt, far)
			o := p.acquire(first, 0)
			equal(p, "status", o.Run.Status, event.RunRunning)
			equal(p, "wake-up", o.Run.WakeAt, time.Time{})
			equal(p, "wake-up of the row", p.row(r).WakeAt, time.Time{})
		}},
		{"the events come that the driver does not have", func(p *probe) {
			w := p.start()
			for range 5 {
				w.write(note("n"))
			}
			w.release()
			for have, want := range map[int64][]int64{
				-1: {1, 2, 3, 4, 5}, 0: {1, 2, 3, 4, 5}, 2: {3, 4, 5}, 4: {5}, 5: nil, 6: nil, 1 << 40: nil,
			} {
				o := p.acquire(first, have)
				equal(p, "seqs", seqs(o.Events), want)
				equal(p, "last seq", o.Last, int64(5))
				p.ok("Commit", p.Store.Commit(p.ctx, o.Lease, journal.Batch{Release: true}))
			}
		}},
		{"the events of earlier runs come too", func(p *probe) {
			w := p.start()
			w.write(note("one"), note("two"))
			w.end(event.RunCompleted)
			p.admit(journal.Run{ID: next, Conversation: talk})
			o := p.acquire(next, 1)
			equal(p, "events", o.Events, p.log(talk)[1:])
			equal(p, "run of the first one", o.Events[0].Run, first)
		}},
	}
}
