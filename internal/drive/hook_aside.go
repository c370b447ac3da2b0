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

// hookTries bounds how often hooks may have one call made again.
const hookTries = 20

// decideAside runs hooks before something as aside does. It reports whether what they
// decided counts, which it does not where the run is to stop.
func (d *driver) decideAside(f func()) bool { return d.aside(f) && d.ctx.Err() == nil }

// aside runs hooks while the driver waits for them, with the lease kept by the keeper.
// It reports whether they came back: those that do not within the grace period after
// the run is to stop are left behind, and what they hold must not be looked at. Where f panics, or a
// hook ends the goroutine, the run fails.
func (d *driver) aside(f func()) bool {
	defer func() { d.now = time.Now() }()
	done := foreign.Apart("hook", "a hook", func() error { f(); return nil })
	over := func(err error) bool {
		if err != nil {
			d.broke(err)
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

// afterwards is the context of hooks that are called also where the run is to stop: they
// have the grace period then.
func afterwards(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), max(grace, 0))
}

// mustHold reports whether hooks stand before what cmd begins while something that has
// ended is not written yet.
func (d *driver) mustHold(s *fold.Scope, agent *Agent, cmd *decide.Command) bool {
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
		return afterBatch || s.Parent == nil && len(h.At(hooks.AfterRun)) > 0
	default:
		return false
	}
}

// batchDone reports whether the results of a batch are the scope's news, and the hooks after it were not called yet: by this
// driver, or by another one that went on to the hooks before the model, which have asked a question.
func (d *driver) batchDone(s *fold.Scope) bool {
	return s.Fresh == event.WhyToolResults && s.Model.State == fold.ModelIdle && s.Before == nil && d.thread(s).told < s.Cycle
}

// broke makes an error of a hook one that ends the run.
func (d *driver) broke(err error) {
	if d.fault != nil {
		return
	}
	d.fault = hookError(err)
	d.stop()
}

// hookError is a hook's error as one of ours.
func hookError(err error) *event.Error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	return &event.Error{Op: "hook", Kind: event.KindOf(err), Message: "a hook failed: " + validText(err.Error()), Err: err}
}
