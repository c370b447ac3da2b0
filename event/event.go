package event

import (
	"strconv"
	"time"
)

// Event is one thing that happened, passed by value. The zero Event is empty:
// its Body is nil.
type Event struct {
	Header
	Body Body
}

// Header says where an event stands. Strings that do not apply are empty.
type Header struct {
	// Seq is the position in the conversation's log, dense from 1.
	// It is 0 for a live event.
	Seq int64
	// Conversation is the id of the log that the event belongs to.
	Conversation string
	// Run is the id of the run that caused the event.
	Run string
	// Scope is the agent's thread of work inside the run; the root's is "".
	Scope string
	// Cycle counts the model calls of the scope, from 1; 0 stands before the first.
	Cycle int
	// Step is the model or tool call that the event is about, unique within
	// the run; Attempt counts the tries of that step, from 1.
	Step    string
	Attempt int
	// Author is "user" or the name of the agent.
	Author string
	// Branch is the dotted path of parallel branches; see [Sees].
	Branch string
	// Time is when the driver made the event. Order comes from Seq, never from Time.
	Time time.Time
	// Audience says who may read the event; the zero value is everyone.
	Audience Audience
	// Simulated is set on everything that a run driven by a scripted model says.
	Simulated bool
	// Epoch and N number a live event: N counts from 1 in the order of
	// sending within one (run, epoch). Both are 0 for a durable event.
	Epoch int64
	N     int64
}

// UserAuthor is the author of what a person said.
const UserAuthor = "user"

// ID is the event's name, derived from its run and position and never made:
// "run/seq" for a durable event, "run/epoch.n" for a live one.
func (e *Event) ID() string {
	b := make([]byte, 0, len(e.Run)+24)
	b = append(b, e.Run...)
	b = append(b, '/')
	if e.Seq > 0 {
		return string(strconv.AppendInt(b, e.Seq, 10))
	}
	b = strconv.AppendInt(b, e.Epoch, 10)
	b = append(b, '.')
	return string(strconv.AppendInt(b, e.N, 10))
}

// Live reports whether the event exists only on the stream.
func (e *Event) Live() bool { return IsLive(e.Body) }

// Final reports whether the event is fit to be shown as an agent's complete
// output, by the rule that ADK's is_final_response really follows (seed 5,
// corrected by reading its source): a result that the model is not to sum up
// and anything that waits for the outside are final; otherwise an event is
// final when it holds no tool call, no tool result and no delta, and does not
// end with a code result. An event without any content is final by that rule,
// so a client that prints final events must also look for text.
// Events that ADK has no counterpart for (run, scope and step records) are
// never final.
func (e *Event) Final() bool {
	switch b := e.Body.(type) {
	case nil:
		return false
	case *AssistantMessage:
		return len(b.LongRunning) > 0 || finalContent(b.Content)
	case *UserMessage:
		return finalContent(b.Content)
	case *StepEnded:
		return b.EndTurn
	default:
		return b.info().Final
	}
}

func finalContent(blocks []Block) bool {
	for _, b := range blocks {
		switch b.(type) {
		case *ToolCall, *ToolResult:
			return false
		}
	}
	if n := len(blocks); n > 0 {
		_, code := blocks[n-1].(*CodeResult)
		return !code
	}
	return true
}

// Audience says who may read an event.
type Audience uint8

// The audiences. The list is append-only.
const (
	// Everyone includes the client at the end of a wire.
	Everyone Audience = iota
	// Operator is for those who run the service; no client wire sends it.
	Operator
)

// String is the audience's name in JSON.
func (a Audience) String() string {
	switch a {
	case Everyone:
		return "everyone"
	case Operator:
		return "operator"
	default:
		return "audience(" + strconv.Itoa(int(a)) + ")"
	}
}

// Sees reports whether work on branch reader may see an event of branch
// author: when either is empty, when they are the same, or when reader
// descends from author. Paths are compared segment by segment, so "agent_00"
// does not descend from "agent_0" (ADK's branch rule).
func Sees(reader, author string) bool {
	if reader == "" || author == "" || reader == author {
		return true
	}
	return len(reader) > len(author) && reader[:len(author)] == author && reader[len(author)] == '.'
}
