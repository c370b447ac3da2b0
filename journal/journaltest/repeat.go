package journaltest

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// A driver without a response to its commit does not know whether the batch was stored, and commits it again. These
// cases check the result.
//
// After a success the driver starts the steps that the batch begins. So a batch that keeps the lease is confirmed
// only while the driver has the lease. A batch that gives the lease back is always confirmed, because nothing follows
// it.
func repeatCases() []testCase {
	far := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	return []testCase{
		{"a commit that is there already is a success and changes nothing", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			w.write(note("before"))
			b := w.batch(set("app:n", "1"), begun("t", 1, event.StepTool), ended("t", 1, event.StepTool, event.OutcomeDone))
			b.Read = []string{"a"}
			w.commit(b)
			log := p.log(talk)
			for range 3 {
				w.repeat("the commit again", b)
			}
			equal(p, "log", p.log(talk), log)
			w.write(note("after"))
			equal(p, "seqs", seqs(p.log(talk)), []int64{1, 2, 3, 4, 5})
		}},
		{"an earlier commit may come again after later ones", func(p *probe) {
			w := p.start()
			b := w.write(set("app:n", "1"), begun("t", 1, event.StepTool))
			w.write(set("app:n", "2"), ended("t", 1, event.StepTool, event.OutcomeDone))
			log := p.log(talk)
			w.repeat("the first commit again", b)
			equal(p, "log", p.log(talk), log)
			// The step must not reopen, and the state must not go back.
			w.refused("second end of the step",
				w.batch(ended("t", 1, event.StepTool, event.OutcomeDone)), event.ErrConflict)
			w.release()
			equal(p, "shared state", p.acquire(first, 0).Shared, map[string]json.RawMessage{"app:n": json.RawMessage("2")})
		}},
		{"a part of a commit is there already too", func(p *probe) {
			w := p.start()
			b := w.write(note("a"), note("b"), note("c"))
			w.repeat("its last two events", journal.Batch{Events: b.Events[1:]})
			w.write(note("d"))
			all := journal.Batch{Events: append(b.Events[:3:3], p.log(talk)[3])}
			w.repeat("two commits as one", all)
			equal(p, "seqs", seqs(p.log(talk)), []int64{1, 2, 3, 4})
		}},
		{"a commit that is there only in part is refused", func(p *probe) {
			w := p.start()
			b := w.write(note("a"), note("b"))
			w.last = 0
			more := w.batch(note("a"), note("b"), note("c"))
			w.lost("two stored events and a new one", more)
			equal(p, "log", p.log(talk), b.Events)
		}},
		{"what differs in kind, step or attempt is not there already", func(p *probe) {
			w := p.start()
			w.write(begun("t", 1, event.StepTool), note("a"))
			w.last = 0
			for what, e := range map[string]event.Event{
				"kind":    {Header: event.Header{Step: "t", Attempt: 1}, Body: &event.Notice{Code: "t"}},
				"step":    begun("u", 1, event.StepTool),
				"attempt": begun("t", 2, event.StepTool),
			} {
				w.lost("another "+what, w.batch(e, note("a")))
				b := w.batch(e, note("a"))
				b.Release = true
				w.lost("another "+what+" and a release", b)
			}
			w.last = 2
			w.write(note("b"))
		}},
		{"the end of a run comes again", func(p *probe) {
			w := p.start()
			w.write(note("a"))
			b := w.end(event.RunCompleted)
			w.repeat("the end again", b)
			equal(p, "seqs", seqs(p.log(talk)), []int64{1, 2})
			w.lost("something new", w.batch(note("late")))

			// Another run has the conversation now.
			v := p.startIn(talk, next)
			v.write(note("theirs"))
			w.repeat("the end again after the next run began", b)
			v.write(note("theirs too"))
			equal(p, "seqs", seqs(p.log(talk)), []int64{1, 2, 3, 4})
			equal(p, "status", p.row(journal.Run{ID: first, Conversation: talk}).Status, event.RunCompleted)
			equal(p, "status of the next", p.row(journal.Run{ID: next, Conversation: talk}).Status, event.RunRunning)
		}},
		{"a wait comes again", func(p *probe) {
			r := journal.Run{ID: first, Conversation: talk}
			w := p.start()
			b := w.park(far, note("a"))
			w.repeat("the wait again", b)
			equal(p, "wake-up", p.row(r).WakeAt, far)

			// Another driver has acquired the run, so it must not wait again.
			v := p.take(first)
			w.repeat("the wait again after the run was taken up", b)
			equal(p, "status", p.row(r).Status, event.RunRunning)
			v.write(note("theirs"))
		}},
		{"a release comes again", func(p *probe) {
			w := p.start()
			b := w.batch(note("a"))
			b.Release = true
			w.commit(b)
			w.repeat("the release again", b)
			fresh := w.batch(note("late"))
			fresh.Release = true
			w.lost("something new and a release", fresh)
			v := p.take(first)
			w.repeat("the release again after the run was taken over", b)
			v.write(note("theirs"))
		}},
		{"a commit comes again after the lease was released", func(p *probe) {
			w := p.start()
			b := w.write(note("a"))
			w.release()
			w.repeat("the commit again", b)
			w.lost("something new", w.batch(note("late")))
		}},
		{"a commit that kept the lease is not confirmed to a driver that lost it", func(p *probe) {
			// The batch is stored, but its step belongs to the other driver now. A success would start it twice.
			w := p.start()
			b := w.write(begun("t", 1, event.StepTool))
			w.release()
			v := p.take(first)
			w.lost("the commit again", b)
			v.write(ended("t", 1, event.StepTool, event.OutcomeInDoubt))
		}},
		{"a commit that was never stored is not confirmed by one like it", func(p *probe) {
			w := p.start()
			w.write(note("a"))
			keeps := w.batch(begun("t", 1, event.StepTool), note("b"))
			gives := keeps
			gives.Release = true
			waits := keeps
			waits.Status = event.RunWaiting
			w.release()
			v := p.take(first)
			v.write(begun("t", 1, event.StepTool), note("b"))
			for what, b := range map[string]journal.Batch{
				"one that keeps the lease": keeps, "one that gives it back": gives, "one that waits": waits,
			} {
				w.lost(what, b)
			}
			v.write(note("c"))
			w.lost("one that gives it back, now further down", gives)
		}},
		{"an end that was never stored is not confirmed by another driver's", func(p *probe) {
			w := p.start()
			b := w.ending(event.RunCompleted)
			w.release()
			p.take(first).end(event.RunCompleted)
			w.lost("the end", b)
		}},
		{"what one run wrote is not another's commit", func(p *probe) {
			w := p.start()
			w.end(event.RunCompleted)
			v := p.startIn(talk, next)
			for what, l := range map[string]journal.Lease{
				"another run":          {Conversation: talk, Run: next, Epoch: w.lease.Epoch},
				"another conversation": {Conversation: other, Run: first, Epoch: w.lease.Epoch},
			} {
				forged := &pen{p: p, lease: l}
				forged.lost("the end under a lease of "+what, forged.ending(event.RunCompleted))
			}
			v.write(note("mine"))
		}},
		{"what two leases wrote is nobody's commit", func(p *probe) {
			w := p.start()
			a := w.write(note("a"))
			w.release()
			v := p.take(first)
			b := v.write(note("b"))
			w.lost("the first one's, kept", a)
			both := journal.Batch{Events: append(a.Events[:1:1], b.Events...), Release: true}
			w.lost("to the first lease", both)
			v.lost("to the second lease", both)
			v.release()
			w.lost("to the first lease, when nobody holds it", both)
			v.lost("to the second lease, when nobody holds it", both)
		}},
		{"a batch without events is not known by another's effect", func(p *probe) {
			w := p.start()
			w.commit(journal.Batch{Status: event.RunWaiting})
			w.repeat("the wait again", journal.Batch{Status: event.RunWaiting})
			w.lost("a release of a run that runs", journal.Batch{Status: event.RunRunning, Release: true})
			w.lost("a wait for another time", journal.Batch{Status: event.RunWaiting, WakeAt: far})
		}},
		{"a batch without events is known by its effect", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.post(letter("a", first))
			p.post(letter("b", first))
			w := p.take(first)
			b := journal.Batch{Read: []string{"a"}, Status: event.RunWaiting, WakeAt: far}
			w.commit(b)
			w.repeat("the wait again", b)
			w.repeat("a release of what is released", journal.Batch{Release: true})
			for what, b := range map[string]journal.Batch{
				"one that waits for another time": {Status: event.RunWaiting},
				"one that reads more mail":        {Read: []string{"b"}, Status: event.RunWaiting, WakeAt: far},
				"one of another status":           {Status: event.RunRunning, Release: true},
				"one that keeps the lease":        {},
			} {
				w.lost(what, b)
			}
			v := p.take(first)
			equal(p, "mail", mailIDs(v.opened.Mail), []string{"b"})
			w.lost("the wait again after the run was taken up", b)
			w.lost("a release of another's lease", journal.Batch{Release: true})
			v.write(note("theirs"))
		}},
	}
}
