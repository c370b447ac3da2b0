package journaltest

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func leaseCases() []testCase {
	return []testCase{
		{"a lease that nobody gave is void", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			forged := &pen{p: p, lease: journal.Lease{Conversation: talk, Run: first}}
			forged.lost("commit before any lease", forged.batch(note("x")))
			forged.lost("empty commit before any lease", journal.Batch{})
			forged.lost("release before any lease", journal.Batch{Release: true})
			_, err := p.Store.Renew(p.ctx, forged.lease)
			p.refused("Renew before any lease", err, event.ErrLeaseLost)

			w := p.take(first)
			p.admit(journal.Run{ID: next, Conversation: talk})
			for what, change := range map[string]func(l *journal.Lease){
				"an earlier epoch":     func(l *journal.Lease) { l.Epoch-- },
				"a later epoch":        func(l *journal.Lease) { l.Epoch++ },
				"another run":          func(l *journal.Lease) { l.Run = next },
				"an unknown run":       func(l *journal.Lease) { l.Run = "nobody" },
				"another conversation": func(l *journal.Lease) { l.Conversation = other },
			} {
				forged := *w
				change(&forged.lease)
				forged.lost("commit with "+what, forged.batch(note("x")))
				forged.lost("release with "+what, journal.Batch{Release: true})
				_, err := p.Store.Renew(p.ctx, forged.lease)
				p.refused("Renew with "+what, err, event.ErrLeaseLost)
			}
			w.write(note("a"))
		}},
		{"taking over voids the earlier lease", func(p *probe) {
			w := p.start()
			w.release()
			v := p.take(first)
			w.lost("commit of the earlier driver", w.batch(note("late")))
			w.lost("end by the earlier driver", w.ending(event.RunFailed))
			w.lost("release by the earlier driver", journal.Batch{Release: true})
			_, err := p.Store.Renew(p.ctx, w.lease)
			p.refused("Renew by the earlier driver", err, event.ErrLeaseLost)
			v.write(note("mine"))
			w.last = v.last
			w.lost("commit of the earlier driver at the right place", w.batch(note("late")))
		}},
		{"the run that comes next voids the earlier one's lease", func(p *probe) {
			w := p.start()
			w.end(event.RunCompleted)
			v := p.startIn(talk, next)
			w.lost("commit of the run that has ended", w.batch(note("late")))
			v.write(note("mine"))
		}},
		{"a lease may be renewed", func(p *probe) {
			w := p.start()
			for range 2 {
				equal(p, "news", w.renew(), journal.News{})
			}
			w.write(note("a"))
		}},
		{"a lease runs out on the store's clock", func(p *probe) {
			p.needClock()
			w := p.start()
			p.Advance(p.Term / 2)
			_, err := p.Store.Acquire(p.ctx, first, 0)
			p.refused("Acquire at half the term", err, event.ErrLocked)
			p.Advance(p.Term/2 + time.Second)
			v := p.take(first)
			if ahead := v.lease.Until.Sub(w.lease.Until); ahead < p.Term {
				p.Errorf("the new lease ends %v after the old one, want more than a term of %v", ahead, p.Term)
			}
			w.lost("commit of the driver that was too late", w.batch(note("late")))
			v.write(note("mine"))
		}},
		{"expiry alone does not void a lease", func(p *probe) {
			p.needClock()
			w := p.start()
			p.Advance(3 * p.Term)
			w.write(note("a"))
			_, err := p.Store.Renew(p.ctx, w.lease)
			p.ok("Renew of a lease that has run out", err)
			_, err = p.Store.Acquire(p.ctx, first, 0)
			p.refused("Acquire after that", err, event.ErrLocked)
			p.Advance(3 * p.Term)
			w.write(note("b"))
			w.end(event.RunCompleted)
		}},
		{"renewing moves the end", func(p *probe) {
			p.needClock()
			w := p.start()
			for range 4 {
				p.Advance(p.Term * 3 / 4)
				_, err := p.Store.Renew(p.ctx, w.lease)
				p.ok("Renew", err)
			}
			p.Advance(p.Term / 2)
			_, err := p.Store.Acquire(p.ctx, first, 0)
			p.refused("Acquire", err, event.ErrLocked)
			p.Advance(p.Term/2 + time.Second)
			p.take(first)
		}},
		{"writing does not move the end", func(p *probe) {
			p.needClock()
			w := p.start()
			p.Advance(p.Term * 3 / 4)
			w.write(note("a"))
			p.Advance(p.Term / 2)
			equal(p, "last seq", p.acquire(first, 0).Last, int64(1))
		}},
	}
}
