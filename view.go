package braid

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// view is the fold of one conversation's log: everything that next and the
// transcript need, kept warm between runs and moved forward one event at a
// time. Only the driver that holds the lease touches it; tools never do.
//
// It may run ahead of the journal between a decision and its commit. When a
// commit fails the whole view is thrown away and folded anew.
type view struct {
	last    int64
	turn    int
	session int
	// past is the root transcript of the runs that have ended in this session, and
	// gauge how large it is.
	past  transcript
	gauge gauge
	// base and baseGauge are past and gauge as they were before the newest run, or before the failed run
	// that it continues.
	base      transcript
	baseGauge gauge
	// begin is the Seq of the session's first event, as far as it is known.
	begin int64
	state *stateBox
	run   *runView
	// setups are what the agents' last records of a setup say, by their names.
	setups map[string]*model.Setup
	// found are the tools that models have found in this session, as root agents.
	found []string
	// letters are the runs in which messages entered the log that came by mail, by
	// the letters' ids.
	letters map[string]string
	// tail says that it was folded from the end of the log, so that the store knows of letters
	// that it does not.
	tail bool
	// spent is what the runs that have ended used, as far as counted says that it is known:
	// of the end of a log it is only where a run of it says so.
	spent   event.Spent
	counted bool
	// hide says which events the transcript leaves out; see newView.
	hide hidden
	// stale is set when an event changed what earlier ones mean (a compaction
	// or a redaction) and that could not be made up for: the view must be folded anew
	// before it is used again. anew is set while that is done.
	stale bool
	anew  bool
}

// runView is the part of the fold that belongs to the open run.
type runView struct {
	id      string
	agent   string
	labels  map[string]string
	started time.Time
	// first is the Seq of the run's first event.
	first int64
	// inputs counts the messages of the run's input that the log has, rounds those with
	// which hooks let the run go on.
	inputs int32
	rounds int32
	scopes []*scope
	byID   map[string]*scope
	usage  event.Usage
	// models splits usage and cost by model, sorted by name.
	models  []modelSum
	metrics Metrics
	// lastMessage is the root scope's last whole answer.
	lastMessage event.Message
	questions   []*question
	// active is how long steps ran, at when the last event happened, and flying
	// how many steps ran then.
	active time.Duration
	at     time.Time
	flying int
	// effects are the ends of the tool calls that did something, or may have.
	effects []effect
	// left is what stays besides, also where the run fails; nil for nothing.
	left  *leftovers
	ended *event.RunEnded
	// continues says that it took over the work of a failed run.
	continues bool
}

// leftovers are the keys of the state that a run's tools set or deleted, and the
// names of the artifacts that they saved.
type leftovers struct {
	changed []string
	saved   []string
	// doubts are the tool calls of agents that worked for the root's, of which
	// nobody knows whether they happened.
	doubts []effect
}

// effect is the end of the tool call of a step.
type effect struct {
	Step  string
	Ended *event.StepEnded
}

// question is an open or answered question of the run.
type question struct {
	event.Asked
	step     string
	scope    string
	answered bool
	value    json.RawMessage
	by       string
}

// foldedTail is the end of a log, as far as a view needs it.
type foldedTail struct {
	// First is the Seq of the first of Events, Last that of the last; where there are none, First is Last plus one.
	First, Last int64
	Events      []*event.Event
	// Session is the number of the session that First is in, Begin the Seq of its first event; 0 where nobody knows.
	Session int
	Begin   int64
	// State is the conversation's own state before Events, or as Events leave it; nil where First is 1.
	State map[string]json.RawMessage
}

// newView folds a whole log.
func newView(events []*event.Event) *view {
	return newTailView(&foldedTail{First: 1, Events: events}, false)
}

// newTailView folds the end of a log. What is compacted or redacted is known only
// after the event, so the log is looked through once before it is folded. The
// summaries of what stands before the tail come first. A view that is traced knows where
// its messages come from.
func newTailView(t *foldedTail, traced bool) *view {
	v := &view{state: newState(t.State), last: t.Last, counted: t.First <= 1, tail: t.First > 1}
	v.past.traced = traced
	v.state.dated = t.First <= 1
	begin, session := t.Begin, t.Session
	if t.First > 1 {
		v.session = t.Session
	} else {
		session = 0
	}
	for _, e := range t.Events {
		v.hide.note(e)
		if b, ok := e.Body.(*event.RunStarted); ok && b.Session > session {
			session, begin = b.Session, e.Seq
		}
	}
	v.hide.settle(begin)
	v.begin = begin
	if t.First > 1 {
		for i := range v.hide.ranges {
			if h := &v.hide.ranges[i]; h.scope == "" && h.from < t.First && !h.shown {
				h.shown = true
				v.past.summary(h.summary)
			}
		}
	}
	v.anew = true
	for _, e := range t.Events {
		v.fold(e)
	}
	v.stale, v.anew = false, false
	return v
}

// open reports whether the last run is not over.
func (v *view) open() bool { return v.run != nil && v.run.ended == nil }

// unanswered reports whether the last word of the session was the user's.
func (v *view) unanswered() bool {
	n := len(v.past.msgs)
	return n > 0 && v.past.msgs[n-1].Role == event.RoleUser
}

// scope finds an open or closed scope of the current run; nil if there is none.
func (r *runView) scope(id string) *scope {
	if r == nil {
		return nil
	}
	if id == "" {
		return r.scopes[0]
	}
	return r.byID[id]
}

// fold moves the view forward by one event. Events that do not fit (a result
// without a call, a scope that was never opened) change nothing: a log that
// some other version wrote must still open.
func (v *view) fold(e *event.Event) {
	if e.Seq > v.last {
		v.last = e.Seq
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		v.startRun(e, b)
		return
	case *event.StateChanged:
		v.state.apply(e.Seq, b)
		if v.run != nil {
			v.run.change(b)
		}
		return
	case *event.Compacted:
		v.stale = v.stale || !v.shorten(e, b)
		v.compacted(e)
		return
	case *event.Redacted:
		v.redact(e, b)
		return
	}
	r := v.run
	if r == nil {
		return
	}
	r.tick(e)
	if len(v.hide.ranges) > 0 {
		if s := r.scope(e.Scope); s != nil {
			v.hide.summaries(e, s.talk.summary)
		}
	}
	switch b := e.Body.(type) {
	case *event.ScopeOpened:
		r.open(e, b, v)
		return
	case *event.RunEnded:
		hidden := v.hide.has(e)
		if hidden {
			r.effects, r.left = nil, nil // the summary tells of them
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
	s := r.scope(e.Scope)
	if s == nil {
		return
	}
	switch b := e.Body.(type) {
	case *event.UserMessage:
		switch {
		case b.Why == event.WhyRepeats:
			s.countRepeats().told = true
		case b.Why != "":
		case b.Mail == "" && e.Author == s.agent:
			r.rounds++ // a hook let the run go on
		case b.Mail == "":
			r.inputs++
		default:
			if v.letters == nil {
				v.letters = make(map[string]string)
			}
			v.letters[b.Mail] = e.Run
		}
		whole := v.hide.content(e, b.Content)
		if v.hide.cuts(e) {
			whole = cutResults(whole)
		}
		content := s.takeResults(e.Seq, whole)
		s.called = false
		hide := v.hide.has(e)
		if !hide {
			s.talk.user(content)
			s.talk.trace(unitUser, content, e.Seq)
		}
		if b.Why != "" {
			s.fresh = b.Why
			return
		}
		s.repeats.forget()
		s.hear(e.Seq)
		s.spoke = s.spoke && s.cycle > 0 // an answer before the first call is of a history
		if !hide {
			s.newest.content, s.newest.whole = content, len(content) == len(b.Content) || v.hide.redacted[e.Seq] != nil
		}
		s.fresh = event.WhyInput
		if b.Mail != "" {
			s.fresh = event.WhyMessage
		}
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
		if c := r.scope(b.ID); c != nil {
			c.closed = b
		}
	case *event.Transferred:
		s.agent, s.asks = b.To, ""
	}
}

func (v *view) startRun(e *event.Event, b *event.RunStarted) {
	if v.open() {
		// A run that never ended: its driver is gone and another run was let in.
		v.endRun(e.Seq, &event.RunEnded{Status: event.RunCancelled, Why: event.WhyCancelled}, false)
	}
	if b.Session > v.session {
		v.session = b.Session
		v.past = transcript{traced: v.past.traced}
		v.gauge, v.begin, v.found, v.setups = gauge{}, e.Seq, nil, nil
	}
	old := v.continued(b)
	if old == nil {
		v.base, v.baseGauge = v.past, v.gauge
	} else {
		v.past, v.gauge = v.base, v.baseGauge
		v.past.rewind()
	}
	if b.Spent != nil {
		v.spent, v.counted = *b.Spent, true
	}
	v.turn = max(v.turn, b.Turn)
	v.state.newRun()
	if b.Found != nil {
		v.found = slices.Clip(b.Found)
	}
	root := &scope{agent: b.Agent, talk: v.past.branch(), gauge: v.gauge, found: v.found, tools: b.Tools}
	if n := len(root.talk.msgs); n > 0 && root.talk.msgs[n-1].Role == event.RoleUser {
		root.fresh = event.WhyInput
	}
	v.run = &runView{id: e.Run, agent: b.Agent, labels: b.Metadata, started: e.Time, at: e.Time, first: e.Seq, scopes: []*scope{root}}
	if old != nil {
		v.run.takeOver(old)
	}
}

// endRun applies the table of what the next run sees (DESIGN section 9): all of a
// run that completed, and the whole messages of one that was cut short or failed. Of a failed one whose
// end does not say Keep it is only a note of what its tools did.
//
// hidden says that a summary stands for the event, and so for the notes on it.
func (v *view) endRun(seq int64, b *event.RunEnded, hidden bool) {
	r := v.run
	r.ended = b
	root := r.scopes[0]
	v.spent = v.spent.Add(root.spent)
	v.spent.Active += r.active
	if b.Status == event.RunFailed && b.Keep {
		root.closeBatch()
		v.past, v.gauge = root.talk, root.gauge
		if root.newest.seq > 0 && !hidden {
			v.past.note(failedNote, seq)
		}
		if r.left != nil && len(r.left.doubts) > 0 {
			v.past.note(doubtNote(r.left.doubts, "failed"), seq)
		}
		return
	}
	if b.Status == event.RunFailed {
		v.past.rewind()
		for i := range v.hide.ranges {
			if h := &v.hide.ranges[i]; h.shown && h.from >= r.first && h.scope == "" {
				v.past.summary(h.summary)
			}
		}
		if note := failureNote(r); note != "" {
			v.past.note(note, seq)
		}
		return
	}
	root.closeBatch()
	v.past, v.gauge = root.talk, root.gauge
	if b.Why == event.WhyCancelled && root.newest.seq > 0 && !root.spoke && !hidden {
		v.past.note(stoppedNote, seq)
	}
	if b.Status == event.RunCancelled && r.left != nil && len(r.left.doubts) > 0 {
		// Their own agents were stopped before they could be told.
		v.past.note(doubtNote(r.left.doubts, "was cancelled"), seq)
	}
}

func (r *runView) open(e *event.Event, b *event.ScopeOpened, v *view) {
	if b.ID == "" || r.byID[b.ID] != nil {
		return
	}
	parent := r.scope(b.Parent)
	if parent == nil {
		return
	}
	s := &scope{id: b.ID, parent: parent, agent: b.Agent, depth: b.Depth, fresh: event.WhyInput}
	s.newest = said{seq: e.Seq, content: v.hide.content(e, b.Input), whole: true}
	s.talk.traced = v.past.traced
	s.talk.user(s.newest.content)
	s.talk.trace(unitInput, s.newest.content, e.Seq)
	if c := parent.callByID(b.Call); c != nil {
		s.opener = c
		c.child = s
	}
	if r.byID == nil {
		r.byID = make(map[string]*scope)
	}
	r.byID[b.ID] = s
	r.scopes = append(r.scopes, s)
	for p := parent; p != nil; p = p.parent {
		p.spent.Scopes++
	}
}

func (r *runView) assistant(s *scope, e *event.Event, b *event.AssistantMessage, v *view) {
	if b.Piece {
		s.pieces = append(s.pieces, b.Content...)
		return
	}
	content := b.Content
	if s.pieces != nil {
		content = joinBlocks(s.pieces, content)
		s.pieces = nil
	}
	if e.Step == "" {
		r.inputs++
	} else {
		name := s.model.name
		if name == "" {
			name = b.Model
		}
		r.count(s, name, b.Usage, b.CostNanoUSD, b.Estimated)
		r.metrics.ModelTime += b.Latency
		if r.metrics.TimeToFirstByte == 0 {
			r.metrics.TimeToFirstByte = b.TimeToFirstByte
		}
	}
	s.model = modelStep{}
	s.before = nil
	if s.squeezed().state != modelIdle {
		s.squeezing().state = modelIdle // the answer came without it
	}
	s.fresh = ""
	s.stop = b.Stop
	s.closeBatch()
	s.last, s.newest.before = nil, nil
	s.spoke = true
	if e.Step != "" {
		s.fresh = "" // also where a hook answered calls that the program itself had asked for
	}
	if s.depth == 0 {
		r.lastMessage = event.Message{Role: event.RoleAssistant, Content: content}
	}
	hide := v.hide.has(e)
	s.words, s.hooked = v.hide.content(e, content), b.Hook
	calls := countCalls(content)
	if calls == 0 {
		if !hide {
			content = v.hide.content(e, content)
			s.talk.assistant(content)
			s.talk.traceAnswer(content, e.Seq, b.Stop == event.StopPause)
		}
		s.gauge.count(b.Usage, content, len(s.talk.msgs))
		if b.Stop == event.StopPause {
			s.fresh = event.WhyPaused
		}
		return
	}
	s.asking, s.askedAt = v.hide.callContent(e, content), e.Seq
	if hide {
		s.asking = nil
	}
	s.gauge.count(b.Usage, content, len(s.talk.msgs)+1)
	s.settled = 0
	s.endTurn, s.returns, s.answer = false, nil, nil
	s.called = e.Step == ""
	slab := make([]call, calls)
	s.batch = make([]*call, 0, calls)
	for _, b := range content {
		if c, ok := b.(*event.ToolCall); ok {
			i := len(s.batch)
			slab[i] = call{ToolCall: c, index: i, step: stepName(s.id, 't', s.cycle, i)}
			s.batch = append(s.batch, &slab[i])
		}
	}
	if e.Step != "" {
		// The calls of a history that was handed in are not this run's.
		s.toolCalls += calls
		for p := s; p != nil; p = p.parent {
			p.spent.ToolCalls += calls
		}
	}
}

func countCalls(blocks []event.Block) int {
	n := 0
	for _, b := range blocks {
		if _, ok := b.(*event.ToolCall); ok {
			n++
		}
	}
	return n
}

// change notes which keys of the state the run has touched.
func (r *runView) change(b *event.StateChanged) {
	l := r.leave()
	for k := range b.Set {
		if !strings.HasPrefix(k, reservedName) {
			l.changed = append(l.changed, k)
		}
	}
	l.changed = append(l.changed, b.Delete...)
}

// leave gives what the run has left so far, to add to it.
func (r *runView) leave() *leftovers {
	if r.left == nil {
		r.left = &leftovers{}
	}
	return r.left
}

// tick counts the time in which steps ran. It is told by the events that end
// steps, so that the time in which nobody drove the run is not counted.
func (r *runView) tick(e *event.Event) {
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
		begins = -1 // the call waits for the scope, whose own steps count
	case *event.RunEnded:
	default:
		counts = false
	}
	if dt := e.Time.Sub(r.at); counts && r.flying > 0 && dt > 0 {
		r.active += dt
	}
	r.at = e.Time
	r.flying = max(0, r.flying+begins)
}

// What stands in for results that cannot be shown.
var (
	interruptedResult = []event.Block{&event.Text{Text: "The tool call was interrupted before it gave a result."}}
	compactedResult   = []event.Block{&event.Text{Text: "[summarised]"}}
	redactedContent   = []event.Block{&event.Text{Text: "[redacted]"}}
)
