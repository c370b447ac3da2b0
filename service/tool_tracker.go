package service

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// ToolTracker makes the rows of one conversation's ledger: it
// reads what each commit says of model calls and tool calls, and puts rows of usage and of
// tools beside the events ([journal.Batch]). A sub-agent is known by its scope, so that
// any number of them may be at work at once, and inside each other (seed 4's active
// sub-agents); what they use is their own, and the main agent's rows and theirs together
// are what the run says that it used, model by model.
//
// What a commit says depends on what stood before it. A tracker that has not seen that, because the
// process is new or another one has driven the run since, or because a commit was not
// answered, reads it from the log.
//
// Make it with [NewToolTracker] and pass its Fill to [braid.Conversation.BeforeCommit]. It is safe for concurrent use.
type ToolTracker struct {
	store journal.Store

	mu     sync.Mutex
	source func(agent, tool string) string
	// run is whose events the rest is of, up to Seq last; empty where nothing is known.
	run  string
	last int64
	// epoch is that of the lease of the last batch, newest the highest of all.
	epoch, newest int64
	main          trackedScope
	// scopes are the open ones but the main, by their ids, open the calls that are not over,
	// by their steps, and hidden the events of which nothing may be repeated.
	scopes map[string]*trackedScope
	open   map[string]*trackedCall
	hidden map[int64]bool
	// usage and tools are the rows of the batch that is being filled.
	usage []journal.UsageEntry
	tools []journal.ToolEntry
}

// trackedScope is an agent's thread of work.
type trackedScope struct {
	// call is the tool_use_id that opened it, agent its subagent_type; both empty for the main one.
	call, agent string
	// model is the one that is asked now, summary the one that is to sum up.
	model, summary string
	// asks are the calls of its last answer, and pieces what there is of one that is not whole.
	asks, pieces []askedCall
}

// askedCall is a call that an answer asks for.
type askedCall struct {
	*event.ToolCall
	seq int64
}

// trackedCall is a call that is not over. stands says that its row was written with its
// arguments by this tracker.
type trackedCall struct {
	asked  int64
	call   string
	name   string
	stands bool
}

// NewToolTracker makes a tracker that reads what it has not seen from store. source
// says where a tool of an agent comes from; nil says nothing.
func NewToolTracker(store journal.Store, source func(agent, tool string) string) *ToolTracker {
	return &ToolTracker{store: store, source: source}
}

// Fill adds the rows of a batch that is about to be committed under the lease.
func (t *ToolTracker) Fill(ctx context.Context, l journal.Lease, b *journal.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.know(ctx, l, b.Events[0]); err != nil {
		return err
	}
	t.usage, t.tools = nil, nil // the batch's own from here on
	for _, e := range b.Events {
		t.fold(e)
	}
	b.Usage, b.Tools = t.usage, t.tools
	if t.usage, t.tools = nil, nil; l.Epoch < t.newest {
		t.run = "" // the lease is void, and the batch will be refused
	}
	t.epoch, t.newest = l.Epoch, max(t.newest, l.Epoch)
	return nil
}

// know sees to it that what stands before the event is known.
func (t *ToolTracker) know(ctx context.Context, l journal.Lease, e *event.Event) error {
	if t.follows(l, e) {
		return nil
	}
	t.run, t.last, t.main = e.Run, e.Seq-1, trackedScope{}
	clear(t.scopes)
	clear(t.open)
	clear(t.hidden)
	if _, begins := e.Body.(*event.RunStarted); begins {
		return nil
	}
	t.run = "" // until it is
	before, err := t.store.Tail(ctx, e.Conversation)
	if err != nil {
		return err
	}
	for _, o := range before.Events {
		if o.Run == e.Run && o.Seq < e.Seq {
			t.fold(o)
		}
	}
	for _, c := range t.open {
		c.stands = false
	}
	t.run, t.last = e.Run, e.Seq-1
	return nil
}

// follows reports whether the event stands behind the last one that was folded. Nobody says whether a commit
// succeeded, but where the log goes on behind it under the same lease, or under the very next one, nobody else
// can have written in its place.
func (t *ToolTracker) follows(l journal.Lease, e *event.Event) bool {
	return t.run == e.Run && t.last == e.Seq-1 && (l.Epoch == t.epoch || l.Epoch == t.epoch+1)
}

// fold takes an event in, and makes rows of it.
func (t *ToolTracker) fold(e *event.Event) {
	t.last = e.Seq
	switch b := e.Body.(type) {
	case *event.StepBegun:
		t.begin(e, b)
	case *event.StepEnded:
		t.end(e, b)
	case *event.AssistantMessage:
		t.answer(e, b)
	case *event.Asked:
		if c := t.open[e.Step]; c != nil && e.Step != "" {
			row := t.row(e, c)
			row.Status = journal.ToolWaiting
		}
	case *event.ScopeOpened:
		t.openScope(b)
	case *event.ScopeClosed:
		delete(t.scopes, b.ID)
	case *event.Redacted:
		if !b.Clean {
			t.hide(b.Target)
		}
	case *event.RunEnded:
		for step, c := range t.open { // none: the loop closes what it opens
			ended := *e
			ended.Step = step
			t.row(&ended, c).Status = journal.ToolCancelled
		}
		t.run = ""
	}
}

func (t *ToolTracker) hide(seq int64) {
	if t.hidden == nil {
		t.hidden = make(map[int64]bool)
	}
	t.hidden[seq] = true
}

func (t *ToolTracker) scope(id string) *trackedScope {
	if s := t.scopes[id]; s != nil {
		return s
	}
	return &t.main
}

func (t *ToolTracker) openScope(b *event.ScopeOpened) {
	if b.ID == "" {
		return
	}
	s := &trackedScope{call: b.Call, agent: b.Agent}
	if s.call == "" {
		s.call = t.scope(b.Parent).call // a part of what another one works on
	}
	if t.scopes == nil {
		t.scopes = make(map[string]*trackedScope)
	}
	t.scopes[b.ID] = s
}

func (t *ToolTracker) begin(e *event.Event, b *event.StepBegun) {
	s := t.scope(e.Scope)
	name := b.Model
	if b.Runs != "" {
		name = b.Runs
	}
	switch b.Step {
	case event.StepModel:
		s.model, s.pieces = name, nil
	case event.StepCompaction:
		s.summary = name
	case event.StepTool:
		c := t.open[e.Step]
		if c == nil {
			c = &trackedCall{call: b.Call, name: b.Tool}
			if t.open == nil {
				t.open = make(map[string]*trackedCall)
			}
			t.open[e.Step] = c
		}
		call := s.asked(e.Step, b.Call)
		c.asked = call.seq
		row := t.row(e, c)
		row.Status = journal.ToolRunning
		switch {
		case t.hidden[c.asked]:
		case b.Args != nil:
			row.Input = b.Args
		case call.ToolCall != nil && !c.stands:
			row.Input = call.Args
		}
		c.stands = true
	}
}

// asked finds a call of the scope's last answer: by the number at the end of its step, or
// else by its id, which is its own within an answer.
func (s *trackedScope) asked(step, id string) askedCall {
	if i := strings.LastIndexByte(step, '.'); i >= 0 {
		if n, err := strconv.Atoi(step[i+1:]); err == nil && n >= 0 && n < len(s.asks) && s.asks[n].ID == id {
			return s.asks[n]
		}
	}
	for _, a := range s.asks {
		if a.ID == id {
			return a
		}
	}
	return askedCall{}
}

// row gives the commit's row of a call, with all that does not depend on how it stands. It is good
// until the next one is asked for.
func (t *ToolTracker) row(e *event.Event, c *trackedCall) *journal.ToolEntry {
	for i := range t.tools {
		if r := &t.tools[i]; r.Step == e.Step {
			r.Attempt = max(r.Attempt, e.Attempt)
			return r
		}
	}
	s := t.scope(e.Scope)
	r := journal.ToolEntry{
		Step: e.Step, Attempt: e.Attempt, Asked: c.asked, Call: c.call, Parent: s.call, Scope: e.Scope, Agent: s.agent,
		Name: c.name, Began: e.Time,
	}
	if t.source != nil {
		r.Source = t.source(e.Author, c.name)
	}
	t.tools = append(t.tools, r)
	return &t.tools[len(t.tools)-1]
}

func (t *ToolTracker) end(e *event.Event, b *event.StepEnded) {
	s := t.scope(e.Scope)
	switch b.Step {
	case event.StepModel:
		t.use(e, s, journal.UsageModel, s.model, charged{b.Usage, b.CostNanoUSD, b.Estimated}, b.Outcome)
		return
	case event.StepCompaction:
		t.use(e, s, journal.UsageCompaction, s.summary, charged{b.Usage, b.CostNanoUSD, b.Estimated}, b.Outcome)
		return
	case event.StepTool:
	default:
		return
	}
	c := t.open[e.Step]
	if b.Result == nil {
		if c != nil && !b.RetryAt.IsZero() {
			t.row(e, c).Status = journal.ToolWaiting
		}
		return
	}
	if c == nil { // it never began
		call := s.asked(e.Step, b.Result.Call)
		c = &trackedCall{asked: call.seq, call: b.Result.Call, name: b.Result.Name}
	}
	row := t.row(e, c)
	if !c.stands && !t.hidden[c.asked] {
		if call := s.asked(e.Step, c.call); call.ToolCall != nil {
			row.Input = call.Args
		}
	}
	row.End, row.Finished, row.IsError = e.Seq, e.Time, b.Result.IsError
	row.Output = briefly(b.Result)
	row.Status = statusOf(b)
	delete(t.open, e.Step)
}

// statusOf is where a call stands that has ended.
func statusOf(b *event.StepEnded) journal.ToolStatus {
	switch b.Outcome {
	case event.OutcomeCancelled:
		return journal.ToolCancelled
	case event.OutcomeInDoubt, event.OutcomeStraggler, event.OutcomeLost:
		return journal.ToolInDoubt
	case event.OutcomeFailed:
		return journal.ToolError
	}
	if b.Result.IsError {
		return journal.ToolError
	}
	return journal.ToolDone
}

func (t *ToolTracker) answer(e *event.Event, b *event.AssistantMessage) {
	s := t.scope(e.Scope)
	for _, c := range event.CallsOf(b.Content) {
		s.pieces = append(s.pieces, askedCall{c, e.Seq})
	}
	if b.Piece {
		s.asks = s.pieces // the tools of the first ones may run already
		return
	}
	s.asks, s.pieces = s.pieces, nil
	if e.Step == "" {
		return // what was handed in
	}
	name := s.model
	if name == "" {
		name = b.Model
	}
	s.model = ""
	t.use(e, s, journal.UsageModel, name, charged{b.Usage, b.CostNanoUSD, b.Estimated}, event.OutcomeDone)
}

// charged is what a call used and cost; nano is nil where no price is known.
type charged struct {
	usage     event.Usage
	nano      *int64
	estimated bool
}

// use makes a row of what a call used. As in the run's own sum, one that was refused, and so used
// and cost nothing, is left out.
func (t *ToolTracker) use(
	e *event.Event, s *trackedScope, kind journal.UsageKind, model string, c charged, how event.Outcome,
) {
	if c.usage == (event.Usage{}) && c.nano != nil && *c.nano == 0 {
		return
	}
	t.usage = append(t.usage, journal.UsageEntry{
		Tokens: journal.TokensOf(c.usage), Step: e.Step, Attempt: e.Attempt, Seq: e.Seq, Kind: kind, Scope: e.Scope, Call: s.call, Agent: s.agent,
		Model: model, CostNanoUSD: c.nano, Estimated: c.estimated, Status: how, Time: e.Time,
	})
}

// The bounds of what the tool log repeats of a result; the log of the conversation has all of it.
const (
	mostLogged = 64 << 10
	cutMark    = " … [cut: the conversation's log has all of it]"
)

// briefly is a result for the tool log: what is long is cut, and of a picture or a file there is only what
// it is.
func briefly(r *event.ToolResult) []event.Block {
	content := r.Content
	if len(content) == 0 && len(r.Structured) > 0 {
		content = []event.Block{&event.Text{Text: string(r.Structured)}}
	}
	left, own := mostLogged, false
	for i, b := range content {
		short := b
		switch b := b.(type) {
		case *event.Text:
			if len(b.Text) > left {
				short = &event.Text{Text: strings.ToValidUTF8(b.Text[:left], "") + cutMark}
			}
			left -= min(left, len(b.Text))
		case *event.Image:
			if len(b.Data) > 0 {
				short = &event.Text{Text: "[image " + b.MIME + ", " + strconv.Itoa(len(b.Data)) + " bytes]"}
			}
		case *event.Document:
			if len(b.Data) > 0 || len(b.Text) > left {
				short = &event.Text{Text: "[document " + b.Name + " " + b.MIME + ", " + strconv.Itoa(len(b.Data)+len(b.Text)) + " bytes]"}
			}
		}
		if short != b && !own {
			content, own = append([]event.Block(nil), content...), true
		}
		if own {
			content[i] = short
		}
	}
	return content
}
