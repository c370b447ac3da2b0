package main

import (
	"context"
	"errors"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

func testInterrupts(patience int) (i *term.Interrupts, quits *int) {
	quits = new(int)
	return &term.Interrupts{Patience: patience, Quit: func() { *quits++ }}, quits
}

func TestInterruptCancelsTheRunAndNotTheProgram(t *testing.T) {
	t.Parallel()
	i, quits := testInterrupts(1)
	ctx, release := i.Guard(t.Context())
	i.Take(true)
	if !errors.Is(context.Cause(ctx), event.ErrCancelled) || *quits != 0 || !i.Interrupted() || i.MustEnd() {
		t.Errorf("cause %v, quits %d", context.Cause(ctx), *quits)
	}
	i.Take(true)
	if *quits != 0 {
		t.Error("the second one ended the program")
	}
	i.Take(true)
	if *quits != 1 {
		t.Error("the third one did not end the program")
	}
	release()
	ctx, release = i.Guard(t.Context())
	defer release()
	if ctx.Err() != nil || i.Interrupted() {
		t.Error("the next run begins interrupted")
	}
}

func TestInterruptBetweenRunsEndsTheProgram(t *testing.T) {
	t.Parallel()
	i, quits := testInterrupts(2)
	i.Take(true)
	if *quits != 1 {
		t.Error("the program goes on")
	}
}

func TestInterruptAtAPromptThatReadsKeys(t *testing.T) {
	t.Parallel()
	i, quits := testInterrupts(2)
	i.BeSteady(true)
	i.Take(true)
	if *quits != 0 {
		t.Error("a late Ctrl-C ended the program")
	}
	ctx, release := i.Guard(t.Context())
	defer release()
	resume := i.Pause()
	i.Take(true)
	if ctx.Err() != nil || *quits != 0 {
		t.Error("the run was cancelled while a person is asked")
	}
	resume()
	i.Take(true)
	if ctx.Err() == nil {
		t.Error("the run was not cancelled")
	}
	i.Pause()
	i.Take(false)
	if *quits != 1 {
		t.Error("SIGTERM at a prompt did not end the program")
	}
}

func TestTerminateCancelsTheRunAndEndsTheProgram(t *testing.T) {
	t.Parallel()
	i, quits := testInterrupts(2)
	ctx, release := i.Guard(t.Context())
	i.Take(false)
	if ctx.Err() == nil || !i.MustEnd() || *quits != 0 {
		t.Errorf("ended %v, quits %d", i.MustEnd(), *quits)
	}
	release()
}

func TestCleanUpUndoesOnceAndBackwards(t *testing.T) {
	t.Parallel()
	var p process
	var order []int
	p.onExit(func() { order = append(order, 1) })
	done := p.onExit(func() { order = append(order, 2) })
	p.onExit(func() { order = append(order, 3) })
	done()
	p.cleanUp()
	p.cleanUp()
	if len(order) != 3 || order[0] != 2 || order[1] != 3 || order[2] != 1 {
		t.Errorf("order %v", order)
	}
}
