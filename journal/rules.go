package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// What follows is the part of the contract that does not depend on where a
// store keeps its rows. It is for those who write a store: a driver needs none of it.

// CheckBatch refuses, with ErrInvalid, a batch that no state of a store could
// make right; see [Store] Commit. It looks at nothing but its arguments.
func CheckBatch(op string, l Lease, b Batch) error { return checkBatch(op, l, b) }

// GivesBack reports whether the lease ends with the batch: it is released, or
// the run waits or ends.
func (b Batch) GivesBack() bool { return b.givesBack() }

// OpenStep is the attempt of a step that has begun and not ended, or has ended
// with a question. A store keeps those of each run, at most one for a step.
type OpenStep struct {
	Step    string         `json:"step"`
	Attempt int            `json:"attempt"`
	Kind    event.StepKind `json:"kind"`
	Asked   bool           `json:"asked,omitempty"`
}

// FollowSteps follows a run's open steps through the events of one batch and
// gives those that are open behind it, or ErrConflict for a batch that begins or
// ends a step that it may not. What it is given stays as it is.
func FollowSteps(op string, open []OpenStep, batch []*event.Event) ([]OpenStep, error) {
	steps := make(openSteps, len(open))
	for i, s := range open {
		steps[i] = openStep{step: s.Step, attempt: s.Attempt, kind: s.Kind, asked: s.Asked}
	}
	steps, err := steps.after(op, nil, batch)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	left := make([]OpenStep, len(steps))
	for i, s := range steps {
		left[i] = OpenStep{Step: s.step, Attempt: s.attempt, Kind: s.kind, Asked: s.asked}
	}
	return left, nil
}

// Progresses reports whether events get a run on. Events that only begin something do not, nor do lost steps, calls in
// doubt and answers that call tools: a driver may write all of these each time before the same tool ends its process.
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

// Digest tells two letters of one id apart: by what they say, and not by who
// sent them or when.
func Digest(m Mail) [16]byte {
	h := sha256.New()
	field := func(b []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	field([]byte(m.Kind))
	field([]byte(m.Token))
	field(m.Value)
	// Blocks that cannot be written are told apart by nothing: no store keeps them.
	message, _ := event.AppendBlocks(nil, m.Message)
	field(message)
	var d [16]byte
	copy(d[:], h.Sum(nil))
	return d
}

// LedgerText mends text for a ledger, which must not refuse a commit: what is not UTF-8, and the zero
// character, which some databases do not hold, become U+FFFD.
func LedgerText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
