package fold

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
)

// Scope is one agent's thread of work inside a run, with its own transcript, open calls and counters. It holds what
// the log records, and only the fold changes it.
type Scope struct {
	ID     string
	Parent *Scope
	// Opener is the parent's call that waits for this scope; nil if there is none.
	Opener *Call
	// Node is its place in a workflow.
	Node string
	// Children are the scopes opened here without a call since the newest message of a user.
	Children []*Scope
	// Opened counts all scopes opened here without a call.
	Opened int
	Agent  string
	Depth  int
	// Closed is how the scope ended; nil while it is open.
	Closed *event.ScopeClosed

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

// Batch holds the tool calls of one answer. It is open until each call has a result.
type Batch struct {
	// Asking is the answer whose calls are not all settled.
	Asking []event.Block
	// askedAt is the Seq of that answer's event.
	askedAt int64
	// Calls are the calls of that answer in its order; nil while no batch is open.
	Calls []*Call
	// Settled counts the calls that have a result.
	Settled int
	// last are the calls of the newest settled batch, until the model answers.
	last []*Call
	// Returned is the first call whose result becomes the answer; nil for none.
	Returned *Call
	// Answer is the result of Returned.
	Answer *event.ToolResult
	// EndTurn reports whether one of the tools ends the loop.
	EndTurn bool
	// Direct reports whether the program itself requested the calls.
	Direct bool
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

// flush appends a settled batch to the transcript. The answer and the results, in request order, enter together,
// because providers refuse either one alone.
func (s *Scope) flush() {
	if s.Batch.Asking != nil {
		results := make([]event.Block, len(s.Batch.Calls))
		for i, c := range s.Batch.Calls {
			results[i] = c.Result
		}
		s.Transcript.pair(s.Batch.Asking, results)
		if s.Transcript.Traced {
			s.tracePair(results)
		}
	}
	s.countRepeats().take(s.Batch.Calls, s.Cycle)
	s.Batch.Asking, s.Batch.Calls, s.Batch.Settled, s.Batch.last = nil, nil, 0, s.Batch.Calls
	s.Fresh = event.WhyToolResults
}

// takeResults settles the open batch with results that a caller passed in a message (an imported history). It returns
// the other blocks.
func (s *Scope) takeResults(seq int64, content []event.Block) []event.Block {
	if s.Batch.Calls == nil {
		return content
	}
	rest := make([]event.Block, 0, len(content))
	for _, b := range content {
		r, ok := b.(*event.ToolResult)
		if !ok {
			rest = append(rest, b)
			continue
		}
		if c := s.CallByID(r.Call); c != nil && c.State != CallEnded {
			c.State, c.Result, c.ended = CallEnded, r, seq
			s.Batch.Settled++
		}
	}
	s.closeBatch()
	return rest
}

// closeBatch gives every open call a result, because providers refuse a transcript with an open call. A driver writes
// such results before it ends a run; this handles logs that ended otherwise.
func (s *Scope) closeBatch() {
	if s.Batch.Calls == nil {
		return
	}
	for _, c := range s.Batch.Calls {
		if c.State != CallEnded {
			c.State = CallEnded
			c.Result = Interrupted(c.ToolCall)
		}
	}
	s.flush()
}

// Interrupted returns the result of a call whose own result is not known.
func Interrupted(c *event.ToolCall) *event.ToolResult {
	return &event.ToolResult{Call: c.ID, Name: c.Name, IsError: true, Content: interruptedResult}
}

// StepName returns a step's name: "m3" is the model call of cycle 3, "t3.1" the second tool call that it requested. A
// scope's id comes before it. The name depends only on the log, so every driver gives a step the same name.
func StepName(scope string, kind byte, cycle, index int) string {
	var buf [64]byte
	b := buf[:0]
	if scope != "" {
		b = append(b, scope...)
		b = append(b, '/')
	}
	b = append(b, kind)
	b = strconv.AppendInt(b, int64(cycle), 10)
	if kind == 't' {
		b = append(b, '.')
		b = strconv.AppendInt(b, int64(index), 10)
	}
	return string(b)
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

// ask adds a question that the scope waits for.
func (s *Scope) ask(q *Ask) {
	if s.Before == nil {
		s.Before = &Threshold{}
	}
	s.Before.Questions = append(s.Before.Questions, q)
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

// find records the tools that a call found. It does not change lists that were returned before.
func (s *Scope) find(v *Conversation, names []string) {
	for _, name := range names {
		if !slices.Contains(s.Tools.Found, name) {
			s.Tools.Found = append(s.Tools.Found, name)
		}
	}
	if s.Depth == 0 {
		v.Found = slices.Clip(s.Tools.Found)
	}
}

// refusedScopes returns the limit on agents that an error's Code names; empty for any other error.
func refusedScopes(err *event.Error) event.StopReason {
	switch stop := event.StopReason(err.Code); stop {
	case event.StopLimitDepth, event.StopLimitScopes:
		return stop
	default:
		return ""
	}
}
