package drive

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
)

// This file ends single scopes of a run that goes on: a kind of agent closes those that it needs no more. Such a scope has a
// context of its own, which ends with it.

// contextOf returns the context of a scope's steps: that of the nearest scope above it which may be closed alone, or the run's.
func (d *activeRun) contextOf(s *fold.Scope) context.Context {
	for ; s != nil && s.Depth > 0; s = s.Parent {
		if s.Place.Part == 0 {
			continue
		}
		t := d.childThread(s)
		if t.ctx == nil {
			t.ctx, t.stop = context.WithCancel(d.contextOf(s.Parent)) //nolint:fatcontext // it returns at once
		}
		return t.ctx
	}
	return d.ctx
}

// stepContext is contextOf for a step's own context; nil where that is the run's.
func (d *activeRun) stepContext(s *fold.Scope) context.Context {
	if s.Depth == 0 {
		return nil
	}
	if ctx := d.contextOf(s); ctx != d.ctx {
		return ctx
	}
	return nil
}

// stoppedIn returns why the steps of a scope are to stop; nil if they are not.
func (d *activeRun) stoppedIn(s *fold.Scope) error {
	if s.Depth == 0 || d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	for ; s.Depth > 0; s = s.Parent {
		if t := d.threads[s.ID]; t != nil && t.ending != nil {
			return context.Canceled
		}
	}
	return nil
}

// nextEnding decides for a scope that is closed, or below one that is. ok is false for every other scope.
func (d *activeRun) nextEnding(s *fold.Scope) (cmd decide.Command, ok bool) {
	if len(d.threads) == 0 || d.phase == phaseStopping {
		return cmd, false
	}
	var t *childThread
	for at := s; at != nil && at.Depth > 0; at = at.Parent {
		if one := d.threads[at.ID]; one != nil && one.ending != nil {
			t = one
		}
	}
	switch {
	case t == nil:
		return cmd, false
	case len(d.thread(s).running) > 0 && d.now.Before(t.endBy):
		return decide.Command{Do: decide.Wait, Why: event.WhyWaiting, Until: t.endBy}, true
	case d.openBelow(s):
		return decide.Command{Do: decide.Wait, Why: event.WhyWaiting}, true
	}
	cmd = decide.Command{Do: decide.Finish, Why: event.WhyCancelled, Stop: event.StopCancelled, Err: t.ending}
	if t.ending.Kind == event.ErrTimeout {
		cmd.Why, cmd.Stop = event.WhyDeadline, event.StopTimeout
	}
	return cmd, true
}

// openBelow reports whether a scope has open scopes below it.
func (d *activeRun) openBelow(s *fold.Scope) bool {
	if s.OwnFlow().Open > 0 || s.Background.Works() {
		return true
	}
	return slices.ContainsFunc(s.Batch.Calls, func(c *fold.Call) bool { return c.Child != nil && c.Child.Closed == nil })
}

// leave forgets what the driver knows of a scope that a kind of agent opened, once it is closed.
func (d *activeRun) leave(s *fold.Scope) {
	if s.Place.Part == 0 {
		return
	}
	if t := d.threads[s.ID]; t != nil {
		if t.stop != nil {
			t.stop()
		}
		if len(t.running) == 0 {
			delete(d.threads, s.ID)
		}
	}
}
