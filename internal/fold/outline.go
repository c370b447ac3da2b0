package fold

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// Outline is the fold of a run for display: the agents at work, the steps that they run, and the requested calls. It
// keeps no transcript, and it may begin in the middle of a run. T is a view's data for each thread, S its data for each
// step. The zero value is ready. It is not safe for concurrent use.
type Outline[T, S any] struct {
	run     string
	root    Thread[T]
	threads map[string]*Thread[T]
	steps   map[string]*Step[T, S]
	// hidden are the events whose content must not be shown.
	hidden map[int64]bool
	// asked are the run's questions by their tokens, questions those that can still be answered.
	asked     map[string]*event.Asked
	questions []event.Question
}

// Thread is one agent at work: the root agent or a sub-agent.
type Thread[T any] struct {
	// Own holds the view's data for the thread.
	Own T
	// ID is the scope's id; empty for the root.
	ID string
	// Parent is nil for the root.
	Parent *Thread[T]
	Agent  string
	// Depth is the number of agents above it, from the log.
	Depth int
	// Task reports whether a Task tool opened the scope, and Background whether its call does not wait for it.
	Task, Background bool
	// Closed reports whether the agent has ended. Guardrails may still redact its output.
	Closed bool
	// Call is the tool call that the agent works for; empty for the root. A scope without its own call has its parent's.
	Call string
	// Model is the model of the newest call without an answer. Summary is the model that was last called for a summary.
	Model, Summary string

	// asked are the calls of the newest answer; pieces are the calls of an incomplete answer.
	asked, pieces []AskedCall
}

// AskedCall is a call that a model requests, with the Seq of the event that holds it.
type AskedCall struct {
	*event.ToolCall
	Seq int64
}

// Step is an open step. A tool call stays open until it has a result: it may ask a question or be retried.
type Step[T, S any] struct {
	// Own holds the view's data for the step.
	Own S
	// Thread runs the step.
	Thread *Thread[T]
	// ID is the step's name. Begun is how its newest attempt began, Asked the call that it makes; its ToolCall is nil
	// where the log does not show the answer with the call.
	ID    string
	Begun *event.StepBegun
	Asked AskedCall
}

// Place holds the thread and the step that an event belongs to.
type Place[T, S any] struct {
	// Thread is the event's thread; nil if unknown.
	Thread *Thread[T]
	// Step is the event's step, which the event may also begin or end. It is nil if there is none or its beginning is
	// unknown.
	Step *Step[T, S]
	// Opened and Closed are the thread that the event opens or closes.
	Opened, Closed *Thread[T]
}

// Begin begins the outline of a run. [Outline.Add] calls it at the first event of another run.
func (o *Outline[T, S]) Begin(run string) { *o = Outline[T, S]{run: run} }

// Add applies an event, in the order of the log, and returns its thread and step. The event of another run begins a new
// outline.
func (o *Outline[T, S]) Add(e *event.Event) (p Place[T, S]) {
	if o.run != e.Run {
		o.Begin(e.Run)
	}
	switch b := e.Body.(type) {
	case *event.Redacted:
		o.redact(b)
	case *event.ScopeOpened:
		p.Opened = o.open(b)
	case *event.ScopeClosed:
		if t := o.threads[b.ID]; t != nil && !t.Closed {
			p.Closed, t.Closed = t, true
		}
	}
	o.ask(e)
	if p.Thread = o.Thread(e.Scope); p.Thread == nil {
		return p
	}
	if e.Step != "" {
		p.Step = o.steps[e.Step]
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		p.Thread.Agent = b.Agent
	case *event.StepBegun:
		p.Step = o.begin(p.Thread, p.Step, e.Step, b)
	case *event.StepEnded:
		if b.Step != event.StepTool || b.Result != nil {
			delete(o.steps, e.Step)
		}
	case *event.AssistantMessage:
		p.Thread.answer(e.Seq, b)
		if !b.Piece && e.Step != "" {
			p.Thread.Model = ""
			delete(o.steps, e.Step)
		}
	case *event.Transferred:
		p.Thread.Agent = b.To
	}
	return p
}

// Thread returns the thread of a scope; nil if unknown.
func (o *Outline[T, S]) Thread(scope string) *Thread[T] {
	if scope == "" {
		return &o.root
	}
	return o.threads[scope]
}

// Threads returns the root thread and the open threads, in no particular order.
func (o *Outline[T, S]) Threads() iter.Seq[*Thread[T]] {
	return func(yield func(*Thread[T]) bool) {
		if !yield(&o.root) {
			return
		}
		for _, t := range o.threads {
			if !t.Closed && !yield(t) {
				return
			}
		}
	}
}

// Join adds the thread of a scope whose beginning is unknown, as a child of the root.
func (o *Outline[T, S]) Join(scope, agent string) *Thread[T] {
	return o.open(&event.ScopeOpened{ID: scope, Agent: agent})
}

// Step returns an open step; nil if unknown.
func (o *Outline[T, S]) Step(id string) *Step[T, S] { return o.steps[id] }

// JoinStep adds a step whose beginning is unknown. It replaces a step of the same name.
func (o *Outline[T, S]) JoinStep(t *Thread[T], id string, b *event.StepBegun) *Step[T, S] {
	return o.begin(t, nil, id, b)
}

// Open returns the open steps, in no particular order.
func (o *Outline[T, S]) Open() iter.Seq[*Step[T, S]] { return maps.Values(o.steps) }

// Question returns a question of the run by its token, also if it is not open; nil if unknown. An answer may come after
// the call that asked has ended.
func (o *Outline[T, S]) Question(token string) *event.Asked { return o.asked[token] }

// Questions returns the open questions in the order of the log. The list is valid until the next event.
func (o *Outline[T, S]) Questions() []event.Question { return o.questions }

// Hidden reports whether the content of an event must not be shown.
func (o *Outline[T, S]) Hidden(seq int64) bool { return o.hidden[seq] }

func (o *Outline[T, S]) redact(b *event.Redacted) {
	if b.Clean {
		return
	}
	if o.hidden == nil {
		o.hidden = make(map[int64]bool)
	}
	o.hidden[b.Target] = true
}

// ask applies an event to the questions.
func (o *Outline[T, S]) ask(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.Asked:
		if o.asked == nil {
			o.asked = make(map[string]*event.Asked)
		}
		o.asked[b.Token] = b
		o.questions = append(o.questions, event.Question{Asked: *b, Step: e.Step, Scope: e.Scope})
	case *event.Answered:
		o.questions = slices.DeleteFunc(o.questions, func(q event.Question) bool { return q.Token == b.Token })
	case *event.ScopeClosed:
		o.questions = slices.DeleteFunc(o.questions, func(q event.Question) bool { return q.Scope == b.ID })
	case *event.StepEnded:
		if b.Result != nil {
			o.questions = slices.DeleteFunc(o.questions, func(q event.Question) bool { return q.Step == e.Step })
		}
	case *event.RunEnded:
		o.questions = nil
	}
}

// begin applies the begin of an attempt of a step; s is the step if it is open.
func (o *Outline[T, S]) begin(t *Thread[T], s *Step[T, S], id string, b *event.StepBegun) *Step[T, S] {
	if s == nil {
		s = &Step[T, S]{Thread: t, ID: id}
		if o.steps == nil {
			o.steps = make(map[string]*Step[T, S])
		}
		o.steps[id] = s
	}
	s.Begun = b
	switch b.Step {
	case event.StepModel:
		t.Model, t.pieces = ModelOf(b), nil
	case event.StepCompaction:
		t.Summary = ModelOf(b)
	case event.StepTool:
		s.Asked = t.Asked(id, b.Call)
	}
	return s
}

func (o *Outline[T, S]) open(b *event.ScopeOpened) *Thread[T] {
	parent := o.Thread(b.Parent)
	if b.ID == "" || parent == nil {
		return nil
	}
	t := &Thread[T]{ID: b.ID, Parent: parent, Agent: b.Agent, Depth: b.Depth, Call: b.Call, Task: b.Task, Background: b.Background}
	if t.Call == "" {
		t.Call = parent.Call
	}
	if o.threads == nil {
		o.threads = make(map[string]*Thread[T])
	}
	o.threads[b.ID] = t
	return t
}

func (t *Thread[T]) answer(seq int64, b *event.AssistantMessage) {
	for _, c := range event.CallsOf(b.Content) {
		t.pieces = append(t.pieces, AskedCall{c, seq})
	}
	if t.asked = t.pieces; !b.Piece { // the tools of the first pieces may run already
		t.pieces = nil
	}
}

// Calls returns the calls of the newest answer, or of its pieces so far. The list is valid until the next event.
func (t *Thread[T]) Calls() []AskedCall { return t.asked }

// Asked returns a call of the newest answer, by the number at the end of its step or else by its id, which is unique
// within an answer. ToolCall is nil if there is no such call.
func (t *Thread[T]) Asked(step, id string) AskedCall {
	if i := strings.LastIndexByte(step, '.'); i >= 0 {
		if n, err := strconv.Atoi(step[i+1:]); err == nil && n >= 0 && n < len(t.asked) && t.asked[n].ID == id {
			return t.asked[n]
		}
	}
	for _, a := range t.asked {
		if a.ID == id {
			return a
		}
	}
	return AskedCall{}
}

// ModelOf returns the name in the settings of the model that a step calls. A hook may have replaced the agent's model.
func ModelOf(b *event.StepBegun) string {
	if b.Runs != "" {
		return b.Runs
	}
	return b.Model
}
