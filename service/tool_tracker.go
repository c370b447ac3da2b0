package service

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// ToolTracker makes the ledger rows of one conversation. It reads the model calls and tool calls of
// each commit and adds rows of usage and tools to the [journal.Batch]. It tells sub-agents apart by
// their scope, so that any number may work at once and inside each other. The rows of an agent hold
// its own usage only: together they are the run's usage, model by model.
//
// A tracker needs the events before a commit. If it has not seen them, it reads them from the log:
// in a new process, after another process has driven the run, or after a commit without a reply.
//
// Make it with [NewToolTracker] and pass its Fill to [braid.Conversation.BeforeCommit]. It is safe
// for concurrent use.
type ToolTracker struct {
	store journal.Store

	mu     sync.Mutex
	source func(agent, tool string) string
	// run is the run of the outline's events. It is empty if nothing is known.
	run string
	// last is the Seq of the last event in the outline.
	last int64
	// epoch is the epoch of the last batch's lease.
	epoch int64
	// newest is the highest epoch so far.
	newest  int64
	outline toolOutline
	// usage are the usage rows of the current batch.
	usage []journal.UsageEntry
	// tools are the tool rows of the current batch.
	tools []journal.ToolEntry
}

// trackedStep is the tracker's state of an open call. written reports that its row has the
// arguments.
type trackedStep struct{ written bool }

type (
	toolOutline = fold.Outline[struct{}, trackedStep]
	toolThread  = fold.Thread[struct{}]
	toolPlace   = fold.Place[struct{}, trackedStep]
)

// NewToolTracker returns a tracker that reads missing events from store. source returns the source
// of a tool of an agent; a nil source leaves it empty.
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
	t.usage, t.tools = nil, nil // rows of this batch only
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

// lastEpoch returns the highest epoch of a lease so far.
func (t *ToolTracker) lastEpoch() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest
}

// know reads what is missing before the event.
func (t *ToolTracker) know(ctx context.Context, l journal.Lease, e *event.Event) error {
	if t.follows(l, e) {
		return nil
	}
	t.run, t.last, t.outline = e.Run, e.Seq-1, toolOutline{}
	if _, begins := e.Body.(*event.RunStarted); begins {
		return nil
	}
	t.run = "" // until it is read
	open, err := t.store.Queue(ctx, e.Conversation)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(open, func(r journal.Run) bool { return r.ID == e.Run })
	if i < 0 {
		return nil // it has ended: the commit is a repetition or is refused
	}
	for o, err := range journal.RunEvents(ctx, t.store, &open[i]) {
		if err != nil {
			return err
		}
		if o.Seq >= e.Seq {
			break
		}
		t.fold(o)
	}
	for s := range t.outline.Open() {
		s.Own.written = false
	}
	t.run, t.last = e.Run, e.Seq-1
	return nil
}

// follows reports whether the event comes right after the last one in the outline. The tracker is
// not told whether a commit succeeded. But if the log goes on after it under the same lease, or
// under the very next one, no other process can have written in between.
func (t *ToolTracker) follows(l journal.Lease, e *event.Event) bool {
	return t.run == e.Run && t.last == e.Seq-1 && (l.Epoch == t.epoch || l.Epoch == t.epoch+1)
}

// fold adds an event and makes its rows.
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

// trackedCall is the constant part of a call's row.
type trackedCall struct {
	// asked is the Seq of the answer that makes the call.
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

// row returns the batch's row of a call, with its constant part. The pointer is valid until the
// next call of row.
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

// subagent returns the name of a thread's agent. It is empty for the main agent.
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

// statusOf returns the status of an ended call.
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
		return // incomplete, or a result from outside
	}
	name := b.Model
	if at.Step != nil {
		name = cmp.Or(fold.ModelOf(at.Step.Begun), b.Model)
	}
	t.use(e, at.Thread, journal.UsageModel, name, charged{b.Usage, b.CostNanoUSD, b.Estimated}, event.OutcomeDone)
}

// charged is what a call used and cost.
type charged struct {
	usage event.Usage
	// nano is nil if no price is known.
	nano      *int64
	estimated bool
}

// use adds a usage row. It leaves out a refused call that used and cost nothing, as the run's own
// sum does.
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

// These bound what the tool log repeats of a result. The conversation's log has all of it.
const (
	mostLogged = 64 << 10
	cutMark    = " … [cut: the conversation's log has all of it]"
)

// briefly returns a result for the tool log: it cuts long texts and leaves out the data of pictures
// and files.
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
