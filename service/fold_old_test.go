package service

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/pricing"
)

// oldTracker makes the rows of one conversation's ledger: it
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
// Make it with [NewoldTracker] and pass its Fill to [braid.Conversation.BeforeCommit]. It is safe for concurrent use.
type oldTracker struct {
	store journal.Store

	mu     sync.Mutex
	source func(agent, tool string) string
	// run is whose events the rest is of, up to Seq last; empty where nothing is known.
	run  string
	last int64
	// epoch is that of the lease of the last batch, newest the highest of all.
	epoch, newest int64
	main          oldTrackedScope
	// scopes are the open ones but the main, by their ids, open the calls that are not over,
	// by their steps, and hidden the events of which nothing may be repeated.
	scopes map[string]*oldTrackedScope
	open   map[string]*oldTrackedCall
	hidden map[int64]bool
	// usage and tools are the rows of the batch that is being filled.
	usage []journal.UsageEntry
	tools []journal.ToolEntry
}

// oldTrackedScope is an agent's thread of work.
type oldTrackedScope struct {
	// call is the tool_use_id that opened it, agent its subagent_type; both empty for the main one.
	call, agent string
	// model is the one that is asked now, summary the one that is to sum up.
	model, summary string
	// asks are the calls of its last answer, and pieces what there is of one that is not whole.
	asks, pieces []oldAskedCall
}

// oldAskedCall is a call that an answer asks for.
type oldAskedCall struct {
	*event.ToolCall
	seq int64
}

// oldTrackedCall is a call that is not over. stands says that its row was written with its
// arguments by this tracker.
type oldTrackedCall struct {
	asked  int64
	call   string
	name   string
	stands bool
}

// fold takes an event in, and makes rows of it.
func (t *oldTracker) fold(e *event.Event) {
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

func (t *oldTracker) hide(seq int64) {
	if t.hidden == nil {
		t.hidden = make(map[int64]bool)
	}
	t.hidden[seq] = true
}

func (t *oldTracker) scope(id string) *oldTrackedScope {
	if s := t.scopes[id]; s != nil {
		return s
	}
	return &t.main
}

func (t *oldTracker) openScope(b *event.ScopeOpened) {
	if b.ID == "" {
		return
	}
	s := &oldTrackedScope{call: b.Call, agent: b.Agent}
	if s.call == "" {
		s.call = t.scope(b.Parent).call // a part of what another one works on
	}
	if t.scopes == nil {
		t.scopes = make(map[string]*oldTrackedScope)
	}
	t.scopes[b.ID] = s
}

func (t *oldTracker) begin(e *event.Event, b *event.StepBegun) {
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
			c = &oldTrackedCall{call: b.Call, name: b.Tool}
			if t.open == nil {
				t.open = make(map[string]*oldTrackedCall)
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
func (s *oldTrackedScope) asked(step, id string) oldAskedCall {
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
	return oldAskedCall{}
}

// row gives the commit's row of a call, with all that does not depend on how it stands. It is good
// until the next one is asked for.
func (t *oldTracker) row(e *event.Event, c *oldTrackedCall) *journal.ToolEntry {
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

func (t *oldTracker) end(e *event.Event, b *event.StepEnded) {
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
		c = &oldTrackedCall{asked: call.seq, call: b.Result.Call, name: b.Result.Name}
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

func (t *oldTracker) answer(e *event.Event, b *event.AssistantMessage) {
	s := t.scope(e.Scope)
	for _, c := range event.CallsOf(b.Content) {
		s.pieces = append(s.pieces, oldAskedCall{c, e.Seq})
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

// use makes a row of what a call used. As in the run's own sum, one that was refused, and so used
// and cost nothing, is left out.
func (t *oldTracker) use(
	e *event.Event, s *oldTrackedScope, kind journal.UsageKind, model string, c charged, how event.Outcome,
) {
	if c.usage == (event.Usage{}) && c.nano != nil && *c.nano == 0 {
		return
	}
	t.usage = append(t.usage, journal.UsageEntry{
		Tokens: journal.TokensOf(c.usage), Step: e.Step, Attempt: e.Attempt, Seq: e.Seq, Kind: kind, Scope: e.Scope, Call: s.call, Agent: s.agent,
		Model: model, CostNanoUSD: c.nano, Estimated: c.estimated, Status: how, Time: e.Time,
	})
}

// oldMessageLog makes the messages of a run from its events, one by one. The zero value is ready for use.
type oldMessageLog struct {
	rows []journal.MessageEntry
	// parents are the calls that opened scopes.
	parents map[string]string
	session string
	answer  string
	// begun says that the run's first event was seen, so that nothing is missing.
	begun bool
}

// take takes the next event.
func (l *oldMessageLog) take(e *event.Event) {
	if e.Audience != event.Everyone {
		return
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		*l = oldMessageLog{begun: true, session: event.SessionID(e.Conversation, b.Session)}
		l.add(e, messageSystem, messageInit, "", struct {
			Session string   `json:"session_id"`
			Agent   string   `json:"agent"`
			Model   string   `json:"model,omitempty"`
			Turn    int      `json:"turn"`
			Tools   []string `json:"tools,omitempty"`
		}{l.session, b.Agent, b.Model, b.Turn, b.Tools})
	case *event.ScopeOpened:
		l.open(b)
	case *event.UserMessage:
		if b.Why == "" {
			l.blocks(e, messageUser, b.Content)
		}
	case *event.AssistantMessage:
		if e.Scope == "" && !b.Piece {
			if text := event.TextOf(b.Content); text != "" {
				l.answer = text
			}
		}
		l.blocks(e, messageAssistant, b.Content)
	case *event.StepEnded:
		if r := b.Result; r != nil {
			l.add(e, messageUser, messageToolResult, r.Call, struct {
				Call    string `json:"tool_use_id"`
				Content any    `json:"content"`
				IsError bool   `json:"is_error"`
			}{r.Call, written(briefly(r)), r.IsError})
		}
	case *event.Redacted:
		if !b.Clean {
			l.erase(b.Target)
		}
	case *event.RunEnded:
		l.end(e, b)
	}
}

func (l *oldMessageLog) open(b *event.ScopeOpened) {
	if l.parents == nil {
		l.parents = make(map[string]string)
	}
	call := b.Call
	if call == "" {
		call = l.parents[b.Parent]
	}
	l.parents[b.ID] = call
}

// blocks adds what a message says, block by block.
func (l *oldMessageLog) blocks(e *event.Event, kind string, content []event.Block) {
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			l.add(e, kind, messageText, "", textContent{b.Text})
		case *event.Thinking:
			l.add(e, kind, messageThinking, "", textContent{b.Text})
		case *event.RedactedThinking:
			l.add(e, kind, string(b.BlockKind()), "", struct{}{})
		case *event.ToolCall:
			l.add(e, kind, messageToolUse, b.ID, struct {
				ID    string          `json:"id"`
				Name  string          `json:"name"`
				Input json.RawMessage `json:"input"`
			}{b.ID, b.Name, b.Args})
		case *event.ToolResult:
			l.add(e, kind, messageToolResult, b.Call, struct {
				Call    string `json:"tool_use_id"`
				Content any    `json:"content"`
				IsError bool   `json:"is_error"`
			}{b.Call, written(briefly(b)), b.IsError})
		default:
			l.add(e, kind, string(b.BlockKind()), "", written(briefly(&event.ToolResult{Content: []event.Block{b}})))
		}
	}
}

func (l *oldMessageLog) end(e *event.Event, b *event.RunEnded) {
	kind := messageSuccess
	var faults []string
	if b.Status != event.RunCompleted {
		kind = messageError
	}
	if b.Err != nil {
		faults = append(faults, b.Err.Message)
	}
	var cost *string
	if b.CostNanoUSD != nil {
		text := pricing.NanoUSD(*b.CostNanoUSD).String()
		cost = &text
	}
	l.add(e, messageResult, kind, "", struct {
		Result    string     `json:"result"`
		IsError   bool       `json:"is_error"`
		Errors    []string   `json:"errors,omitempty"`
		Status    string     `json:"status"`
		Stop      string     `json:"stop_reason,omitempty"`
		Usage     usedTokens `json:"usage"`
		Cost      *string    `json:"total_cost_usd"`
		Estimated bool       `json:"estimated,omitempty"`
		NumTurns  int        `json:"num_turns"`
		Duration  int64      `json:"duration_ms"`
		SessionID string     `json:"session_id"`
	}{
		l.answer, kind == messageError, faults, string(b.Status), string(b.Stop), usedTokens(journal.TokensOf(b.Usage)), cost, b.Estimated, b.Cycles,
		b.Duration.Milliseconds(), l.session,
	})
}

func (l *oldMessageLog) add(e *event.Event, kind, subtype, call string, content any) {
	text := contentOf(content)
	part := 0
	if n := len(l.rows); n > 0 && l.rows[n-1].Seq == e.Seq {
		part = l.rows[n-1].Part + 1
	}
	l.rows = append(l.rows, journal.MessageEntry{
		MessagePlace: journal.MessagePlace{Seq: e.Seq, Part: part}, Type: kind, Subtype: subtype, Call: call, Parent: l.parents[e.Scope],
		Content: text, Time: e.Time,
	})
}

// erase takes away what an event of the run says, and with it the answer that it may be.
func (l *oldMessageLog) erase(seq int64) {
	for i := range l.rows {
		if l.rows[i].Seq == seq {
			l.rows[i].Content = nil
			l.answer = ""
		}
	}
}
