package fold

import (
	"iter"
	"maps"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// Outline is the fold of a run for who shows it: the agents at work, the steps that they run, and what they were asked. It
// keeps no transcript, and it may begin in the middle of a run. T is what a view keeps for each thread, S what it keeps
// for each step. The zero value is ready. It is not safe for concurrent use.
type Outline[T, S any] struct {
	run     string
	root    Thread[T]
	threads map[string]*Thread[T]
	steps   map[string]*Step[T, S]
	// hidden are the events of which nothing may be shown.
	hidden map[int64]bool
}

// Thread is one agent at work: the root's, or that of one that is used as a tool.
type Thread[T any] struct {
	// Own is the view's.
	Own T
	// ID is the scope's; empty for the root. Parent is nil for the root.
	ID     string
	Parent *Thread[T]
	Agent  string
	// Depth is how many agents stand above it, as the log says.
	Depth int
	// Closed says that the agent has ended. Guardrails may still take something out of what it said.
	Closed bool
	// Call is the tool call that the agent works for; empty for the root. A scope without a call of its own works for its
	// parent's.
	Call string
	// Model is the model that is asked now, or the last one that gave no answer. Summary is the last one that was asked for
	// a summary.
	Model, Summary string

	// asked are the calls of the newest answer, and pieces those of one that is not whole.
	asked, pieces []AskedCall
}

// AskedCall is a call that a model asks for, and the Seq of the event that says so.
type AskedCall struct {
	*event.ToolCall
	Seq int64
}

// Step is a step that is not over. A tool call is not over before it has a result: it may ask, or be repeated.
type Step[T, S any] struct {
	// Own is the view's.
	Own S
	// Thread runs the step.
	Thread *Thread[T]
	// ID is the step's name. Begun is how its newest attempt began, Asked the call that it makes; its ToolCall is nil
	// where the log does not show the answer with the call.
	ID    string
	Begun *event.StepBegun
	Asked AskedCall
}

// Place is what an event is about.
type Place[T, S any] struct {
	// Thread is the event's; nil for one that is not known.
	Thread *Thread[T]
	// Step is the event's step: also the one that it begins or ends. It is nil where there is none, or where its beginning
	// is not known.
	Step *Step[T, S]
	// Opened and Closed are the thread that the event opens or closes.
	Opened, Closed *Thread[T]
}

// Begin begins the outline of a run. [Outline.Add] does so by itself at the first event of another run.
func (o *Outline[T, S]) Begin(run string) { *o = Outline[T, S]{run: run} }

// Add takes in an event, in the order of the log, and says what it is about. The event of another run begins a new outline.
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

// Thread finds the thread of a scope; nil if it is not known.
func (o *Outline[T, S]) Thread(scope string) *Thread[T] {
	if scope == "" {
		return &o.root
	}
	return o.threads[scope]
}

// Threads gives the open threads in no order, the root's too.
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

// Join adds the thread of a scope whose beginning is not known, as one that works for the root.
func (o *Outline[T, S]) Join(scope, agent string) *Thread[T] {
	return o.open(&event.ScopeOpened{ID: scope, Agent: agent})
}

// Step finds a step that is not over; nil if it is not known.
func (o *Outline[T, S]) Step(id string) *Step[T, S] { return o.steps[id] }

// JoinStep adds a step whose beginning is not known, in place of one of the same name.
func (o *Outline[T, S]) JoinStep(t *Thread[T], id string, b *event.StepBegun) *Step[T, S] {
	return o.begin(t, nil, id, b)
}

// Open gives the steps that are not over, in no order.
func (o *Outline[T, S]) Open() iter.Seq[*Step[T, S]] { return maps.Values(o.steps) }

// Hidden reports whether nothing of what an event says may be shown.
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

// begin takes in that an attempt of a step begins; s is the step if it is open.
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
	t := &Thread[T]{ID: b.ID, Parent: parent, Agent: b.Agent, Depth: b.Depth, Call: b.Call}
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

// Asked finds a call of the newest answer: by the number at the end of its step, or else by its id, which is its own within
// an answer. Its ToolCall is nil if there is none.
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

// ModelOf is the name of the model that a step asks, as users write it: the one that a hook has put in place of the agent's.
func ModelOf(b *event.StepBegun) string {
	if b.Runs != "" {
		return b.Runs
	}
	return b.Model
}
