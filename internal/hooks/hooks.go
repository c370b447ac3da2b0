// Package hooks orders an agent's hooks and calls them.
package hooks

import (
	"context"
	"slices"

	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/foreign"
)

// Point is a point of the loop at which hooks are called.
type Point uint8

// The points.
const (
	BeforeDrive Point = iota
	AfterDrive
	BeforeRun
	AfterRun
	AfterAgent
	BeforeModel
	AfterModel
	BeforeTools
	BeforeTool
	AfterTool
	AfterTools
	MessageAdded
	QuestionAsked
	BeforeCompaction
	AfterCompaction
	EventSent
	points
)

// PointOf returns the point of a hook's argument, a pointer. ok is false for another type.
func PointOf(e any) (p Point, ok bool) {
	switch e.(type) {
	case *hook.BeforeDrive:
		return BeforeDrive, true
	case *hook.AfterDrive:
		return AfterDrive, true
	case *hook.BeforeRun:
		return BeforeRun, true
	case *hook.AfterRun:
		return AfterRun, true
	case *hook.AfterAgent:
		return AfterAgent, true
	case *hook.BeforeModel:
		return BeforeModel, true
	case *hook.AfterModel:
		return AfterModel, true
	case *hook.BeforeTools:
		return BeforeTools, true
	case *hook.BeforeTool:
		return BeforeTool, true
	case *hook.AfterTool:
		return AfterTool, true
	case *hook.EventSent:
		return EventSent, true
	case *hook.AfterTools:
		return AfterTools, true
	case *hook.MessageAdded:
		return MessageAdded, true
	case *hook.QuestionAsked:
		return QuestionAsked, true
	case *hook.BeforeCompaction:
		return BeforeCompaction, true
	case *hook.AfterCompaction:
		return AfterCompaction, true
	default:
		return 0, false
	}
}

// after reports whether hooks of the point run after an action. They are called in reverse order.
func (p Point) after() bool {
	return p == AfterTool || p == AfterTools || p == AfterModel || p == AfterRun || p == AfterAgent || p == AfterDrive || p == AfterCompaction
}

// Hook is one hook.
type Hook struct {
	// Order places it before hooks with a higher number.
	Order int
	// Call calls the user's function with a pointer to the type of its point.
	Call func(ctx context.Context, e any) error
}

// Safely calls the hook and turns a panic into an error.
func (h *Hook) Safely(ctx context.Context, e any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = foreign.Panicked("hook", "a hook", v)
		}
	}()
	return foreign.Sound(h.Call(ctx, e))
}

// Set is an agent's hooks. A nil set is empty.
type Set struct {
	at [points][]Hook
	// within reports whether the set has hooks inside a run, not only around its drives.
	within bool
}

// Add adds a hook at a point.
func (s *Set) Add(p Point, h Hook) {
	s.at[p] = Insert(s.at[p], h, p.after())
	s.within = s.within || p != BeforeDrive && p != AfterDrive
}

// Insert inserts a hook into a list by its Order. Among hooks of equal order it comes last, or first if reverse is
// set.
func Insert(list []Hook, h Hook, reverse bool) []Hook {
	i := 0
	for i < len(list) && (list[i].Order < h.Order || list[i].Order == h.Order && !reverse) {
		i++
	}
	return slices.Insert(list, i, h)
}

// At returns the hooks of a point in the order in which they are called.
func (s *Set) At(p Point) []Hook {
	if s == nil {
		return nil
	}
	return s.at[p]
}

// Inside reports whether the set has hooks inside a run, not only around its drives. A run without them takes shorter
// paths.
func (s *Set) Inside() bool { return s != nil && s.within }

// CallBefore calls hooks in order until one fails or enough returns true.
func CallBefore(ctx context.Context, list []Hook, e any, enough func() bool) error {
	for i := range list {
		if err := list[i].Safely(ctx, e); err != nil {
			return err
		}
		if enough() {
			return nil
		}
	}
	return nil
}

// Asker takes the questions of hooks.
type Asker interface {
	// Turn says that the hook at place i, from 1, asks from now on.
	Turn(i int)
	// Waits reports whether a question has no answer yet.
	Waits() bool
	// Clash returns why the questions cannot be asked; nil if they can.
	Clash() error
}

// CallAsking is [CallBefore] for hooks that may ask. Once one has asked, the others are called so that they can ask in the
// same round; what else they decide is not wanted, because all are called again with the answers.
func CallAsking(ctx context.Context, list []Hook, e any, a Asker, enough func() bool) error {
	for i := range list {
		a.Turn(i + 1)
		err := list[i].Safely(ctx, e)
		if clash := a.Clash(); clash != nil {
			return clash
		}
		switch {
		case a.Waits():
		case err != nil:
			return err
		case enough():
			return nil
		}
	}
	return nil
}

// CallAfter calls all hooks and returns their first error.
func CallAfter(ctx context.Context, list []Hook, e any) error {
	var first error
	for i := range list {
		if err := list[i].Safely(ctx, e); err != nil && first == nil {
			first = err
		}
	}
	return first
}
