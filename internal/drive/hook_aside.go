package drive

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/hooks"
)

// hookTries bounds how often hooks may have one call repeated.
const hookTries = 20

// runDecidingHooks is [activeRun.runHooks] for hooks that decide something. It reports whether their decision counts; it does not
// if the run is to stop.
func (d *activeRun) runDecidingHooks(f func()) bool { return d.runHooks(f) && d.ctx.Err() == nil }

// runHooks runs hooks while the driver waits and its lease is renewed. It reports whether they returned. If the run is to
// stop and they do not return within the grace period, they are abandoned, and what they hold must not be read. If f
// panics, or a hook ends its goroutine, the run fails.
func (d *activeRun) runHooks(f func()) bool {
	defer func() { d.now = time.Now() }()
	done := foreign.Apart("hook", "a hook", func() error { f(); return nil })
	over := func(err error) bool {
		if err != nil {
			d.failWith(err)
		}
		return err == nil
	}
	select {
	case err := <-done:
		return over(err)
	case <-d.ctx.Done():
	}
	grace := time.NewTimer(max(d.cfg.agent.Limits.Grace, 0))
	defer grace.Stop()
	select {
	case err := <-done:
		return over(err)
	case <-grace.C:
		return false
	}
}

// afterwards returns the context of hooks that are called even if the run is to stop. They then have the grace period.
func afterwards(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), max(grace, 0))
}

// commitsFirst reports whether a commit is needed before cmd: a hook stands before what cmd begins, and something that has
// ended is not written yet.
func (d *activeRun) commitsFirst(s *fold.Scope, agent *Agent, cmd *decide.Command) bool {
	if len(d.pending.events) == 0 {
		return false
	}
	h := agent.Hooks
	if len(h.At(hooks.MessageAdded)) > 0 && cmd.Do != decide.Wait {
		return true
	}
	afterBatch := d.batchDone(s) && len(h.At(hooks.AfterTools)) > 0
	switch cmd.Do {
	case decide.Tools, decide.Agents:
		return len(h.At(hooks.BeforeTools))+len(h.At(hooks.BeforeTool))+len(h.At(hooks.AfterTool)) > 0
	case decide.Model:
		return afterBatch || len(h.At(hooks.BeforeModel)) > 0
	case decide.Finish:
		if s.Parent != nil && len(d.agentIn(s.Parent).Hooks.At(hooks.AfterTool)) > 0 {
			return true
		}
		return afterBatch || len(h.At(hooks.AfterAgent)) > 0 || s.Parent == nil && len(h.At(hooks.AfterRun)) > 0
	default:
		return false
	}
}

// batchDone reports whether the scope has new results of a batch and the hooks after the batch were not called:
// neither by this driver, nor by an earlier one that went on to the hooks before the model.
func (d *activeRun) batchDone(s *fold.Scope) bool {
	return s.Fresh == event.WhyToolResults && s.Model.State == fold.ModelIdle && s.Before == nil && d.thread(s).batchTold < s.Cycle
}

// failWith ends the run with the error of a hook.
func (d *activeRun) failWith(err error) {
	if d.fault != nil {
		return
	}
	d.fault = hookError(err)
	d.stop()
}

// hookError returns a hook's error as an [event.Error].
func hookError(err error) *event.Error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	return &event.Error{Op: "hook", Kind: event.KindOf(err), Message: "a hook failed: " + validText(err.Error()), Err: err}
}
