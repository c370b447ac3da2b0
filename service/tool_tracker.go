package service

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
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
	// run is whose events the outline is of, up to Seq last; empty where nothing is known.
	run  string
	last int64
	// epoch is that of the lease of the last batch, newest the highest of all.
	epoch, newest int64
	outline       toolOutline
	// usage and tools are the rows of the batch that is being filled.
	usage []journal.UsageEntry
	tools []journal.ToolEntry
}

// trackedStep says of a call that is not over that this tracker has written its row with its arguments.
type trackedStep struct{ written bool }

type (
	toolOutline = fold.Outline[struct{}, trackedStep]
	toolThread  = fold.Thread[struct{}]
	toolPlace   = fold.Place[struct{}, trackedStep]
)

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
	t.run, t.last, t.outline = e.Run, e.Seq-1, toolOutline{}
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
	for s := range t.outline.Open() {
		s.Own.written = false
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
	at := t.outline.Add(e)
	if at.Thread == nil {
		return
	}
	switch b := e.Body.(type) {
	case *event.StepBegun:
		if b.Step == event.StepTool {
			t.begin(e, b, &at)
		}
	case *event.StepEnded:
		t.end(e, b, &at)
	case *event.AssistantMessage:
		t.answer(e, b, &at)
	case *event.Asked:
		if at.Step != nil {
			t.row(e, at.Thread, callOf(at.Step)).Status = journal.ToolWaiting
		}
	case *event.RunEnded:
		for s := range t.outline.Open() { // none: the loop closes what it opens
			if s.Begun.Step == event.StepTool {
				ended := *e
				ended.Step = s.ID
				t.row(&ended, at.Thread, callOf(s)).Status = journal.ToolCancelled
			}
		}
		t.run = ""
	}
}

// trackedCall is what a row says of a call however it stands. asked is the Seq of the answer that asks for it.
type trackedCall struct {
	asked      int64
	call, name string
}

func callOf(s *fold.Step[struct{}, trackedStep]) trackedCall {
	return trackedCall{s.Asked.Seq, s.Begun.Call, s.Begun.Tool}
}

func (t *ToolTracker) begin(e *event.Event, b *event.StepBegun, at *toolPlace) {
	s := at.Step
	row := t.row(e, at.Thread, callOf(s))
	row.Status = journal.ToolRunning
	switch {
	case t.outline.Hidden(s.Asked.Seq):
	case b.Args != nil:
		row.Input = b.Args
	case s.Asked.ToolCall != nil && !s.Own.written:
		row.Input = s.Asked.Args
	}
	s.Own.written = true
}

// row gives the commit's row of a call, with all that does not depend on how it stands. It is good
// until the next one is asked for.
func (t *ToolTracker) row(e *event.Event, in *toolThread, c trackedCall) *journal.ToolEntry {
	for i := range t.tools {
		if r := &t.tools[i]; r.Step == e.Step {
			r.Attempt = max(r.Attempt, e.Attempt)
			return r
		}
	}
	r := journal.ToolEntry{
		Step: e.Step, Attempt: e.Attempt, Asked: c.asked, Call: c.call, Parent: in.Call, Scope: e.Scope, Agent: subagent(in),
		Name: c.name, Began: e.Time,
	}
	if t.source != nil {
		r.Source = t.source(e.Author, c.name)
	}
	t.tools = append(t.tools, r)
	return &t.tools[len(t.tools)-1]
}

// subagent names the agent of a thread; empty for the main one.
func subagent(in *toolThread) string {
	if in.Parent == nil {
		return ""
	}
	return in.Agent
}

func (t *ToolTracker) end(e *event.Event, b *event.StepEnded, at *toolPlace) {
	switch b.Step {
	case event.StepModel:
		t.use(e, at.Thread, journal.UsageModel, at.Thread.Model, charged{b.Usage, b.CostNanoUSD, b.Estimated}, b.Outcome)
		return
	case event.StepCompaction:
		t.use(e, at.Thread, journal.UsageCompaction, at.Thread.Summary, charged{b.Usage, b.CostNanoUSD, b.Estimated}, b.Outcome)
		return
	case event.StepTool:
	default:
		return
	}
	s := at.Step
	if b.Result == nil {
		if s != nil && !b.RetryAt.IsZero() {
			t.row(e, at.Thread, callOf(s)).Status = journal.ToolWaiting
		}
		return
	}
	var c trackedCall
	if s != nil {
		c = callOf(s)
	} else { // it never began
		c = trackedCall{at.Thread.Asked(e.Step, b.Result.Call).Seq, b.Result.Call, b.Result.Name}
	}
	row := t.row(e, at.Thread, c)
	if (s == nil || !s.Own.written) && !t.outline.Hidden(c.asked) {
		if asked := at.Thread.Asked(e.Step, c.call); asked.ToolCall != nil {
			row.Input = asked.Args
		}
	}
	row.End, row.Finished, row.IsError = e.Seq, e.Time, b.Result.IsError
	row.Output = briefly(b.Result)
	row.Status = statusOf(b)
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

func (t *ToolTracker) answer(e *event.Event, b *event.AssistantMessage, at *toolPlace) {
	if b.Piece || e.Step == "" {
		return // not whole, or handed in
	}
	name := b.Model
	if at.Step != nil {
		name = cmp.Or(fold.ModelOf(at.Step.Begun), b.Model)
	}
	t.use(e, at.Thread, journal.UsageModel, name, charged{b.Usage, b.CostNanoUSD, b.Estimated}, event.OutcomeDone)
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
	e *event.Event, in *toolThread, kind journal.UsageKind, model string, c charged, how event.Outcome,
) {
	if c.usage == (event.Usage{}) && c.nano != nil && *c.nano == 0 {
		return
	}
	t.usage = append(t.usage, journal.UsageEntry{
		Tokens: journal.TokensOf(c.usage),
		Step:   e.Step, Attempt: e.Attempt, Seq: e.Seq, Kind: kind, Scope: e.Scope, Call: in.Call, Agent: subagent(in),
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
