package journaltest

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// beginCases test stores that are a [journal.Beginner]. The others skip them.
func beginCases() []testCase {
	run := journal.Run{ID: first, Conversation: talk, Tenant: "acme", User: "ann", Key: "k", Metadata: map[string]string{"a": "b"}}
	place := journal.Place{Turn: 1, Epoch: 1}
	return []testCase{
		{"a proposal changes nothing", func(p *probe) {
			s := p.beginner()
			o, err := s.Propose(p.ctx, run, place)
			p.ok("Propose", err)
			equal(p, "turn", o.Run.Turn, 1)
			equal(p, "status", o.Run.Status, event.RunRunning)
			p.absent(run)
		}},
		{"a run begins as if it was admitted, acquired and committed", func(p *probe) {
			s := p.beginner()
			w := p.begin(s, run, place, note("one"), begun("t", 1, event.StepTool))
			equal(p, "log", seqs(p.log(talk)), []int64{1, 2})
			row := p.row(run)
			equal(p, "status", row.Status, event.RunRunning)
			equal(p, "labels", row.Metadata, run.Metadata)
			p.wantDue()
			_, err := s.Acquire(p.ctx, first, 0)
			p.refused("Acquire while the lease holds", err, event.ErrLocked)
			w.renew()
			w.write(ended("t", 1, event.StepTool, event.OutcomeDone))
			w.end(event.RunCompleted)
			second := run
			second.ID, second.Key = next, ""
			v := p.begin(s, second, journal.Place{Turn: 2, Last: w.last, Epoch: w.lease.Epoch + 1}, note("two"))
			equal(p, "turn of the next run", v.opened.Run.Turn, 2)
			equal(p, "log", seqs(p.log(talk)), []int64{1, 2, 3, 4, 5})
		}},
		{"a run that would be elsewhere is refused, and nothing is written", func(p *probe) {
			s := p.beginner()
			for what, at := range map[string]journal.Place{
				"turn": {Turn: 2, Epoch: 1}, "end of the log": {Turn: 1, Last: 1, Epoch: 1}, "epoch": {Turn: 1, Epoch: 2},
			} {
				p.notBegun(s, "Begin with another "+what, run, at, event.ErrConflict)
			}
			p.absent(run)
		}},
		{"a run behind an open one is refused", func(p *probe) {
			s := p.beginner()
			open := run
			open.ID, open.Key = next, ""
			p.admit(open)
			p.notBegun(s, "Begin behind a queued run", run, journal.Place{Turn: 2, Epoch: 1}, event.ErrLocked)
			w := p.take(next)
			p.notBegun(s, "Begin behind a driven run", run, journal.Place{Turn: 2, Epoch: w.lease.Epoch + 1}, event.ErrLocked)
			w.end(event.RunCompleted)
			p.wantDue()
		}},
		{"a run that exists is refused, also by its key", func(p *probe) {
			s := p.beginner()
			row := p.admit(run)
			p.notBegun(s, "Begin of an open run", run, place, event.ErrConflict)
			p.take(first).end(event.RunCompleted)
			again := run
			again.ID = next
			p.notBegun(s, "Begin of a run with a used key", again, journal.Place{Turn: 2, Last: int64(len(p.log(talk))), Epoch: 2}, event.ErrConflict)
			equal(p, "turn", p.row(run).Turn, row.Turn)
		}},
		{"another tenant's conversation is not found", func(p *probe) {
			s := p.beginner()
			p.admit(run)
			p.take(first).end(event.RunCompleted)
			foreign := run
			foreign.ID, foreign.Tenant = next, "zenith"
			p.notBegun(s, "Begin in another tenant's conversation", foreign, journal.Place{Turn: 2, Last: int64(len(p.log(talk))), Epoch: 2}, event.ErrNotFound)
		}},
		{"a batch that is refused begins nothing", func(p *probe) {
			s := p.beginner()
			o, err := s.Propose(p.ctx, run, place)
			p.ok("Propose", err)
			w := &pen{p: p, lease: o.Lease, opened: o}
			bad := w.batch(ended("t", 1, event.StepTool, event.OutcomeDone))
			if err := s.Begin(p.ctx, run, &o, bad); err == nil {
				p.Errorf("a step ends that never began")
			}
			p.absent(run)
		}},
		{"a proposal has the state that is shared", func(p *probe) {
			s := p.beginner()
			other := run
			other.ID, other.Conversation, other.Key = next, other.ID, ""
			p.admit(other)
			w := p.take(next)
			w.write(set("app:n", "1", "user:n", "2", "own", "3"))
			w.end(event.RunCompleted)
			o, err := s.Propose(p.ctx, run, place)
			p.ok("Propose", err)
			equal(p, "state", o.Shared, map[string]json.RawMessage{"app:n": json.RawMessage("1"), "user:n": json.RawMessage("2")})
			stranger := run
			stranger.Tenant = "zenith"
			o, err = s.Propose(p.ctx, stranger, place)
			p.ok("Propose", err)
			equal(p, "another tenant's state", len(o.Shared), 0)
		}},
	}
}

// beginner returns the store. It skips the case if the store admits runs in no other way.
func (p *probe) beginner() journal.Beginner {
	p.Helper()
	s, ok := p.Store.(journal.Beginner)
	if !ok {
		p.Skip("the store is no Beginner")
	}
	return s
}

// begin begins a run with events.
func (p *probe) begin(s journal.Beginner, r journal.Run, at journal.Place, events ...event.Event) *pen {
	p.Helper()
	o, err := s.Propose(p.ctx, r, at)
	p.ok("Propose", err)
	w := &pen{p: p, lease: o.Lease, last: o.Last, opened: o}
	b := w.batch(events...)
	p.ok("Begin", s.Begin(p.ctx, r, &o, b))
	w.last += int64(len(b.Events))
	return w
}

// absent checks that the store has neither the run nor its conversation, and then admits the run. A run that was there
// with a lease would not be queued.
func (p *probe) absent(r journal.Run) {
	p.Helper()
	equal(p, "log", len(p.log(r.Conversation)), 0)
	p.wantDue()
	row := p.admit(r)
	equal(p, "turn of the run when it is admitted", row.Turn, 1)
	equal(p, "status of the run when it is admitted", row.Status, event.RunQueued)
}

// notBegun checks that a run cannot begin at a place.
func (p *probe) notBegun(s journal.Beginner, what string, r journal.Run, at journal.Place, kind event.ErrorKind) {
	p.Helper()
	o, err := s.Propose(p.ctx, r, at)
	p.ok("Propose", err)
	w := &pen{p: p, lease: o.Lease, last: o.Last, opened: o}
	p.refused(what, s.Begin(p.ctx, r, &o, w.batch(note("no"))), kind)
}
