package fold

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
)

// Scope is one agent's thread of work inside a run: its own transcript, open calls and counters. It holds what the log
// says, and only the fold changes it.
type Scope struct {
	ID     string
	Parent *Scope
	// Opener is the parent's call that waits for this scope; nil where no call does.
	Opener *Call
	// Node is its place in a workflow.
	Node string
	// Children are the scopes that were opened here without a call, for the newest message of a user.
	Children []*Scope
	// Opened counts those that were opened here without a call, for any message.
	Opened int
	Agent  string
	Depth  int
	// Closed is how the scope ended; nil while it is open.
	Closed *event.ScopeClosed

	// Transcript is what the model sees, and gauge how large it is.
	Transcript Transcript
	gauge      gauge
	// compaction is the scope's compaction; nil where there was none.
	compaction *Compaction
	// Tools are the tools of its model.
	Tools ScopeTools

	// Newest is the newest message of a user in this scope.
	Newest Said
	// Fresh is why the model is to be called: the transcript holds something that it has not answered yet. It is empty
	// when there is nothing.
	Fresh event.Why
	// Before holds the questions of hooks before what comes next; nil for none.
	Before *Threshold

	// Cycle is the number of the newest model call, without its repetitions.
	Cycle int
	// Model is the current model call.
	Model ModelCall
	// LastModel is the model that was asked last; the scope stays with it.
	LastModel string
	// Answer is what the model has said.
	Answer Answer
	// Batch holds the tool calls of the newest answer.
	Batch Batch
	// Repeats is what is known of calls that bring nothing new; nil where there were none.
	Repeats *Repeats
	// Totals are compared with limits.
	Totals Totals
}

// ScopeTools are the tools of a scope's model.
type ScopeTools struct {
	// Names are the names of what it may use.
	Names []string
	// Found are those that it has found by searching, in that order.
	Found []string
}

// Answer is the newest answer of a scope's model.
type Answer struct {
	// Stop is how the newest answer ended.
	Stop event.StopReason
	// Pieces are the parts of an answer that is not whole yet.
	Pieces []event.Block
	// Words is the newest whole answer.
	Words []event.Block
	// Asked counts how often an answer was asked for in its form.
	Asked int
	// Forced says that the current model call asks for an answer in its form.
	Forced bool
	// Hooked says that a hook gave Words.
	Hooked bool
	// spoke says that there is an answer, with calls or without, to the run's input.
	spoke bool
}

// Batch holds the tool calls of one answer. It is open until each call has a result.
type Batch struct {
	// Asking is the answer whose calls are not all settled, and askedAt the Seq of its event.
	Asking  []event.Block
	askedAt int64
	// Calls are the calls of that answer in its order; nil while no batch is open.
	Calls []*Call
	// Settled counts the calls that have a result.
	Settled int
	// last are the calls of the newest batch that was settled, until the model answers.
	last []*Call
	// Returned is the first call whose result is to be the answer; Answer is that result.
	Returned *Call
	Answer   *event.ToolResult
	// EndTurn says that one of the tools stops the loop.
	EndTurn bool
	// Direct says that the program itself asked for the calls.
	Direct bool
}

// Totals sum what a scope did and used.
type Totals struct {
	// Base is how many cycles a failed run had that this one continues: they count for no limit.
	Base int
	// ModelCalls counts all attempts.
	ModelCalls int
	// ToolCalls counts the calls that the scope's own model asked for.
	ToolCalls int
	// Spent is what was used here and in the scopes below; Active is not counted.
	Spent event.Spent
	// Refused is the limit for which a call of an agent was refused: the scope ends then.
	Refused event.StopReason
}

// CallByID finds a call of the open batch; nil if there is none.
func (s *Scope) CallByID(id string) *Call {
	for _, c := range s.Batch.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// CallByStep finds a call of the open batch by its step; nil if there is none.
func (s *Scope) CallByStep(step string) *Call {
	for _, c := range s.Batch.Calls {
		if c.Step == step {
			return c
		}
	}
	return nil
}

// flush shows a settled batch to the model: the answer with its calls and
// the results in request order enter the transcript together, never one alone.
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

// takeResults settles the open batch from results that a caller handed in with
// a message (an imported history), and gives back the rest of the content.
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

// closeBatch gives every call that is still open a result, so that the
// transcript stays one that a provider accepts. The driver writes such results
// itself before it ends a run; this is for logs that ended otherwise.
func (s *Scope) closeBatch() {
	if s.Batch.Calls == nil {
		return
	}
	for _, c := range s.Batch.Calls {
		if c.State != CallEnded {
			c.State = CallEnded
			c.Result = &event.ToolResult{Call: c.ID, Name: c.Name, IsError: true, Content: interruptedResult}
		}
	}
	s.flush()
}

// StepName names a step after its place: "m3" is the model call of cycle 3,
// "t3.1" the second tool call it asked for; a scope's id stands before it. The
// id is derived, so that every driver gives the same step the same name.
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

// Threshold is where a scope waits for the answers to what a hook has asked before a model call
// or a batch of tools: nothing of it has begun, so that its questions stand in the log
// without a step. A scope has one at most, which what it stood before takes away.
type Threshold struct {
	Questions []*Ask
}

// Waits reports whether one of the questions is open.
func (t *Threshold) Waits() bool {
	return t != nil && slices.ContainsFunc(t.Questions, func(q *Ask) bool { return !q.Answered })
}

// ask adds a question to what the scope waits for.
func (s *Scope) ask(q *Ask) {
	if s.Before == nil {
		s.Before = &Threshold{}
	}
	s.Before.Questions = append(s.Before.Questions, q)
}

// LastResult is the newest result of a tool in the message that the transcript ends with, one
// that is no error before one that is; nil where there is none.
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

// Untouched reports whether no call of the batch has begun: the usual case, in
// which the whole batch is the answer.
func (s *Scope) Untouched() bool {
	for _, c := range s.Batch.Calls {
		if c.State != CallNew {
			return false
		}
	}
	return true
}

// find takes note of tools that a call has found. What was handed out stays as it is.
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

// refusedScopes reads the Code of such an error; empty for any other.
func refusedScopes(err *event.Error) event.StopReason {
	switch stop := event.StopReason(err.Code); stop {
	case event.StopLimitDepth, event.StopLimitScopes:
		return stop
	default:
		return ""
	}
}
