package fold

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Unit is the smallest part of a transcript that a compaction can leave out: a user's message, an answer, or an answer
// with calls and their results. Only a traced fold has units.
type Unit struct {
	Kind UnitKind
	// Said is what the user or the model wrote.
	Said []event.Block
	// Got are the results of the calls in Said.
	Got []event.Block
	// Seqs are the events that the unit comes from.
	Seqs []int64
	// Opens reports whether the unit is input of a run. Messages that were sent during a run do not open a turn, and
	// neither do those of hooks and of the loop itself.
	Opens bool
	// paused reports whether the next answer continues this one.
	paused bool
}

// UnitKind is the kind of a unit.
type UnitKind uint8

// The kinds of units.
const (
	UnitUser UnitKind = iota
	UnitAnswer
	UnitPair
	// UnitNote is a note of the loop about an earlier run.
	UnitNote
	// UnitInput is the input of a sub-agent. Its event belongs to the parent's scope, so no compaction leaves it out.
	UnitInput
	// UnitSummary is the summary of an earlier compaction.
	UnitSummary
)

// Messages returns the number of messages in the unit.
func (u *Unit) Messages() int {
	if u.Kind == UnitPair {
		return 2
	}
	return 1
}

// Message returns the unit as a message, without the results of calls.
func (u *Unit) Message() event.Message {
	if u.Kind == UnitAnswer || u.Kind == UnitPair {
		return event.Message{Role: event.RoleAssistant, Content: u.Said}
	}
	return event.Message{Role: event.RoleUser, Content: u.Said}
}

// Tokens estimates the size of the unit.
func (u *Unit) Tokens() int64 { return model.BlocksTokens(u.Said) + model.BlocksTokens(u.Got) }

// CutTokens estimates the size of the unit when its tool results are cut.
func (u *Unit) CutTokens() int64 {
	n := model.BlocksTokens(u.Said)
	for _, b := range u.Got {
		if r, ok := b.(*event.ToolResult); ok {
			n += model.BlocksTokens([]event.Block{cutResult(r)})
		}
	}
	return n
}
