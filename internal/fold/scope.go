package fold

import (
	"time"

	"github.com/braidrun/braid/event"
)

// Scope is one agent's thread of work inside a run, with its own transcript, open calls and counters. It holds what
// the log records, and only the fold changes it.
type Scope struct {
	ID     string
	Parent *Scope
	// Opener is the parent's call that waits for this scope; nil if there is none.
	Opener *Call
	// Place is where it stands.
	Place ScopePlace
	// Handover is how the scope came to the agent that has it; nil if that has opened it.
	Handover *Handover
	// Flow is what a kind of agent without a model sees of its own scope; nil for every other scope.
	Flow  *Flow
	Agent string
	Depth int
	// Closed is how the scope ended; nil while it is open.
	Closed *event.ScopeClosed

	// Task is what the call of a Task tool asked for; nil in every other scope.
	Task *Task
	// Background holds the scopes whose calls here did not wait for them; nil if there were none.
	Background *Background

	// Transcript is what the model sees.
	Transcript Transcript
	// gauge is the size of Transcript.
	gauge gauge
	// compaction is the scope's compaction; nil if there was none.
	compaction *Compaction
	// Tools are the tools of the scope's model.
	Tools ScopeTools

	// Newest is the newest message of a user in this scope.
	Newest Said
	// Fresh is why the model must be called: what the transcript holds that it has not answered. It is empty if there is
	// nothing.
	Fresh event.Why
	// Before holds the questions of hooks before the next step; nil for none.
	Before *Threshold

	// Cycle is the number of the newest model call; retries do not count.
	Cycle int
	// Model is the current model call.
	Model ModelCall
	// LastModel is the model that was called last. The scope stays with it.
	LastModel string
	// Answer is the newest answer of the model.
	Answer Answer
	// Batch holds the tool calls of the newest answer.
	Batch Batch
	// Repeats counts calls that bring nothing new; nil if there were none.
	Repeats *Repeats
	// Totals are the figures that limits bound.
	Totals Totals
}

// ScopePlace is where a scope stands in its run.
type ScopePlace struct {
	// Node is its place in a workflow.
	Node string
	// Branch is the dotted path of parallel branches of its events.
	Branch string
	// Part is its place in Flow.Seen of the parent, from 1, if a kind of agent without a model opened it; else 0.
	Part int
	// Began is when it was asked what it is at work on.
	Began time.Time
}

// ScopeTools are the tools of a scope's model.
type ScopeTools struct {
	// Names are the tools that the model may use.
	Names []string
	// Found are the tools that the model found by searching, in order.
	Found []string
}

// Answer is the newest answer of a scope's model.
type Answer struct {
	// Stop is why the newest answer ended.
	Stop event.StopReason
	// Pieces are the parts of an answer that is not complete.
	Pieces []event.Block
	// Words is the newest complete answer.
	Words []event.Block
	// Asked counts how often structured output was requested again.
	Asked int
	// Forced reports whether the current model call requests structured output again.
	Forced bool
	// Hooked reports whether a hook supplied Words.
	Hooked bool
	// spoke reports whether the run's input has an answer, with or without calls.
	spoke bool
}

// Totals sums what a scope did and used.
type Totals struct {
	// Base is the number of cycles taken over from a failed run. They count for no limit.
	Base int
	// ModelCalls counts all attempts of model calls.
	ModelCalls int
	// ToolCalls counts the calls that the scope's own model requested.
	ToolCalls int
	// Spent is the usage of this scope and the scopes below it, without Active.
	Spent event.Spent
	// Refused is the limit that refused a call of an agent; the scope then ends.
	Refused event.StopReason
	// Own splits usage and cost of the scope's own model calls by model. The root has it once a scope was opened.
	Own bill
}

// CallByID returns a call of the open batch; nil if there is none.
func (s *Scope) CallByID(id string) *Call {
	for _, c := range s.Batch.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// CallByStep returns a call of the open batch by its step; nil if there is none.
func (s *Scope) CallByStep(step string) *Call {
	for _, c := range s.Batch.Calls {
		if c.Step == step {
			return c
		}
	}
	return nil
}

// LastResult returns a tool's newest result in the transcript's last message; nil if there is none. It prefers a
// result that is not an error.
func (s *Scope) LastResult(tool string) *event.ToolResult {
	var last *event.ToolResult
	if n := len(s.Transcript.Messages); n > 0 {
		for _, b := range s.Transcript.Messages[n-1].Content {
			if r, ok := b.(*event.ToolResult); ok && r.Name == tool && (last == nil || last.IsError || !r.IsError) {
				last = r
			}
		}
	}
	return last
}

// Untouched reports whether no call of the batch has begun, which is the usual case.
func (s *Scope) Untouched() bool {
	for _, c := range s.Batch.Calls {
		if c.State != CallNew {
			return false
		}
	}
	return true
}

// Tokens estimates the tokens of the messages in the scope's next model call. whole reports whether the estimate is
// based on a provider's count, which also includes instructions and tools.
func (s *Scope) Tokens() (tokens int64, whole bool) {
	return s.Transcript.tokensOf(&s.gauge)
}

// noCompaction is the compaction of most scopes. It must not be written to.
var noCompaction Compaction

// Compaction returns the state of the scope's compaction. The caller must not change it.
func (s *Scope) Compaction() *Compaction {
	if s.compaction == nil {
		return &noCompaction
	}
	return s.compaction
}

// changeCompaction returns the scope's own Compaction for writing.
func (s *Scope) changeCompaction() *Compaction {
	if s.compaction == nil {
		s.compaction = &Compaction{}
	}
	return s.compaction
}

// Overflowed reports whether the scope's model has refused the conversation as too long.
func (s *Scope) Overflowed() bool {
	return s.Model.State == ModelFailed && s.Model.Err != nil && s.Model.Err.Kind == event.ErrContextOverflow
}
