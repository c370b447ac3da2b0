package drive

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/journal"
)

// iterate is the loop: ask package decide of every open scope until none can move, write
// down in one commit what ended and what begins, do what has begun, take in what
// has ended, and again. Nothing recurses: an agent used as a tool is one more scope.
func (d *driver) iterate() error {
	for {
		w, err := d.rounds()
		if w == nil {
			return err
		}
		if over, err := d.handOver(w); over {
			return err
		}
	}
}

// rounds iterates until the drive is over, or has come to a step that has to be watched. It returns that step.
func (d *driver) rounds() (watched *Work, err error) {
	for watched == nil {
		d.pending.awaited = false
		d.readInbox()
		if d.draining() {
			d.drain()
		} else {
			d.decide()
		}
		if err := d.commit(); err != nil {
			return nil, err
		}
		if d.phase.over() {
			return watched, nil
		}
		if d.view.Stale {
			if err := d.refold(); err != nil {
				return nil, err
			}
		}
		watched = d.perform()
	}
	return watched, nil
}

// decide asks every open scope, children before their parents, until the
// answers change nothing any more: a child that finishes lets its parent go on
// in the same commit.
func (d *driver) decide() {
	d.exec.wakeAt = time.Time{}
	if d.ctx.Err() != nil {
		d.phase = phaseStopping
		d.settleAfterStop()
	}
	for moved := true; moved && d.view.Run.Ended == nil && !d.outdated(); {
		moved = false
		scopes := d.view.Run.OpenScopes()
		for i := len(scopes) - 1; i >= 0 && d.view.Run.Ended == nil && !d.outdated(); i-- {
			if s := scopes[i]; s != nil && s.Closed == nil { // nil where scopes have closed meanwhile
				agent := d.agentIn(s)
				moved = d.apply(s, agent, d.next(s, agent, false)) || moved
			}
		}
	}
}

// next asks package decide what a scope does next; whole says that nothing of its conversation is left out. A hook's error ends
// every scope.
func (d *driver) next(s *fold.Scope, agent *Agent, whole bool) decide.Command {
	if d.fault != nil {
		return decide.Command{Do: decide.Finish, Why: event.WhyFailed, Stop: event.StopError, Err: d.fault}
	}
	if bad := d.unopened[s.ID]; bad != nil && d.phase != phaseStopping {
		return decide.Command{Do: decide.Finish, Why: event.WhyFailed, Stop: event.StopError, Err: bad}
	}
	if cmd, ending := d.nextEnding(s); ending {
		return cmd
	}
	d.decidePolicy(s, agent)
	d.policy.Compaction.Whole = whole
	cmd := decide.Next(agent.kind(), s, &d.policy, d.now)
	if s.Depth == 0 && len(d.inbox.messages) > 0 && !agent.isFlow() {
		cmd = d.admitPending(s, cmd)
	}
	return cmd
}

// decidePolicy makes the policy of a scope's next decision. There is one for all, in the driver's memory.
func (d *activeRun) decidePolicy(s *fold.Scope, agent *Agent) {
	t := d.thread(s)
	p := &d.policy
	agent.DecidePolicy(p, d.offer(s, agent), s, d.answerOf(s))
	p.Team, p.Earlier, p.Running, p.Stop = d.cfg.bounds, &d.view.Spent, t.running, d.ctx.Done()
	p.Expired = d.phase == phaseStopping && errors.Is(context.Cause(d.ctx), context.DeadlineExceeded) && !d.out.stopped
	p.Cancelled = d.phase == phaseStopping && !p.Expired
}

// DecidePolicy fills in what an agent's settings say about the decisions for one of its scopes.
func (a *Agent) DecidePolicy(p *decide.Policy, o *toolset.Offer, s *fold.Scope, form *output.Form) {
	p.Limits, p.Sequential, p.Agents, p.Polling = a.Bounds, a.Sequential, o.Agents, o.Polling
	p.Output, p.ByTool = form, false
	if a.isFlow() {
		return
	}
	p.Compaction = a.compaction(s)
	if form != nil {
		m := a.named(s.LastModel)
		info := m.Info()
		way := wayOf(form, m, &info)
		p.ByTool = way == output.Called || way == output.Strict
	}
}

// apply turns a command into the events that begin it, and remembers what has to
// be done once they are committed. It reports whether the scope moved.
func (d *driver) apply(s *fold.Scope, agent *Agent, cmd decide.Command) bool {
	if d.cfg.hooked {
		// Hooks before a step must see a committed log: commit what has ended first, then call them.
		if d.commitsFirst(s, agent, &cmd) {
			d.pending.awaited = true
			return false
		}
		if cmd.Do == decide.Finish || cmd.Do == decide.Model {
			before := d.fault
			ends := d.callAfterTools(s, agent)
			if d.fault != before || d.ctx.Err() != nil && d.phase != phaseStopping {
				d.pending.awaited = true // it has become another decision
				return false
			}
			if ends && cmd.Do == decide.Model {
				cmd = decide.Command{Do: decide.Finish, Why: event.WhyToolStop, Stop: event.StopToolUse}
			}
		}
	}
	switch cmd.Do {
	case decide.Finish:
		d.finish(s, cmd)
	case decide.Tools, decide.Agents:
		return d.beginCalls(s, agent, cmd.Calls)
	case decide.Model:
		return d.beginModel(s, agent, cmd.Why)
	case decide.Compact:
		return d.compact(s, agent, cmd.Why)
	case decide.Open:
		return d.openScopes(s, &cmd)
	case decide.Close:
		return d.closeChildren(s, cmd.Close)
	case decide.Decide:
		return d.makeDecision(s, agent, cmd.Decide)
	case decide.HandBack:
		d.handBack(s)
	case decide.Call:
		d.callOwn(s, cmd.Call)
	case decide.Say:
		d.say(s, cmd)
	case decide.Wait:
		d.waitUntil(cmd.Until)
		return false
	}
	return true
}

// commit writes what the last round decided, and sends it once it is durable. A run that ends, waits or is handed back
// gives its lease back with the same commit.
func (d *driver) commit() error {
	run := d.view.Run
	news := d.cfg.hooked && run.Ended == nil && d.hasMessageNews()
	if news && d.phase != phaseHandedBack {
		d.pending.awaited = true // hooks learn of it before the run goes on, or is parked
	}
	b := journal.Batch{Events: d.pending.events, Read: d.pending.read}
	switch {
	case run.Ended != nil:
		b.Status, b.Release = run.Ended.Status, true
		d.phase = phaseEnded
	case d.phase == phaseHandedBack:
		b.Release = true
	case d.idle():
		b.Status, b.Release, b.WakeAt = event.RunWaiting, true, d.exec.wakeAt
		d.phase = phaseParked
	case len(b.Events) == 0 && len(b.Read) == 0:
		return nil
	}
	if err := d.lease.commit(b, d.cfg.work.stalled); err != nil {
		return err
	}
	for _, e := range d.pending.events {
		d.send(e)
	}
	if news {
		d.callMessageHooks(d.pending.events)
	}
	clear(d.pending.events)
	d.pending.events, d.pending.read = d.pending.events[:0], d.pending.read[:0]
	return nil
}

// idle reports whether nothing runs and nothing will for a while: the run waits
// for an answer, or for a time that is far away.
func (d *driver) idle() bool {
	return d.exec.running == 0 && !d.pending.awaited && (d.exec.wakeAt.IsZero() || !d.cfg.callerWaits && d.exec.wakeAt.Sub(d.now) > parkAfter)
}

func (d *driver) waitUntil(t time.Time) {
	if !t.IsZero() && (d.exec.wakeAt.IsZero() || t.Before(d.exec.wakeAt)) {
		d.exec.wakeAt = t
	}
}

// parkAfter is the shortest wait for which a run is parked. A waiting run that is not parked occupies a lease and a
// worker, and parking costs a commit and a new lease.
const parkAfter = 30 * time.Second
