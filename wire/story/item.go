package story

import (
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

type (
	// Agent is an agent at work: the run's own, or one that works for a tool call.
	Agent = fold.Thread[Work]
	// Step is a model or tool call that is not over.
	Step = fold.Step[Work, Answer]
	// Question is a question to a person.
	Question = event.Question
)

// Item is one thing that a stream tells: an event, or the snapshot of a step. It is valid until the next call of the story.
type Item struct {
	// Event is what happened; nil for a snapshot.
	Event *event.Event
	// Snapshot stands for the live events of a step that the reader missed; nil for an event.
	Snapshot *event.Snapshot
	// Run is the run that it is about.
	Run *Run
	// Agent is whose it is. One whose beginning the stream did not see works for the run's own agent.
	Agent *Agent
	// Opened and Closed are the agents that the event opens or closes; nil for all other events.
	Opened, Closed *Agent
	// Step is the step that it is about; nil if there is none or its beginning is not known.
	Step *Step
	// Call is the call that a tool's progress, result or question is about; nil for everything else. Of a call that the
	// stream did not see it has what the event says.
	Call *event.ToolCall
	// Answer is the answer that a piece, a message or a snapshot of a model's step belongs to; nil for a piece of a step that
	// the stream did not see begin.
	Answer *Answer
	// Results are those of all calls of the agent's newest answer in the order of the calls, once the last of them is
	// there; nil before and afterwards.
	Results []*event.ToolResult
	// Last is the Seq of the last durable event, this one included.
	Last int64
	// Ends says that the one run that the stream is about has ended.
	Ends bool
}

// Head returns the header of the event or the snapshot.
func (it *Item) Head() *event.Header {
	if it.Event != nil {
		return &it.Event.Header
	}
	return &it.Snapshot.Header
}

// Gap reports whether the item is a piece of an answer that does not join on to the pieces before it.
func (it *Item) Gap() bool {
	if it.Event == nil || it.Answer == nil || !it.Answer.Lost {
		return false
	}
	switch it.Event.Body.(type) {
	case *event.TextDelta, *event.ThinkingDelta, *event.ToolInputDelta:
		return true
	}
	return false
}

// Run is a run so far.
type Run struct {
	ID string
	// Turn and Session are those of its beginning. Simulated says that its model follows a script.
	Turn, Session int
	Simulated     bool
	// Answer is the text of the root agent's newest answer; Said that of the newest one with text. What is redacted
	// stands in them as its replacement. History that was handed in with the run does not count.
	Answer, Said string
	// Usage is what the models used since the stream began, in the order of their first calls. No model used nothing.
	Usage []event.ModelUsage
	// Open are the questions that have no answer.
	Open []Question
	// End is how it ended; nil before.
	End *event.RunEnded

	// answered and saidAt are the Seqs of Answer and Said.
	answered, saidAt int64
	// stepped says that the run has begun a step.
	stepped bool
}

// Work is what a story keeps for an agent.
type Work struct {
	// Opened is when the agent began its work; zero where the stream did not see it.
	Opened time.Time
	// Node says that the agent works at a place of a flow, and not for a call of its own.
	Node bool
	// Wire is for the encoder alone.
	Wire any

	// waits says that results of the newest answer's calls are to come, results are those that are there.
	waits   bool
	results map[string]*event.ToolResult
}

// Answer is a model's answer.
type Answer struct {
	// Attempt is the step's.
	Attempt int
	// Content is what the log has of it, joined from its pieces.
	Content []event.Block
	// Whole says that the stream has seen the attempt begin, and everything since.
	Whole bool
	// Lost says that pieces are missing: those that follow do not join on, and the message has everything. Replaced says
	// that the text was taken back and replaced since: pieces of text join on again. An encoder sets Lost if what it has sent
	// is another text by now.
	Lost, Replaced bool
	// Wire is for the encoder alone.
	Wire any
}

// content returns Content; none of a nil answer.
func (a *Answer) content() []event.Block {
	if a == nil {
		return nil
	}
	return a.Content
}

// Text returns the text of Content. a may be nil.
func (a *Answer) Text() string { return event.RawText(a.content()) }

// Thinking returns the reasoning in Content. a may be nil.
func (a *Answer) Thinking() string {
	var text strings.Builder
	for _, b := range a.content() {
		if t, ok := b.(*event.Thinking); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String()
}

// Shown returns the text and the reasoning of an answer in flight: what the log has, and the blocks of a snapshot after it.
// a may be nil.
func (a *Answer) Shown(s *event.Snapshot) (text, thinking string) {
	text, thinking = a.Text(), a.Thinking()
	for i := range s.Blocks {
		switch b := &s.Blocks[i]; b.Kind {
		case event.BlockText:
			text += b.Text
		case event.BlockThinking:
			thinking += b.Text
		}
	}
	return text, thinking
}
