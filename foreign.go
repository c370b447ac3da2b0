package braid

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
)

// These are the functions of package foreign by the names that this package calls them.

func panicked(op, what string, value any) *event.Error { return foreign.Panicked(op, what, value) }

func endedGoroutine(op, what string) *event.Error { return foreign.EndedGoroutine(op, what) }

func shielded(op, what string, f func() error) error { return foreign.Shield(op, what, f) }

func apart(op, what string, f func() error) <-chan error { return foreign.Apart(op, what, f) }

func sound(err error) error { return foreign.Sound(err) }

func isNil(v any) bool { return foreign.IsNil(v) }

func hasNil(blocks []event.Block) bool { return foreign.HasNil(blocks) }

func fitBlock(b event.Block) error { return foreign.FitBlock(b) }
