// Package kind holds what a kind of agent is written against: package flow says how. It is apart from flow so that the root
// package can use it.
package kind

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Kind is a kind of agent: it decides which of its agents work, on what, and what comes of it. Agents made of it keep nothing
// between decisions, so one Kind may serve any number of runs at once.
type Kind interface {
	// Next decides what a scope of such an agent does next. It must be pure: the same Scope gives the same Command, in every
	// process and after a crash, so that a run goes on as it would have. It must not block. Braid calls it again whenever
	// a child has ended or Until is past. A panic fails the run.
	Next(s Scope) Command
}

// Decider is a [Kind] with decisions that Next cannot make itself, because they call Go code of the user: whether to go on, which
// way to take, over which items. Next asks for one with [Command].Decide.
type Decider interface {
	Kind
	// Decide makes the decision of this name. Braid writes its value to the log as JSON, so that a resumed run reads it, and
	// calls Next again. The Go code runs once for each decision, unless the process dies before the log has the value: it
	// should change nothing. It reads and sets the state of the conversation with ctx ([tool.State]). An error, a panic, and
	// code that takes longer than [DecideTime] are recorded as the decision's Err. Other scopes wait meanwhile.
	Decide(ctx context.Context, name string, s Scope) (value any, err error)
}

// Narrower is a [Decider] whose decisions read little of a scope. Braid copies what a decision reads, because its code may still
// run when the scope goes on. Without Narrow it copies all children for each decision.
type Narrower interface {
	Decider
	// Narrow returns what the decision of this name reads of s; Decide gets a copy of it. Like Next it must be pure, must not
	// block and must not change s. A panic is recorded as the decision's Err.
	Narrow(name string, s Scope) Scope
}

// Matcher is a [Kind] whose definition may change while a run waits.
type Matcher interface {
	Kind
	// Matches returns why the kind cannot go on with a scope that an earlier version of it has begun; nil if it can. Braid calls
	// it when it takes up a run that has begun. After an error the run keeps waiting, and the caller that resumes it gets the error.
	Matches(s Scope) error
}

// DecideTime bounds one call of [Decider].Decide.
const DecideTime = 10 * time.Second

// Worker is a [Kind] whose scope runs one tool and answers with its result. Braid does not call Next. The tool gets the
// argument "input", a text; [tool.CallOf] has the rest. Its effect says what happens after a crash.
type Worker interface {
	Kind
	// Tool is what runs. It is called once, when the agent is made.
	Tool() tool.Tool
}

// Scope is what the log says of one agent's work. Next must not change it.
type Scope struct {
	// Agents are the names of the agents that it may open, in the order in which they were given.
	Agents []string
	// Input is what it was asked.
	Input []event.Block
	// Began is when it was asked.
	Began time.Time
	// Children are the scopes that it has opened for that input, in the order of opening.
	Children []Child
	// Open and Failed count the children that are open, and those that ended with an error.
	Open, Failed int
	// Decisions are the recorded ones for that input, in the order of the log.
	Decisions []Decision
	// Ended are the indexes of the children that have ended, in the order in which they did.
	Ended []int
	// Now is the time of the decision.
	Now time.Time
	// Memo is memory for what Next has derived from the fields above, so that it need not start over at each decision. The lists
	// only grow at their end while it is kept. It is nil at first, and Braid may empty it at any time: it must not change
	// a decision.
	Memo *any
}

// Decision returns the newest decision of this name; nil if there is none.
func (s *Scope) Decision(name string) *Decision {
	for i := len(s.Decisions) - 1; i >= 0; i-- {
		if s.Decisions[i].Name == name {
			return &s.Decisions[i]
		}
	}
	return nil
}

// Decision is what Go code of the user has decided, as the log has it.
type Decision struct {
	Name string
	// Value is JSON; nil if Err is set.
	Value json.RawMessage
	Err   *event.Error
}

// Yes reports whether the value is true.
func (d *Decision) Yes() bool { return string(d.Value) == "true" }

// Child is an agent's work inside the scope.
type Child struct {
	// ID names its scope in the run's log.
	ID string
	// Node and Agent are as the scope was opened. After a transfer, Agent is still the one that began.
	Node  string
	Agent string
	// Began is when it was opened.
	Began time.Time
	// Open says that it is still at work. The fields below are set when it is not, except for Escalated.
	Open bool
	// After counts the children that had ended when it was opened.
	After int
	// Ended is its place, from 1, among the children in the order in which they ended; 0 while it is open. Closed is when it
	// ended.
	Ended  int
	Closed time.Time
	// Output is what it answered: text, pictures, documents and other media.
	Output []event.Block
	// Returned is the result of the tool whose result became the answer ([tool.ReturnDirect]); nil for every other answer.
	Returned *event.ToolResult
	// Stop says how it ended.
	Stop event.StopReason
	// Err is why it ended without an answer; nil if it has one.
	Err *event.Error
	// Escalated says that it asked the loop around it to stop.
	Escalated bool
	// State holds the keys of the state that it and the scopes below it have set or deleted, sorted.
	State []string
}

// Command is what Next decides. Its zero value waits until a child ends.
type Command struct {
	// Decide names a decision that is to be made; the kind is a [Decider] then. It goes before everything else.
	Decide string
	// Close ends children that are open: their models and tools are cancelled. It goes before what follows.
	Close []Closing
	// Open are the agents to begin, all at once.
	Open []Opening
	// Finish ends the scope. Braid waits until no child is open any more, and asks again.
	Finish bool
	// Output is the scope's answer; it goes with Finish.
	Output []event.Block
	// Err ends the scope without an answer, and Stop says how; they go with Finish. The result of an agent has Err beside it.
	Err  *event.Error
	Stop event.StopReason
	// Escalate asks the loop around the scope to stop; it goes with Finish.
	Escalate bool
	// Notices are for those who watch the run, such as conflicts between agents; they go with Finish. No model sees them.
	Notices []event.Notice
	// Until is when to ask again, if nothing else happens before; zero means never.
	Until time.Time
}

// Opening is an agent's work that is to begin.
type Opening struct {
	// Node names its place, such as a node of a graph. It may be empty, and need not be unique.
	Node string
	// Agent is the name of one of the scope's agents.
	Agent string
	// Input is what it is asked.
	Input []event.Block
	// Branch is what its events have behind the scope's own [event.Header].Branch, such as "parallel.left". An empty one
	// leaves it in the scope's branch.
	Branch string
}

// Closing is the end of a child that has not ended itself.
type Closing struct {
	// Child is its index in [Scope].Children.
	Child int
	// Err is how it ends, for the log and for Child.Err. One of the kind [event.ErrTimeout] says that its time was over; nil
	// says that it was cancelled.
	Err *event.Error
}
