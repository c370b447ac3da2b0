package drive

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
	"github.com/braidrun/braid/internal/fold"
)

// closeChildren begins to end children of a scope. It reports whether one moved.
func (d *driver) closeChildren(s *fold.Scope, list []kind.Closing) (moved bool) {
	for i := range list {
		child := d.view.Run.Scope(s.Flow.Seen[list[i].Child].ID)
		t := d.childThread(child)
		if t.ending != nil {
			continue
		}
		moved = true
		if t.ending = list[i].Err; t.ending == nil {
			t.ending = &event.Error{
				Op: "flow", Kind: event.ErrCancelled, Message: "the agent was stopped before it had answered", Err: context.Canceled,
			}
		}
		t.endBy = d.now.Add(max(d.cfg.agent.Limits.Grace, 0))
		if t.stop != nil {
			t.stop()
		}
		d.dropBegun(child)
	}
	return moved
}

// dropBegun drops the steps in and below a scope that have begun in the log and were not started.
func (d *driver) dropBegun(top *fold.Scope) {
	drop := func(w *Work) bool {
		if !within(w.scope, top) {
			return false
		}
		d.ran(w.scope, w.step)
		d.own().Abandon(w)
		return true
	}
	d.exec.todo = slices.DeleteFunc(d.exec.todo, drop)
	d.exec.queue = slices.DeleteFunc(d.exec.queue, drop)
}

// within reports whether a scope is top or below it.
func within(s, top *fold.Scope) bool {
	for ; s != nil; s = s.Parent {
		if s == top {
			return true
		}
	}
	return false
}
