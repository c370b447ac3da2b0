package main

import (
	"context"
	"errors"
	"testing"

	"github.com/braidrun/braid/event"
)

func testInterrupts(patience int) (i *interrupts, quits *int) {
	quits = new(int)
	return &interrupts{patience: patience, quit: func() { *quits++ }}, quits
}

func TestInterruptCancelsTheRunAndNotTheProgram(t *testing.T) {
	t.Parallel()
	i, quits := testInterrupts(1)
	ctx, release := i.guard(t.Context())
	i.take(true)
	if !errors.Is(context.Cause(ctx), event.ErrCancelled) || *quits != 0 || !i.interrupted() || i.mustEnd() {
		t.Errorf("cause %v, quits %d", context.Cause(ctx), *quits)
	}
	i.take(true)
	if *quits != 0 {
		t.Error("the second one ended the program")
	}
	i.take(true)
	if *quits != 1 {
		t.Error("the third one did not end the program")
	}
	release()
	ctx, release = i.guard(t.Context())
	defer release()
	if ctx.Err() != nil || i.interrupted() {
		t.Error("the next run begins interrupted")
	}
}

func TestInterruptBetweenRunsEndsTheProgram(t *testing.T) {
	t.Parallel()
	i, quits := testInterrupts(2)
	i.take(true)
	if *quits != 1 {
		t.Error("the program goes on")
	}
}

func TestInterruptAtAPromptThatReadsKeys(t *testing.T) {
	t.Parallel()
	i, quits := testInterrupts(2)
	i.beSteady(true)
	i.take(true)
	if *quits != 0 {
		t.Error("a late Ctrl-C ended the program")
	}
	ctx, release := i.guard(t.Context())
	defer release()
	resume := i.pause()
	i.take(true)
	if ctx.Err() != nil || *quits != 0 {
		t.Error("the run was cancelled while a person is asked")
	}
	resume()
	i.take(true)
	if ctx.Err() == nil {
		t.Error("the run was not cancelled")
	}
	i.pause()
	i.take(false)
	if *quits != 1 {
		t.Error("SIGTERM at a prompt did not end the program")
	}
}

func TestTerminateCancelsTheRunAndEndsTheProgram(t *testing.T) {
	t.Parallel()
	i, quits := testInterrupts(2)
	ctx, release := i.guard(t.Context())
	i.take(false)
	if ctx.Err() == nil || !i.mustEnd() || *quits != 0 {
		t.Errorf("ended %v, quits %d", i.mustEnd(), *quits)
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
