package fold

import (
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
)

// Ask is a question of the run, with its answer if there is one.
type Ask struct {
	event.Asked
	// Step is the call that asked; empty for a hook before a step.
	Step string
	// Scope is the scope in which the question was asked.
	Scope string
	// Answered reports whether the question has an answer.
	Answered bool
	// Value is the answer.
	Value json.RawMessage
	// By is the author of the answer.
	By string
}

// Threshold holds the questions that hooks asked before a model call or a batch of tools. A scope waits at it for the
// answers. No step has begun, so the log holds the questions without a step. The step that follows removes the
// threshold.
type Threshold struct {
	Questions []*Ask
}

// Waits reports whether a question has no answer. A nil threshold does not wait.
func (t *Threshold) Waits() bool {
	return t != nil && slices.ContainsFunc(t.Questions, func(q *Ask) bool { return !q.Answered })
}
