package braid

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// On adds a hook: a function that is called at one place of the agent's loop. Its
// argument's type says where, and is one of [Made], [BeforeDrive], [AfterDrive], [BeforeRun],
// [AfterRun], [BeforeModel], [AfterModel], [BeforeTools], [BeforeTool], [AfterTool], [AfterTools],
// [MessageAdded], [QuestionAsked], [BeforeCompaction], [AfterCompaction] and [EventSent]. Those of a
// run or a drive and the one over the stream are the root agent's; the others are called for
// the agent at work, also where it is used as a tool.
//
// A hook decides by writing the fields that the type's comment calls writable; what it
// writes elsewhere has no effect. Hooks of one place are called one after another,
// never at the same time for one call: lower [Order] first, and among equals those before
// something in the order in which they were added, those after it in reverse. The first
// hook before something that cancels it, fails or asks is the last one asked; of those
// after something all are called, also where it failed or was cancelled.
//
// An error or a panic of a hook ends what the hook stands at, never the process: a tool
// call gets an error result, a model call fails, and with any other hook the run fails.
//
// What a hook before something decides stands in the log with the step that it decided
// about, and everything that had ended before is written before it is asked. So a
// driver that takes a run over goes by the log for what had begun, and asks the hooks of
// what had not: a hook may be called again for the same call, and must stop when its
// context is cancelled. Hooks of several runs are called at the same time.
func On[E any, P interface {
	*E
	hookEvent
}](f func(ctx context.Context, e P) error, opts ...HookOption) Part {
	return partFunc(func(a *Agent) error {
		if f == nil {
			return &event.Error{Op: "agent " + a.name, Kind: event.ErrInvalid, Message: "a hook is nil", Hint: "leave it out"}
		}
		h := hook{call: func(ctx context.Context, e hookEvent) error { return f(ctx, e.(P)) }}
		for _, o := range opts {
			o(&h)
		}
		if a.hooks == nil {
			a.hooks = &hooks{}
		}
		a.hooks.add(P(new(E)).point(), h)
		return nil
	})
}

// HookOption sets more of a hook.
type HookOption func(*hook)

// Order places a hook before those with a higher number, at each place. The default is 0.
func Order(n int) HookOption { return func(h *hook) { h.order = n } }

// Parts makes one part of several: a plugin is a bundle of hooks, tools and settings.
func Parts(parts ...Part) Part {
	return partFunc(func(a *Agent) error {
		for _, p := range parts {
			if isNil(p) {
				continue
			}
			if err := p.attach(a); err != nil {
				return err
			}
		}
		return nil
	})
}

// Made tells that the agent was made, with all parts of [New] or of one [Agent.Use].
// Each hook is called once; an error is the agent's own ([Agent.Err]).
type Made struct {
	Agent *Agent
}

// hookEvent is what hooks are called with.
type hookEvent interface{ point() hookPoint }

// hookPoint is a place where hooks are called.
type hookPoint uint8

const (
	pointMade hookPoint = iota
	pointBeforeTools
	pointBeforeTool
	pointAfterTool
	pointAfterTools
	pointBeforeModel
	pointAfterModel
	pointBeforeRun
	pointAfterRun
	pointMessageAdded
	pointQuestionAsked
	pointBeforeDrive
	pointAfterDrive
	pointEventSent
	pointBeforeCompaction
	pointAfterCompaction
	points
)

// after reports whether the place comes after something.
func (p hookPoint) after() bool {
	return p == pointAfterTool || p == pointAfterTools || p == pointAfterModel || p == pointAfterRun || p == pointAfterDrive ||
		p == pointAfterCompaction
}

func (*Made) point() hookPoint { return pointMade }

type hook struct {
	order int
	call  func(context.Context, hookEvent) error
}

// hooks are an agent's, in the order in which they are called.
type hooks struct {
	at [points][]hook
	// within says that some stand inside the run, and not only around its drives.
	within bool
}

// inside reports whether the agent has hooks inside a run: without them its way is the shorter one.
func (h *hooks) inside() bool { return h != nil && h.within }

// on gives the hooks of a place; none for an agent without hooks.
func (h *hooks) on(p hookPoint) []hook {
	if h == nil {
		return nil
	}
	return h.at[p]
}

func (h *hooks) add(p hookPoint, one hook) {
	list := h.at[p]
	i := 0
	for i < len(list) && (list[i].order < one.order || list[i].order == one.order && !p.after()) {
		i++
	}
	h.at[p] = slices.Insert(list, i, one)
	h.within = h.within || p != pointMade && p != pointBeforeDrive && p != pointAfterDrive
}

// tellMade calls the hooks that wait for the agent to be made, once.
func (a *Agent) tellMade() {
	for a.err == nil && len(a.hooks.on(pointMade)) > 0 {
		one := a.hooks.at[pointMade][0]
		a.hooks.at[pointMade] = a.hooks.at[pointMade][1:]
		a.err = one.safely(context.Background(), &Made{Agent: a})
	}
}

// safely calls one hook, and makes a panic an error.
func (h *hook) safely(ctx context.Context, e hookEvent) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked("hook", "a hook", v)
		}
	}()
	return sound(h.call(ctx, e))
}

// callBefore calls hooks until one fails or enough says that it is decided.
func callBefore(ctx context.Context, list []hook, e hookEvent, enough func() bool) error {
	for i := range list {
		if err := list[i].safely(ctx, e); err != nil {
			return err
		}
		if enough() {
			return nil
		}
	}
	return nil
}

// callAfter calls all hooks and gives their first error.
func callAfter(ctx context.Context, list []hook, e hookEvent) error {
	var first error
	for i := range list {
		if err := list[i].safely(ctx, e); err != nil && first == nil {
			first = err
		}
	}
	return first
}

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
	done := apart("hook", "a hook", func() error { f(); return nil })
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
	grace := time.NewTimer(max(d.cfg.agent.limits.Grace, 0))
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
func (d *driver) mustHold(s *fold.Scope, agent *Agent, cmd *command) bool {
	if len(d.pending.events) == 0 {
		return false
	}
	h := agent.hooks
	if len(h.on(pointMessageAdded)) > 0 && cmd.Do != doWait {
		return true
	}
	afterBatch := d.batchDone(s) && len(h.on(pointAfterTools)) > 0
	switch cmd.Do {
	case doTools, doScopes:
		return len(h.on(pointBeforeTools))+len(h.on(pointBeforeTool))+len(h.on(pointAfterTool)) > 0
	case doModel:
		return afterBatch || len(h.on(pointBeforeModel)) > 0
	case doFinish:
		if s.Parent != nil && len(d.agentIn(s.Parent).hooks.on(pointAfterTool)) > 0 {
			return true
		}
		return afterBatch || s.Parent == nil && len(h.on(pointAfterRun)) > 0
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
