package braid

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
)

// scope is one agent's thread of work inside a run: its own transcript, open
// calls and counters. It is folded from the log, and nothing but the fold changes it. next decides from it.
// What a driver knows besides is a [thread].
type scope struct {
	id     string
	parent *scope
	// opener is the parent's call that waits for this scope.
	opener *call
	agent  string
	depth  int
	// closed is how the scope ended; nil while it is open.
	closed *event.ScopeClosed

	talk  transcript
	gauge gauge
	cycle int
	// base is how many cycles a failed run had that this one continues: they count for no limit.
	base int
	// fresh is set while the transcript holds something that the model has not
	// answered yet.
	fresh event.Why
	model modelStep
	// asks is the model that was asked last, with which the scope stays.
	asks string
	stop event.StopReason
	// newest is the last message of a person in this scope.
	newest said
	// pieces are the parts of an answer that is not whole yet.
	pieces []event.Block
	// asking is the answer whose calls are not all settled, and askedAt where it stands;
	// batch are its calls in request order, and settled counts those that have a result.
	asking  []event.Block
	askedAt int64
	batch   []*call
	settled int
	// last are the calls of the newest batch that was settled, until the model answers.
	last []*call
	// before holds the questions of hooks before what comes next; nil for none.
	before *threshold
	// returns is the first call of the batch whose result is to be the answer, answer that
	// result; endTurn says that a tool of it stops the loop, called that the program itself
	// asked for the batch.
	returns *call
	answer  *event.ToolResult
	endTurn bool
	called  bool

	// hooked says that a hook gave words, the scope's last whole answer. asked counts how often
	// an answer was asked for in its form, and forced says that the current model call does so.
	// spoke says that there is an answer, with calls or without, to the run's input.
	hooked bool
	spoke  bool
	forced bool
	asked  int
	words  []event.Block

	modelCalls int
	toolCalls  int
	// spent is what was used here and in the scopes below; Active is not counted.
	spent event.Spent
	// refused is the limit for which a call of an agent was refused: the scope ends then.
	refused event.StopReason

	// repeats is what is known of calls that bring nothing new; nil where there were none.
	repeats *repeats

	// found are the tools that its model has found, in that order ([SearchTools]).
	found []string
	// tools are the names of what its model may use.
	tools []string
	// squeeze is where the scope's compaction stands; nil where there was none.
	squeeze *compacting
}

// modelStep is where the scope's current model call stands.
type modelStep struct {
	state   modelState
	step    string
	attempt int
	// tries counts the attempts on the model called name, unreached the newest of them that reached no server.
	tries     int
	unreached int

	name    string
	err     *event.Error
	retryAt time.Time
	// fallback is the model that is asked instead of one that failed.
	fallback string
	// eased says that the model is shown less than when it refused the conversation as
	// too long, and easings how often that was done for this call.
	eased   bool
	easings int
}

type modelState uint8

const (
	modelIdle modelState = iota
	modelBegun
	modelFailed
	modelLost
)

// call is a tool call of a scope's open batch.
type call struct {
	*event.ToolCall
	index   int
	step    string
	state   callState
	attempt int
	// begun is when the last attempt began, in nanoseconds as it is read back.
	begun  int64
	effect event.Effect
	// more is what few calls have: every call pays for its own memory.
	more   *uncommon
	result *event.ToolResult
	// ended is the Seq of the event that has the result.
	ended int64
	// sum tells the call with its result from others; 0 for one that a caller handed in,
	// or that was closed without a result.
	sum   uint64
	child *scope
}

// uncommon is what only calls have that were made again, changed by hooks, or asked.
type uncommon struct {
	// repeats counts the attempts that ended to be made again, retryAt is when the
	// next one may begin, zero once it has, and failed whether the last of them gave
	// an error.
	repeats int
	retryAt time.Time
	failed  bool
	// args and runs are what hooks put in place of the call's own; nil and empty for none.
	args json.RawMessage
	runs string
	// asks are the questions of this call in the order of asking.
	asks []*question
}

// common is what most calls have, which nobody writes to.
var common uncommon

// rare gives what few calls have, to read.
func (c *call) rare() *uncommon {
	if c.more == nil {
		return &common
	}
	return c.more
}

// rarely is rare to write.
func (c *call) rarely() *uncommon {
	if c.more == nil {
		c.more = &uncommon{}
	}
	return c.more
}

type callState uint8

const (
	callNew callState = iota
	callBegun
	callAsked
	callAnswered
	callEnded
)

func (s *scope) callByID(id string) *call {
	for _, c := range s.batch {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (s *scope) callByStep(step string) *call {
	for _, c := range s.batch {
		if c.step == step {
			return c
		}
	}
	return nil
}

// flush shows a settled batch to the model: the answer with its calls and
// the results in request order enter the transcript together, never one alone.
func (s *scope) flush() {
	if s.asking != nil {
		results := make([]event.Block, len(s.batch))
		for i, c := range s.batch {
			results[i] = c.result
		}
		s.talk.pair(s.asking, results)
		if s.talk.traced {
			s.tracePair(results)
		}
	}
	s.countRepeats().take(s.batch, s.cycle)
	s.asking, s.batch, s.settled, s.last = nil, nil, 0, s.batch
	s.fresh = event.WhyToolResults
}

// takeResults settles the open batch from results that a caller handed in with
// a message (an imported history), and gives back the rest of the content.
func (s *scope) takeResults(seq int64, content []event.Block) []event.Block {
	if s.batch == nil {
		return content
	}
	rest := make([]event.Block, 0, len(content))
	for _, b := range content {
		r, ok := b.(*event.ToolResult)
		if !ok {
			rest = append(rest, b)
			continue
		}
		if c := s.callByID(r.Call); c != nil && c.state != callEnded {
			c.state, c.result, c.ended = callEnded, r, seq
			s.settled++
		}
	}
	s.closeBatch()
	return rest
}

// closeBatch gives every call that is still open a result, so that the
// transcript stays one that a provider accepts. The driver writes such results
// itself before it ends a run; this is for logs that ended otherwise.
func (s *scope) closeBatch() {
	if s.batch == nil {
		return
	}
	for _, c := range s.batch {
		if c.state != callEnded {
			c.state = callEnded
			c.result = &event.ToolResult{Call: c.ID, Name: c.Name, IsError: true, Content: interruptedResult}
		}
	}
	s.flush()
}

// stepName names a step after its place: "m3" is the model call of cycle 3,
// "t3.1" the second tool call it asked for; a scope's id stands before it. The
// id is derived, so that every driver gives the same step the same name.
func stepName(scope string, kind byte, cycle, index int) string {
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

// threshold is where a scope waits for the answers to what a hook has asked before a model call
// or a batch of tools: nothing of it has begun, so that its questions stand in the log
// without a step. A scope has one at most, which what it stood before takes away.
type threshold struct {
	asks []*question
}

// waits reports whether one of the questions is open.
func (t *threshold) waits() bool {
	return t != nil && slices.ContainsFunc(t.asks, func(q *question) bool { return !q.answered })
}

// ask adds a question to what the scope waits for.
func (s *scope) ask(q *question) {
	if s.before == nil {
		s.before = &threshold{}
	}
	s.before.asks = append(s.before.asks, q)
}

// lastResult is the newest result of a tool in the message that the transcript ends with, one
// that is no error before one that is; nil where there is none.
func (s *scope) lastResult(tool string) *event.ToolResult {
	var last *event.ToolResult
	if n := len(s.talk.msgs); n > 0 {
		for _, b := range s.talk.msgs[n-1].Content {
			if r, ok := b.(*event.ToolResult); ok && r.Name == tool && (last == nil || last.IsError || !r.IsError) {
				last = r
			}
		}
	}
	return last
}

// untouched reports whether no call of the batch has begun: the usual case, in
// which the whole batch is the answer.
func (s *scope) untouched() bool {
	for _, c := range s.batch {
		if c.state != callNew {
			return false
		}
	}
	return true
}

// find takes note of tools that a call has found. What was handed out stays as it is.
func (s *scope) find(v *view, names []string) {
	for _, name := range names {
		if !slices.Contains(s.found, name) {
			s.found = append(s.found, name)
		}
	}
	if s.depth == 0 {
		v.found = slices.Clip(s.found)
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
