package drive

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/sched"
	"github.com/braidrun/braid/journal"
)

// Run drives a run from its admission to its last event, or to where it waits. r reports what it came to; nil for nobody.
// sink is given each event.
func (a *Agent) Run(
	ctx context.Context, team map[string]*Agent, messages []event.Message, o *Request, r *hook.Outcome, sink func(event.Event) bool,
) error {
	for {
		err := a.through(ctx, team, messages, o, r, sink)
		if !errors.Is(err, event.ErrLocked) || ctx.Err() != nil || o.Engine != nil {
			return err
		}
		if a.driveOrphan(ctx, team, o) {
			continue
		}
		if !o.Waits {
			return err
		}
		if err := o.Log.waitTurn(ctx, err); err != nil {
			return err
		}
	}
}

// driveOrphan drives the run at the head of the conversation's queue if it may have no driver of its own: one that was
// cancelled, whose end is to be written, or one that a store admitted for the messages that an ended run did not read. It
// reports whether it did. Otherwise such a run would stand in the way for ever where no engine drives runs.
func (a *Agent) driveOrphan(ctx context.Context, team map[string]*Agent, of *Request) bool {
	conv := of.Log
	open, err := conv.Store.Queue(ctx, conv.ID)
	if err != nil || len(open) == 0 || !open[0].Cancelled && !isHeir(&open[0]) {
		return false
	}
	o := Request{Log: conv, Run: open[0].ID, Engine: &EngineWork{}, Settings: of.Settings, orphan: true}
	return a.through(ctx, team, nil, &o, nil, func(event.Event) bool { return true }) == nil
}

// isHeir reports whether a run has not begun and has nothing but messages to an earlier run; see [journal.Store].Commit.
func isHeir(r *journal.Run) bool {
	return r.Status == event.RunQueued && len(r.Input) == 0 && r.Key == "" && strings.HasSuffix(r.ID, "+")
}

// through takes the handle and a run through it.
func (a *Agent) through(
	ctx context.Context, team map[string]*Agent, messages []event.Message, o *Request, r *hook.Outcome,
	sink func(event.Event) bool,
) error {
	conv := o.Log
	o.Private = o.Private && ctx.Done() == nil
	caller := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lock := conv.lock
	if o.Waits {
		lock = func(stop context.CancelFunc) error { return conv.lockWhenFree(ctx, stop) }
	}
	if err := lock(stop); err != nil {
		return err
	}
	kept := conv.Warm
	defer func() { conv.unlock(kept) }()
	defer o.closeRenewer()
	own, opened, v, err := a.ready(ctx, stop, o, messages, r, sink, &kept)
	if opened == nil {
		return err
	}
	if own != a && team[a.Name] != nil {
		team = maps.Clone(team)
		team[a.Name] = own
	}
	kept, err = own.take(ctx, stop, team, o, opened, v, r, sink)
	conv.storeFold(caller, opened.Lease, kept)
	return err
}

// closeRenewer ends the renewer that reading the log may have started.
func (o *Request) closeRenewer() {
	if o.renewer != nil {
		o.renewer.Close()
	}
}

// ready takes a run and folds its log. It returns the agent with the run's own settings, and no run if there is nothing
// to drive. kept is the view in memory, and becomes nil once that may run ahead of the log. It is not part of through,
// whose stack lasts as long as the drive.
//
//go:noinline
func (a *Agent) ready(
	ctx context.Context, stop context.CancelFunc, o *Request, messages []event.Message, r *hook.Outcome, sink func(event.Event) bool,
	kept **fold.Conversation,
) (*Agent, *journal.Opened, *fold.Conversation, error) {
	conv := o.Log
	// A run that an engine drives is taken also where somebody has wished it to end:
	// its end is to be written. A process that is about to end takes nothing more.
	taking := ctx
	if o.Engine != nil && !errors.Is(context.Cause(ctx), event.ErrUnavailable) {
		taking = context.WithoutCancel(ctx)
	}
	v, unread := *kept, *kept == nil && o.Engine != nil
	switch {
	case unread:
		v = unreadView()
	case v == nil:
		var err error
		if v, err = conv.ColdView(taking); err != nil {
			return nil, nil, nil, err
		}
	}
	opened, err := a.open(taking, o, conv, v, messages)
	if opened.Run.Status.Ended() && o.Engine == nil {
		return nil, nil, nil, replay(ctx, conv, opened.Run.ID, r, sink)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if a, err = a.settled(o, &opened.Run); err != nil {
		_ = conv.Store.Commit(context.WithoutCancel(ctx), opened.Lease, journal.Batch{Release: true})
		return nil, nil, nil, err
	}
	// From here on the view may run ahead of the log, so it is kept only when
	// all went well.
	*kept = nil
	conv.drives(opened.Run.ID)
	if unread && a.behindUnread(taking, stop, conv, &opened) {
		_, err = a.endUnread(taking, o, &opened, lostReading(&opened.Run), r, sink)
		return nil, nil, nil, err
	}
	if why := a.Limits.poisoned(&opened.Run); why != nil {
		ended, err := a.giveUp(ctx, o, &opened, why, r, sink)
		if err == nil && ended != nil && o.Engine == nil {
			return nil, nil, nil, ended
		}
		return nil, nil, nil, err
	}
	if unread {
		if v, err = a.takeUnread(taking, stop, o, &opened, r, sink); v == nil {
			return nil, nil, nil, err
		}
	}
	for _, e := range opened.Events {
		v.Add(e)
	}
	if v.Stale || v.Last != opened.Last {
		if v, err = conv.ColdView(taking); err != nil {
			// Nobody need wait until the lease has run out.
			_ = conv.Store.Commit(context.WithoutCancel(ctx), opened.Lease, journal.Batch{Release: true})
			return nil, nil, nil, err
		}
	}
	if !v.SpentKnown && a.Limits.Budgeted {
		if v, err = conv.WholeView(taking); err != nil {
			_ = conv.Store.Commit(context.WithoutCancel(ctx), opened.Lease, journal.Batch{Release: true})
			return nil, nil, nil, err
		}
	}
	v.State.Share(opened.Shared)
	return a, &opened, v, nil
}

// settled returns the agent with the settings that a run has for itself.
func (a *Agent) settled(o *Request, run *journal.Run) (*Agent, error) {
	if o.Settings == nil {
		return a, nil
	}
	own, err := o.Settings.Settled(run, o.orphan)
	if own == nil {
		own = a
	}
	return own, err
}

// take drives a run that was taken, on a view that has folded all of the log. It gives the view that
// is the conversation's then; nil where that may have run ahead of the log.
func (a *Agent) take(
	ctx context.Context, stop context.CancelFunc, team map[string]*Agent, o *Request, opened *journal.Opened, v *fold.Conversation, r *hook.Outcome,
	sink func(event.Event) bool,
) (*fold.Conversation, error) {
	private := o.Private
	if left, bounded := a.Limits.timeLeft(v, opened.Run.ID); bounded {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, left)
		defer end()
		private = false
	}
	d := a.newDriver(ctx, stop, team, o, opened, v, sink)
	d.cfg.unstoppable = private
	undriven := errBrokenOff // until it is known better: a reader may panic
	if list := a.Hooks.At(hooks.AfterDrive); len(list) > 0 {
		if r == nil {
			r = &hook.Outcome{}
		}
		defer func() { d.callAfterDrive(list, r, undriven) }()
	}
	over := false
	defer func() {
		if !over && o.Engine != nil { // the goroutine is being ended
			_ = a.brokenOff(ctx, o, opened, foreign.EndedGoroutine("run", "a model, a hook or the reader"), r, func(event.Event) bool { return true })
		}
	}()
	undriven = d.drive(opened.Mail)
	over = true
	if d.phase == phaseCrashed {
		why, _ := errors.AsType[*event.Error](undriven)
		if d.out.reading {
			sink = func(event.Event) bool { return true }
		}
		if undriven = a.brokenOff(ctx, o, opened, why, r, sink); undriven == nil && o.Engine == nil {
			return nil, why
		}
		return nil, undriven
	}
	if undriven != nil {
		return nil, undriven
	}
	v = d.view // a compaction may have put another in its place
	d.report(r)
	if d.phase == phaseHandedBack && o.Engine == nil {
		return v, context.Cause(ctx)
	}
	if d.err != nil && o.Engine == nil {
		return v, d.err
	}
	return v, nil
}

// newDriver makes the driver of a run that was taken. It is not part of take, whose stack lasts as long as the drive.
//
//go:noinline
func (a *Agent) newDriver(
	ctx context.Context, stop context.CancelFunc, team map[string]*Agent, o *Request, opened *journal.Opened, v *fold.Conversation,
	sink func(event.Event) bool,
) *driver {
	conv := o.Log
	d := &driver{inbox: inbox{wake: conv.wake}, exec: executor{order: sched.From(ctx)}}
	d.activeRun = activeRun{
		ctx: ctx, stop: stop, row: &opened.Run, view: v, now: time.Now(),
		cfg: runConfig{
			agent: a, team: team, output: o.Output, given: o.Given, secrets: o.Secrets,
			exclusive: conv.Own, callerWaits: o.Engine == nil, work: &noEngine,
		},
		lease: runLease{conv: conv, held: &opened.Lease, renewer: o.renewer, base: context.WithoutCancel(ctx)},
		out:   sender{sink: sink},
	}
	d.messages, d.repairs = fitInput(opened.Run.Input)
	if o.Engine != nil {
		d.cfg.work, d.cfg.secrets = o.Engine, o.Engine.Secrets
		d.inbox.engine = o.Engine.Mail
	}
	if len(d.cfg.secrets) > 0 {
		d.cfg.mask = maskOf(d.cfg.secrets, d.cfg.work.Shown)
		d.cfg.maskRules = maskGuard(d.cfg.mask)
	}
	return d
}

// report tells the caller what the run came to; nil is told nothing.
//
//go:noinline
func (d *driver) report(r *hook.Outcome) {
	if r == nil {
		return
	}
	fill(r, d.view.Run, d.view.State, d.now)
	r.Partial, r.Simulated = d.partial, d.cfg.simulated
	if d.began {
		r.Repaired = d.repairs
	}
	switch d.phase {
	case phaseHandedBack:
		r.Status = event.RunRunning
		r.Stop, r.Why = "", ""
	case phaseParked:
		r.WakeAt = d.exec.wakeAt
	}
}

// open takes the run that is to be driven: a new one for new input, the one that
// was asked for, or the conversation's open one. Where that run is over,
// the answer is its row and an error.
func (a *Agent) open(
	ctx context.Context, o *Request, conv *Handle, v *fold.Conversation, messages []event.Message,
) (journal.Opened, error) {
	queued := ""
	if messages == nil && o.Run == "" && !v.Open() {
		queued = conv.queued(ctx)
	}
	var opened journal.Opened
	take := func() (err error) {
		opened, err = conv.acquire(ctx, o.Run, v.Last)
		return err
	}
	switch {
	case o.Run != "":
	case messages == nil && v.Open():
		o.Run = v.Run.ID
		defer func() { o.Run = "" }()
	case queued != "":
		o.Run = queued
		defer func() { o.Run = "" }()
	case messages == nil && !v.Unanswered() && !v.Continuable():
		return journal.Opened{}, &event.Error{
			Op: "resume", Kind: event.ErrConflict, Message: "the conversation has no open run",
			Hint: "begin one with Run",
		}
	case messages != nil && v.Open() && o.Key == "":
		return journal.Opened{}, &event.Error{
			Op: "run", Kind: event.ErrConflict, Message: "the conversation's last run is not over",
			Hint: "answer its questions and Resume it, or Cancel and Resume it; braid.During says what else may be done",
		}
	default:
		row := a.Row(o, messages)
		row.Alone = true
		if messages == nil && v.Continuable() {
			row.Metadata = maps.Clone(row.Metadata)
			if row.Metadata == nil {
				row.Metadata = make(map[string]string, 1)
			}
			row.Metadata[journal.ContinuesLabel] = v.Run.ID
		}
		take = func() (err error) {
			opened, err = conv.Store.Start(ctx, row, v.Last)
			return err
		}
	}
	err := conv.PastWithdrawn(ctx, take(), take)
	if err != nil && o.Run == "" && opened.Run.Status == event.RunQueued && o.Key == "" {
		conv.withdraw(context.WithoutCancel(ctx), opened.Run.ID)
	}
	return opened, err
}

// replay gives the events and the result of a run that is over: the answer to a
// repeated idempotency key.
func replay(ctx context.Context, conv *Handle, run string, r *hook.Outcome, sink func(event.Event) bool) error {
	v := fold.New(nil)
	for e, err := range conv.Events(ctx, 0) {
		if err != nil {
			return err
		}
		v.Add(e)
		if e.Run != run {
			continue
		}
		if r != nil {
			r.Simulated = e.Simulated
		}
		if !sink(*e) {
			return nil
		}
		ended, ok := e.Body.(*event.RunEnded)
		if !ok {
			continue
		}
		if r != nil {
			fill(r, v.Run, v.State, e.Time)
		}
		if ended.Err != nil {
			return ended.Err
		}
		return nil
	}
	return &event.Error{
		Op: "run", Kind: event.ErrInternal, Message: "the run is over, but the log does not hold its end",
		Hint: "look at the conversation's events",
	}
}

// Row is the run that input asks for.
func (a *Agent) Row(o *Request, messages []event.Message) journal.Run {
	return journal.Run{
		ID: o.Log.newRun(), Conversation: o.Log.ID, Tenant: o.Tenant, User: o.User, Agent: a.Name,
		Input: messages, Key: o.Key, Executor: o.Executor, Metadata: o.Metadata, NewSession: o.NewSession,
	}
}

// fill sets an outcome from the fold of its run.
func fill(r *hook.Outcome, run *fold.Run, state *fold.State, now time.Time) {
	r.Run = run.ID
	r.Message = run.LastMessage
	r.Usage = run.Usage
	r.Metrics = run.Metrics
	r.Metrics.Duration = now.Sub(run.Started)
	r.Metrics.Tools = slices.Clone(run.Metrics.Tools) // the run may go on
	r.Metrics.Nodes = run.Nodes()
	r.State = state.Run()
	if run.Ended != nil {
		r.Status, r.Stop, r.Why = run.Ended.Status, run.Ended.Stop, run.Ended.Why
		r.CostNanoUSD, r.Estimated, r.Output = run.Ended.CostNanoUSD, run.Ended.Estimated, run.Ended.Output
		return
	}
	_, r.CostNanoUSD, r.Estimated = run.Bill()
	r.Status = event.RunWaiting
	r.Stop, r.Why = event.StopQuestion, event.WhyWaiting
	r.Questions = run.OpenQuestions()
}
