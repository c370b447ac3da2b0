package drive

import (
	"context"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
)

// modelEnd is how a call of a model ended: with a message, or with an error.
type modelEnd struct {
	message *event.AssistantMessage
	err     error
	took    time.Duration
	// usage is what the call is known to have used.
	usage event.Usage
	// known says that the model reported the usage.
	known bool
	// partial is what the model had said before an error.
	partial []event.Block
	// faults name what was impossible in the usage and the cost that the model reported.
	faults []string
	// again is set where a hook wants the call made once more.
	again bool
	// wait is how long the next attempt waits.
	wait time.Duration
	// begun is set where something of an answer came.
	begun bool
	// taken is what a provider's guardrail puts in place of the newest user message; empty for nothing.
	taken string
	// guardedBy names the guardrails that have taken something out of the answer.
	guardedBy []string
}

// doubt adds something impossible to what the model reported; empty is nothing.
func (e *modelEnd) doubt(fault string) {
	if fault != "" {
		e.faults = append(e.faults, fault)
	}
}

// fail ends the call with err alone.
func (e *modelEnd) fail(err error) { e.message, e.err, e.again = nil, err, false }

// takeOver notes what is known of a call however it ended.
func (e *modelEnd) takeOver(a *assembler) {
	e.usage, e.known, e.faults = a.used(), a.hasUsage, a.faults
	e.begun, e.taken = a.begunAnswer(), a.taken
}

// modelError returns a model's error as one of ours. The text of a plain Go error stays in the cause: it may name
// addresses and keys, and not only the operator reads events and streams.
func modelError(name string, err error) *event.Error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	kind := event.KindOf(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		kind = event.ErrTimeout
	case errors.Is(err, context.Canceled):
		kind = event.ErrCancelled
	case kind == event.ErrInternal:
		kind = event.ErrModel
	}
	return &event.Error{Op: "model " + name, Kind: kind, Message: "the model failed", Err: err}
}
