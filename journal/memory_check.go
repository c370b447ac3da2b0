package journal

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
)

// alive returns nil unless ctx is done.
func alive(ctx context.Context, op string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &event.Error{
			Op: op, Kind: event.ErrTimeout, Err: context.Cause(ctx),
			Message: "the time was over before the journal was asked",
			Hint:    "allow more time",
		}
	}
	return &event.Error{
		Op: op, Kind: event.ErrCancelled, Err: context.Cause(ctx),
		Message: "the caller gave up before the journal was asked",
	}
}

// checkBatch refuses a batch that is wrong in any state of the store.
func checkBatch(op string, l Lease, b Batch) error {
	switch b.Status {
	case "", event.RunRunning, event.RunWaiting, event.RunCompleted, event.RunFailed, event.RunCancelled:
	default:
		return badBatch(op, "a commit sets no such status")
	}
	if !b.WakeAt.IsZero() && b.Status != event.RunWaiting {
		return badBatch(op, "only a run that waits has a time to wake at")
	}
	ends := false
	for i, e := range b.Events {
		switch {
		case e == nil || e.Body == nil:
			return badBatch(op, "an event without a body is no event")
		case e.Live():
			return badBatch(op, "a live event does not belong in the log")
		case e.Seq < 1 || e.Seq != b.Events[0].Seq+int64(i):
			return badBatch(op, "the events of a commit are numbered one after the other")
		case e.Run != l.Run || e.Conversation != l.Conversation:
			return badBatch(op, "a lease writes events of its own run and conversation only")
		case ends:
			return badBatch(op, "nothing follows the end of a run")
		}
		switch body := e.Body.(type) {
		case *event.StepBegun:
			if e.Step == "" || e.Attempt < 1 {
				return badBatch(op, "a step begins with a name and an attempt from 1")
			}
		case *event.StateChanged:
			for key := range body.Set {
				if strings.HasPrefix(key, tempPrefix) {
					return tempState(op)
				}
			}
			for _, key := range body.Delete {
				if strings.HasPrefix(key, tempPrefix) {
					return tempState(op)
				}
			}
		case *event.RunEnded:
			if body.Status != b.Status {
				return badBatch(op, "the event that ends the run and the commit differ in its status")
			}
			ends = true
		}
	}
	if ends != b.Status.Ended() {
		return badBatch(op, "a run ends with the event that says so, and not without it")
	}
	return nil
}

// sameMessage compares the content of two messages.
func sameMessage(a, b event.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Content, b.Content, func(x, y event.Block) bool {
		return reflect.DeepEqual(x, y)
	})
}

// names refuses names that JSON cannot hold.
func names(op string, of ...string) error {
	for _, s := range of {
		if !utf8.ValidString(s) {
			return &event.Error{Op: op, Kind: event.ErrInvalid, Message: "a name or an id is not UTF-8", Hint: "send UTF-8"}
		}
	}
	return nil
}

func noID(op, message string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: "give it one that is not empty"}
}

func badBatch(op, message string) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: message,
		Hint: "this is a bug in the driver: correct the batch, repeating it does not help",
	}
}

func tempState(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: `"temp:" state lives in one run's memory and is never stored`,
		Hint: "leave these keys out of the event",
	}
}

func notFound(op, message string) error {
	return &event.Error{Op: op, Kind: event.ErrNotFound, Message: message, Hint: "check the id"}
}

func ended(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Message: "the run has ended",
		Hint: "admit a new run to go on with the conversation",
	}
}

func leaseLost(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrLeaseLost, Message: "the lease is no longer this driver's",
		Hint: "drop what was not stored and acquire the run again",
	}
}
