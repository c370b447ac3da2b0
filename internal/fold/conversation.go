package fold

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/model"
)

// Conversation is the fold of one conversation's log: all that decisions about the open run and requests to its models
// need. It advances one event at a time. Only its State is safe for concurrent use.
//
// A driver may fold events before it commits them. If the commit fails, the driver folds the log again.
type Conversation struct {
	// Last is the Seq of the newest event.
	Last int64
	// Turn is the number of the newest run.
	Turn int
	// Session is the number of the newest run's session.
	Session int
	// Past is the root transcript of this session's ended runs.
	Past Transcript
	// gauge is the size of Past.
	gauge gauge
	// base is Past before the newest run, or before the failed run that it continues.
	base Transcript
	// baseGauge is the size of base.
	baseGauge gauge
	// Begin is the Seq of the session's first event; 0 if unknown.
	Begin int64
	// State is the folded state of the conversation and of its newest run.
	State *State
	// Run is the newest run, open or ended; nil if the log shows none.
	Run *Run
	// Setups holds each agent's last recorded setup by the agent's name.
	Setups map[string]*model.Setup
	// Found are the tools that root agents' models found in this session.
	Found []string
	// Mail maps the id of each inbox message in the log to the run that took it.
	Mail map[string]string
	// Partial reports whether only the end of the log was folded, so that Mail may miss messages.
	Partial bool
	// Spent is what the ended runs used.
	Spent event.Spent
	// SpentKnown reports whether Spent is complete. If only the end of a log was folded, a run there must record the
	// earlier usage.
	SpentKnown bool
	// Hidden holds the events that the transcript does not show unchanged.
	Hidden Hidden
	// Stale reports whether a compaction or a redaction changed earlier events and could not be applied in place. The
	// log must be folded again before the next decision.
	Stale bool
	// anew is set while FromTail folds a log, whose compactions it already knows.
	anew bool
}

// Run is the part of the fold that belongs to the newest run.
type Run struct {
	// ID, Agent, Labels and Started are the run's own, from its first event.
	ID      string
	Agent   string
	Labels  map[string]string
	Started time.Time
	// First is the Seq of the run's first event.
	First int64
	// Inputs counts the messages of the run's input in the log.
	Inputs int32
	// Rounds counts the messages with which hooks continued the run.
	Rounds int32
	// Scopes are the run's scopes in the order in which they were opened, beginning with the root.
	Scopes []*Scope
	byID   map[string]*Scope
	// Usage sums what the model calls used.
	Usage event.Usage
	// Models splits usage and cost by model, sorted by name.
	Models []modelSum
	// Metrics counts what the run did; its Duration is not set.
	Metrics event.Metrics
	// LastMessage is the root scope's last complete answer.
	LastMessage event.Message
	// Questions are all questions of the run, in order.
	Questions []*Ask
	// Active is the time in which steps ran.
	Active time.Duration
	// At is the time of the last event.
	At time.Time
	// flying counts the steps that ran at that time.
	flying int
	// Effects are the ends of the tool calls that had or may have had an effect.
	Effects []effect
	// left holds other lasting changes, which stay even if the run fails; nil for none.
	left *leftovers
	// Ended is the run's last event; nil while it is open.
	Ended *event.RunEnded
	// continues reports whether the run took over the work of a failed run.
	continues bool
}

// leftovers holds a run's lasting changes besides effects of its own tool calls.
type leftovers struct {
	// changed are the keys of the state that the run's tools set or deleted.
	changed []string
	// saved are the names of the artifacts that the run's tools saved.
	saved []string
	// doubts are the tool calls of sub-agents that may or may not have happened.
	doubts []effect
}

// effect is the end of the tool call of a step.
type effect struct {
	Step  string
	Ended *event.StepEnded
}

// Ask is a question of the run, with its answer if there is one.
type Ask struct {
	event.Asked
	// Step is the call that asked; empty for a hook before a step.
	Step string
	// Scope is the scope in which the question was asked.
	Scope string
	// Answered reports whether the question has an answer.
	Answered bool
	// Value is the answer.
	Value json.RawMessage
	// By is the author of the answer.
	By string
}

// Tail is the part of a log that its fold needs: the end.
type Tail struct {
	// First is the Seq of the first of Events, Last that of the last; where there are none, First is Last plus one.
	First, Last int64
	Events      []*event.Event
	// Session is the number of the session that First belongs to; 0 if unknown.
	Session int
	// Begin is the Seq of that session's first event; 0 if unknown.
	Begin int64
	// State is the conversation's own state, either before Events or after them; nil if First is 1.
	State map[string]json.RawMessage
}

// New folds a whole log.
func New(events []*event.Event) *Conversation {
	return FromTail(&Tail{First: 1, Events: events}, false)
}

// FromTail folds the end of a log. Compactions and redactions apply to earlier events, so FromTail first reads all
// events for them. Summaries of events before the tail come first in the transcript. A traced fold records which
// events its messages come from.
func FromTail(t *Tail, traced bool) *Conversation {
	v := &Conversation{State: newState(t.State), Last: t.Last, SpentKnown: t.First <= 1, Partial: t.First > 1}
	v.Past.Traced = traced
	v.State.dated = t.First <= 1
	begin, session := t.Begin, t.Session
	if t.First > 1 {
		v.Session = t.Session
	} else {
		session = 0
	}
	for _, e := range t.Events {
		v.Hidden.Note(e)
		if b, ok := e.Body.(*event.RunStarted); ok && b.Session > session {
			session, begin = b.Session, e.Seq
		}
	}
	v.Hidden.Settle(begin)
	v.Begin = begin
	if t.First > 1 {
		for i := range v.Hidden.ranges {
			if h := &v.Hidden.ranges[i]; h.Scope == "" && h.From < t.First && !h.shown {
				h.shown = true
				v.Past.summary(h.summary)
			}
		}
	}
	v.anew = true
	for _, e := range t.Events {
		v.Add(e)
	}
	v.Stale, v.anew = false, false
	return v
}

// Open reports whether the newest run has not ended.
func (v *Conversation) Open() bool { return v.Run != nil && v.Run.Ended == nil }

// Unanswered reports whether the session's last message is the user's.
func (v *Conversation) Unanswered() bool {
	n := len(v.Past.Messages)
	return n > 0 && v.Past.Messages[n-1].Role == event.RoleUser
}

// Scope returns an open or closed scope of the run; nil if there is none.
func (r *Run) Scope(id string) *Scope {
	if r == nil {
		return nil
	}
	if id == "" {
		return r.Scopes[0]
	}
	return r.byID[id]
}

// Add advances the fold by one event. It ignores events that do not fit, such as a result without a call or an event
// of an unknown scope: a log that another version wrote must still open.
func (v *Conversation) Add(e *event.Event) {
	if e.Seq > v.Last {
		v.Last = e.Seq
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		v.startRun(e, b)
		return
	case *event.StateChanged:
		v.State.apply(e.Seq, b)
		if v.Run != nil {
			v.Run.change(b)
		}
		return
	case *event.Compacted:
		v.Stale = v.Stale || !v.shorten(e, b)
		v.compacted(e)
		return
	case *event.Redacted:
		v.redact(e, b)
		return
	}
	r := v.Run
	if r == nil {
		return
	}
	r.tick(e)
	if len(v.Hidden.ranges) > 0 {
		if s := r.Scope(e.Scope); s != nil {
			v.Hidden.summaries(e, s.Transcript.summary)
		}
	}
	switch b := e.Body.(type) {
	case *event.ScopeOpened:
		r.open(e, b, v)
		return
	case *event.RunEnded:
		hidden := v.Hidden.has(e)
		if hidden {
			r.Effects, r.left = nil, nil // the summary covers them
		}
		v.endRun(e.Seq, b, hidden)
		return
	case *event.Answered:
		r.answer(b)
		return
	case *event.ArtifactSaved:
		r.leave().saved = append(r.leave().saved, b.Name)
		return
	}
	s := r.Scope(e.Scope)
	if s == nil {
		return
	}
	switch b := e.Body.(type) {
	case *event.UserMessage:
		v.user(s, e, b)
	case *event.AssistantMessage:
		r.assistant(s, e, b, v)
	case *event.StepBegun:
		r.begin(s, e, b)
	case *event.StepEnded:
		r.end(s, e, b, v)
	case *event.Setup:
		v.setup(s, e, b)
	case *event.Asked:
		r.ask(s, e, b)
	case *event.ScopeClosed:
		if c := r.Scope(b.ID); c != nil {
			c.Closed = v.closed(e, b)
		}
	case *event.Transferred:
		s.Agent, s.LastModel = b.To, ""
	}
}

// user applies a message of a user, of a hook, or of the loop itself.
func (v *Conversation) user(s *Scope, e *event.Event, b *event.UserMessage) {
	opens := false
	switch {
	case b.Why == event.WhyRepeats:
		s.countRepeats().Told = true
	case b.Why != "":
	case b.Mail == "" && e.Author == s.Agent:
		v.Run.Rounds++ // a hook let the run go on
	case b.Mail == "":
		v.Run.Inputs++
		opens = true
	default:
		if v.Mail == nil {
			v.Mail = make(map[string]string)
		}
		v.Mail[b.Mail] = e.Run
	}
	whole := v.Hidden.content(e, b.Content)
	if v.Hidden.cuts(e) {
		whole = cutResults(whole)
	}
	content := s.takeResults(e.Seq, whole)
	s.Batch.Direct = false
	hide := v.Hidden.has(e)
	if !hide {
		s.Transcript.user(content)
		s.Transcript.traceUser(content, e.Seq, opens)
	}
	if b.Why != "" {
		s.Fresh = b.Why
		return
	}
	s.Repeats.forget()
	s.Children = nil
	s.hear(e.Seq)
	s.Answer.spoke = s.Answer.spoke && s.Cycle > 0 // an answer before the first call belongs to an imported history
	if !hide {
		s.Newest.Content, s.Newest.Whole = content, len(content) == len(b.Content) || v.Hidden.Redacted[e.Seq] != nil
	}
	s.Fresh = event.WhyInput
	if b.Mail != "" {
		s.Fresh = event.WhyMessage
	}
}

func (v *Conversation) startRun(e *event.Event, b *event.RunStarted) {
	if v.Open() {
		// The previous run never ended: its driver is gone, and another run began.
		v.endRun(e.Seq, &event.RunEnded{Status: event.RunCancelled, Why: event.WhyCancelled}, false)
	}
	if b.Session > v.Session {
		v.Session = b.Session
		v.Past = Transcript{Traced: v.Past.Traced}
		v.gauge, v.Begin, v.Found, v.Setups = gauge{}, e.Seq, nil, nil
	}
	old := v.continued(b)
	if old == nil {
		v.base, v.baseGauge = v.Past, v.gauge
	} else {
		v.Past, v.gauge = v.base, v.baseGauge
		v.Past.rewind()
	}
	if b.Spent != nil {
		v.Spent, v.SpentKnown = *b.Spent, true
	}
	v.Turn = max(v.Turn, b.Turn)
	v.State.newRun()
	if b.Found != nil {
		v.Found = slices.Clip(b.Found)
	}
	root := &Scope{Agent: b.Agent, Transcript: v.Past.branch(), gauge: v.gauge, Tools: ScopeTools{Names: b.Tools, Found: v.Found}}
	if n := len(root.Transcript.Messages); n > 0 && root.Transcript.Messages[n-1].Role == event.RoleUser {
		root.Fresh = event.WhyInput
	}
	v.Run = &Run{ID: e.Run, Agent: b.Agent, Labels: b.Metadata, Started: e.Time, At: e.Time, First: e.Seq, Scopes: []*Scope{root}}
	if old != nil {
		v.Run.takeOver(old)
	}
}

// endRun ends the newest run and updates the transcript for the next one. A completed run leaves all its messages, a
// run that was cut short its complete messages. A failed run whose end does not set Keep leaves only a note about its
// tools' effects.
//
// hidden reports whether a summary replaces the event and the notes on it.
func (v *Conversation) endRun(seq int64, b *event.RunEnded, hidden bool) {
	r := v.Run
	r.Ended = b
	root := r.Scopes[0]
	v.Spent = v.Spent.Add(root.Totals.Spent)
	v.Spent.Active += r.Active
	if b.Status == event.RunFailed && b.Keep {
		root.closeBatch()
		v.Past, v.gauge = root.Transcript, root.gauge
		if root.Newest.Seq > 0 && !hidden {
			v.Past.note(failedNote, seq)
		}
		if r.left != nil && len(r.left.doubts) > 0 {
			v.Past.note(doubtNote(r.left.doubts, "failed"), seq)
		}
		return
	}
	if b.Status == event.RunFailed {
		v.Past.rewind()
		for i := range v.Hidden.ranges {
			if h := &v.Hidden.ranges[i]; h.shown && h.From >= r.First && h.Scope == "" {
				v.Past.summary(h.summary)
			}
		}
		if note := failureNote(r); note != "" {
			v.Past.note(note, seq)
		}
		return
	}
	root.closeBatch()
	v.Past, v.gauge = root.Transcript, root.gauge
	switch {
	case hidden:
	case b.Why == event.WhyCancelled:
		v.interrupted(root, b, seq)
	case b.Why == event.WhyDeadline:
		v.outOfTime(b, seq)
	}
	if b.Status == event.RunCancelled && r.left != nil && len(r.left.doubts) > 0 {
		// The calls' own agents were stopped before they saw the outcome.
		v.Past.note(doubtNote(r.left.doubts, "was cancelled"), seq)
	}
}

func (r *Run) open(e *event.Event, b *event.ScopeOpened, v *Conversation) {
	if b.ID == "" || r.byID[b.ID] != nil {
		return
	}
	parent := r.Scope(b.Parent)
	if parent == nil {
		return
	}
	s := &Scope{ID: b.ID, Parent: parent, Agent: b.Agent, Depth: b.Depth, Fresh: event.WhyInput}
	s.Newest = Said{Seq: e.Seq, Content: v.Hidden.content(e, b.Input), Whole: true}
	s.Transcript.Traced = v.Past.Traced
	s.Transcript.user(s.Newest.Content)
	s.Transcript.trace(UnitInput, s.Newest.Content, e.Seq)
	if b.Call == "" {
		s.Node = b.Node
		parent.Children, parent.Opened = append(parent.Children, s), parent.Opened+1
	} else if c := parent.CallByID(b.Call); c != nil {
		s.Opener = c
		c.Child = s
	}
	if r.byID == nil {
		r.byID = make(map[string]*Scope)
	}
	r.byID[b.ID] = s
	r.Scopes = append(r.Scopes, s)
	for p := parent; p != nil; p = p.Parent {
		p.Totals.Spent.Scopes++
	}
}

// closed returns how a scope ended, with redacted output replaced.
func (v *Conversation) closed(e *event.Event, b *event.ScopeClosed) *event.ScopeClosed {
	instead, redacted := v.Hidden.Redacted[e.Seq]
	if !redacted {
		return b
	}
	shown := *b
	shown.Output = instead
	return &shown
}

func (r *Run) assistant(s *Scope, e *event.Event, b *event.AssistantMessage, v *Conversation) {
	if b.Piece {
		s.Answer.Pieces = append(s.Answer.Pieces, b.Content...)
		return
	}
	content := b.Content
	if s.Answer.Pieces != nil {
		content = joinBlocks(s.Answer.Pieces, content)
		s.Answer.Pieces = nil
	}
	switch {
	case e.Step == "" && s.Depth == 0:
		r.Inputs++
	case e.Step != "":
		name := s.Model.Name
		if name == "" {
			name = b.Model
		}
		r.count(s, name, b.Usage, b.CostNanoUSD, b.Estimated)
		r.Metrics.ModelTime += b.Latency
		if r.Metrics.TimeToFirstByte == 0 {
			r.Metrics.TimeToFirstByte = b.TimeToFirstByte
		}
	}
	s.Model = ModelCall{}
	s.Before = nil
	if s.Compaction().State != ModelIdle {
		s.changeCompaction().State = ModelIdle // the answer came without it
	}
	s.Fresh = ""
	s.Answer.Stop = b.Stop
	s.closeBatch()
	s.Batch.last, s.Newest.before = nil, nil
	s.Answer.spoke = true
	if e.Step != "" {
		s.Fresh = "" // even if a hook answered calls that the program itself requested
	}
	if s.Depth == 0 {
		r.LastMessage = event.Message{Role: event.RoleAssistant, Content: content}
	}
	hide := v.Hidden.has(e)
	s.Answer.Words, s.Answer.Hooked = v.Hidden.content(e, content), b.Hook
	calls := CountCalls(content)
	if calls == 0 {
		if !hide {
			content = v.Hidden.content(e, content)
			s.Transcript.assistant(content)
			s.Transcript.traceAnswer(content, e.Seq, b.Stop == event.StopPause)
		}
		s.gauge.count(b.Usage, content, len(s.Transcript.Messages))
		if b.Stop == event.StopPause {
			s.Fresh = event.WhyPaused
		}
		return
	}
	s.Batch.Asking, s.Batch.askedAt = v.Hidden.callContent(e, content), e.Seq
	if hide {
		s.Batch.Asking = nil
	}
	s.gauge.count(b.Usage, content, len(s.Transcript.Messages)+1)
	s.Batch.Settled = 0
	s.Batch.EndTurn, s.Batch.Returned, s.Batch.Answer = false, nil, nil
	s.Batch.Direct = e.Step == ""
	slab := make([]Call, calls)
	s.Batch.Calls = make([]*Call, 0, calls)
	for _, b := range content {
		if c, ok := b.(*event.ToolCall); ok {
			i := len(s.Batch.Calls)
			slab[i] = Call{ToolCall: c, Index: i, Step: StepName(s.ID, 't', s.Cycle, i)}
			s.Batch.Calls = append(s.Batch.Calls, &slab[i])
		}
	}
	if e.Step != "" {
		// The calls of an imported history are not this run's.
		s.Totals.ToolCalls += calls
		for p := s; p != nil; p = p.Parent {
			p.Totals.Spent.ToolCalls += calls
		}
	}
}

// CountCalls counts the tool calls among the blocks of a message.
func CountCalls(blocks []event.Block) int {
	n := 0
	for _, b := range blocks {
		if _, ok := b.(*event.ToolCall); ok {
			n++
		}
	}
	return n
}

// change records the keys of the state that the run has changed.
func (r *Run) change(b *event.StateChanged) {
	l := r.leave()
	for k := range b.Set {
		if !strings.HasPrefix(k, userdata.Reserved) {
			l.changed = append(l.changed, k)
		}
	}
	l.changed = append(l.changed, b.Delete...)
}

// leave returns the run's leftovers for writing.
func (r *Run) leave() *leftovers {
	if r.left == nil {
		r.left = &leftovers{}
	}
	return r.left
}

// tick adds to the time in which steps ran. It adds only at events that drivers write while they run steps, so that
// the time without a driver does not count.
func (r *Run) tick(e *event.Event) {
	begins := 0
	counts := true
	switch b := e.Body.(type) {
	case *event.StepBegun:
		counts = e.Attempt == 1
		begins = 1
	case *event.StepEnded:
		counts = b.Outcome != event.OutcomeLost && b.Outcome != event.OutcomeInDoubt
		begins = -1
	case *event.AssistantMessage:
		if e.Step != "" && !b.Piece {
			begins = -1
		}
	case *event.Asked:
		if e.Step != "" {
			begins = -1
		}
	case *event.ScopeOpened:
		if b.Call != "" {
			begins = -1 // the call waits for the scope, whose own steps count
		}
	case *event.RunEnded:
	default:
		counts = false
	}
	if dt := e.Time.Sub(r.At); counts && r.flying > 0 && dt > 0 {
		r.Active += dt
	}
	r.At = e.Time
	r.flying = max(0, r.flying+begins)
}

// These blocks replace results that cannot be shown.
var (
	interruptedResult = []event.Block{&event.Text{Text: "The tool call was interrupted before it gave a result."}}
	compactedResult   = []event.Block{&event.Text{Text: "[summarised]"}}
	RedactedContent   = []event.Block{&event.Text{Text: "[redacted]"}}
)
