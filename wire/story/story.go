package story

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Story folds the events of a conversation for one stream. The zero value is ready and begins anywhere in a log.
type Story struct {
	// Run is the only run that is told; empty tells all of them.
	Run string

	outline  fold.Outline[Work, Answer]
	now      Run
	last     int64
	skipping bool
	item     Item
	// spare and call are for items about an answer or a call that is not kept.
	spare Answer
	call  event.ToolCall
}

// Add takes in the next event and returns what there is to tell of it. It returns nil for an event that is not for clients,
// that is another run's, or that was there before.
func (s *Story) Add(e *event.Event) *Item {
	if !e.Live() {
		if e.Seq > 0 && e.Seq <= s.last {
			return nil
		}
		s.last = max(s.last, e.Seq)
	}
	if s.Run != "" && e.Run != s.Run {
		return nil
	}
	if e.Run != s.now.ID {
		s.now = Run{ID: e.Run}
		s.outline.Begin(e.Run)
	}
	it := s.tell(e)
	if e.Audience != event.Everyone {
		return nil
	}
	return it
}

// Skip takes in an event that the reader has from an earlier stream, as Add does.
func (s *Story) Skip(e *event.Event) *Item {
	s.skipping = true
	it := s.Add(e)
	s.skipping, s.now.Usage = false, nil
	return it
}

// SkipTo says that the reader has everything up to a durable event, in a stream that begins where no run is under way.
func (s *Story) SkipTo(seq int64) { s.last = max(s.last, seq) }

// Last is the Seq of the last durable event that was taken in.
func (s *Story) Last() int64 { return s.last }

// Now is the run that the last event was about.
func (s *Story) Now() *Run { return &s.now }

// Snapshot takes in what a step in flight has said so far. It returns nil if that is not for clients, or another run's.
func (s *Story) Snapshot(in *event.Snapshot) *Item {
	if in.Audience != event.Everyone || s.Run != "" && in.Run != s.Run {
		return nil
	}
	agent := s.agent(&in.Header)
	s.item = Item{Snapshot: in, Run: &s.now, Agent: agent, Last: s.last}
	if in.Kind != event.StepModel {
		return &s.item
	}
	step := s.model(in.Step, in.Attempt)
	if step == nil {
		step = s.join(agent, &in.Header)
	}
	s.item.Step, s.item.Answer = step, &step.Own
	if in.Truncated {
		step.Own.Lost, step.Own.Replaced = true, false
	}
	return &s.item
}

// tell makes the item of an event.
func (s *Story) tell(e *event.Event) *Item {
	switch b := e.Body.(type) {
	case *event.ScopeOpened:
		s.agent(&event.Header{Scope: b.Parent})
	case *event.AssistantMessage:
		if agent := s.agent(&e.Header); b.Piece && e.Step != "" && s.model(e.Step, e.Attempt) == nil {
			s.join(agent, &e.Header)
		}
	default:
		s.agent(&e.Header)
	}
	at := s.outline.Add(e)
	s.now.Open = s.outline.Questions()
	s.item = Item{Event: e, Run: &s.now, Agent: at.Thread, Step: at.Step, Opened: at.Opened, Closed: at.Closed, Last: s.last}
	it := &s.item
	if it.Opened != nil {
		it.Opened.Own.Opened = e.Time
	}
	if it.Agent == nil { // a scope is opened inside one that is not known
		it.Agent = s.agent(&e.Header)
	}
	if at.Step != nil && at.Step.Begun.Step == event.StepModel && at.Step.Own.Attempt == e.Attempt {
		it.Answer = &at.Step.Own
	}
	switch b := e.Body.(type) {
	case *event.ScopeOpened:
		if it.Opened != nil {
			it.Opened.Own.Node = b.Call == "" && !b.Task && !b.Background
		}
	case *event.RunStarted:
		s.now = Run{ID: e.Run, Turn: b.Turn, Session: b.Session, Simulated: e.Simulated, Open: s.now.Open}
	case *event.StepBegun:
		s.now.stepped = true
		at.Step.Own = Answer{Attempt: e.Attempt, Whole: !s.skipping}
		if b.Step == event.StepModel {
			it.Answer = &at.Step.Own
		}
	case *event.AnswerReplaced:
		if it.Answer != nil {
			it.Answer.Replaced = true
		}
	case *event.AssistantMessage:
		s.message(it, b)
	case *event.ToolProgress:
		it.Call = s.callOf(it, b.Call, b.Tool, nil)
	case *event.StepEnded:
		s.ended(it, b)
	case *event.Asked:
		it.Call = s.callOf(it, b.Call, b.Tool, b)
	case *event.Redacted:
		s.redacted(b)
	case *event.RunEnded:
		s.now.End, it.Ends = b, s.Run != ""
	}
	return it
}

// agent finds the agent that a header names. One that is not known works for the root.
func (s *Story) agent(h *event.Header) *Agent {
	if a := s.outline.Thread(h.Scope); a != nil {
		return a
	}
	return s.outline.Join(h.Scope, h.Author)
}

// model finds a model's step in flight by its name and attempt; nil if there is none.
func (s *Story) model(name string, attempt int) *Step {
	step := s.outline.Step(name)
	if step == nil || step.Begun.Step != event.StepModel || step.Own.Attempt != attempt {
		return nil
	}
	return step
}

// join adds a model's step whose beginning the stream did not see.
func (s *Story) join(agent *Agent, h *event.Header) *Step {
	step := s.outline.JoinStep(agent, h.Step, &event.StepBegun{Step: event.StepModel})
	step.Own = Answer{Attempt: h.Attempt}
	return step
}

// message takes in an answer, or a piece of one.
func (s *Story) message(it *Item, b *event.AssistantMessage) {
	e := it.Event
	if it.Answer == nil {
		s.spare = Answer{Attempt: e.Attempt}
		it.Answer = &s.spare
	}
	if a := it.Answer; len(a.Content) == 0 {
		a.Content = b.Content
	} else {
		a.Content = slices.Concat(a.Content, b.Content)
	}
	// Without a step it is history that was handed in with the run, or later an answer that no model gave.
	if e.Scope == "" && (e.Step != "" || s.now.stepped) && e.Audience == event.Everyone {
		text := it.Answer.Text()
		s.now.Answer, s.now.answered = text, e.Seq
		if text != "" {
			s.now.Said, s.now.saidAt = text, e.Seq
		}
	}
	if b.Piece {
		return
	}
	s.used(b.Model, b.Usage)
	it.Agent.Own.waits = true
	it.Results = results(it.Agent)
}

// ended takes in the end of a step.
func (s *Story) ended(it *Item, b *event.StepEnded) {
	switch {
	case b.Step == event.StepModel && it.Step != nil:
		s.used(it.Step.Begun.Model, b.Usage)
	case b.Step == event.StepModel:
		s.used("", b.Usage)
	case b.Result != nil:
		it.Call = s.callOf(it, b.Result.Call, b.Result.Name, nil)
		own := &it.Agent.Own
		if own.results == nil {
			own.results = make(map[string]*event.ToolResult)
		}
		own.results[b.Result.Call] = b.Result
		it.Results = results(it.Agent)
	}
}

// results returns the results of the newest answer's calls, once, when all of them are there.
func results(a *Agent) []*event.ToolResult {
	calls := a.Calls()
	if !a.Own.waits || len(calls) == 0 {
		return nil
	}
	for _, c := range calls {
		if a.Own.results[c.ID] == nil {
			return nil
		}
	}
	all := make([]*event.ToolResult, len(calls))
	for i, c := range calls {
		all[i] = a.Own.results[c.ID]
	}
	a.Own.waits = false
	clear(a.Own.results)
	return all
}

// callOf finds a call, or makes it of what an event says of it.
func (s *Story) callOf(it *Item, id, name string, asked *event.Asked) *event.ToolCall {
	var c *event.ToolCall
	if it.Step != nil {
		c = it.Step.Asked.ToolCall
	}
	if c == nil || c.ID != id {
		c = it.Agent.Asked(it.Event.Step, id).ToolCall
	}
	switch {
	case c == nil:
		s.call = event.ToolCall{ID: id, Name: name}
	case asked != nil && c.Args == nil:
		s.call = event.ToolCall{ID: c.ID, Name: c.Name}
	default:
		return c
	}
	if asked != nil {
		s.call.Args = asked.Args
	}
	return &s.call
}

// used counts what a model's call has used.
func (s *Story) used(model string, u event.Usage) {
	if s.skipping || u == (event.Usage{}) {
		return
	}
	i := slices.IndexFunc(s.now.Usage, func(m event.ModelUsage) bool { return m.Model == model })
	if i < 0 {
		i = len(s.now.Usage)
		s.now.Usage = append(s.now.Usage, event.ModelUsage{Model: model})
	}
	u.Total = max(u.Total, u.Input+u.Output)
	s.now.Usage[i].Usage = s.now.Usage[i].Usage.Add(u)
}

// redacted takes what is redacted out of the run's answers.
func (s *Story) redacted(b *event.Redacted) {
	if b.Clean || b.Target <= 0 {
		return
	}
	text := Replacement(b)
	if s.now.answered == b.Target {
		s.now.Answer = text
	}
	if s.now.saidAt == b.Target {
		s.now.Said = text
	}
}

// Replacement returns the text that is shown in place of what was redacted.
func Replacement(b *event.Redacted) string {
	if len(b.Replacement) == 0 {
		return "[redacted]"
	}
	return event.RawText(b.Replacement)
}
