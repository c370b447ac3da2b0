package journal

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// This file is the part of the contract that does not depend on where a store keeps its rows. Stores need it; drivers do not.

// CheckBatch returns ErrInvalid for a batch that is wrong in any state of a store; see [Store].Commit. It checks its
// arguments only.
func CheckBatch(op string, l Lease, b Batch) error { return checkBatch(op, l, b) }

// OpenStep is the attempt of a step that has begun and not ended, or has ended with a question. A store keeps at most one
// for each step of a run.
type OpenStep struct {
	Step    string         `json:"step"`
	Attempt int            `json:"attempt"`
	Kind    event.StepKind `json:"kind"`
	Asked   bool           `json:"asked,omitempty"`
}

// FollowSteps returns a run's open steps after the events of one batch, or ErrConflict for a batch that begins or ends a
// step that it may not. It does not change its arguments.
func FollowSteps(op string, open []OpenStep, batch []*event.Event) ([]OpenStep, error) {
	steps := make(openSteps, len(open))
	for i, s := range open {
		steps[i] = openStep{step: s.Step, attempt: s.Attempt, kind: s.Kind, asked: s.Asked}
	}
	steps, _, err := steps.after(op, nil, batch)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	left := make([]OpenStep, len(steps))
	for i, s := range steps {
		left[i] = OpenStep{Step: s.step, Attempt: s.attempt, Kind: s.kind, Asked: s.asked}
	}
	return left, nil
}

// Progresses reports whether events advance a run. Beginnings, lost steps, calls in doubt and answers that call tools do
// not: a driver may write them each time before the same tool ends its process.
func Progresses(events []*event.Event) bool {
	for _, e := range events {
		switch b := e.Body.(type) {
		case *event.StepEnded:
			if b.Outcome != event.OutcomeLost && b.Outcome != event.OutcomeInDoubt {
				return true
			}
		case *event.AssistantMessage:
			if !b.Piece && !callsTools(b.Content) {
				return true
			}
		case *event.RunStarted, *event.UserMessage, *event.ScopeClosed, *event.Asked, *event.Answered, *event.Compacted, *event.RunEnded:
			return true
		}
	}
	return false
}

func callsTools(content []event.Block) bool {
	return slices.ContainsFunc(content, func(b event.Block) bool {
		_, calls := b.(*event.ToolCall)
		return calls
	})
}

// LedgerText repairs text for a ledger, which must not refuse a commit. Invalid UTF-8 becomes U+FFFD, and so does the zero
// character, which some databases cannot store.
func LedgerText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
