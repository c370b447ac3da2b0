package braid

import (
	"context"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/fold"
)

// BeforeCompaction is called before the model is shown less of the conversation; see [Manage].
// A driver that takes the run over calls it again where nothing of it is in the log.
type BeforeCompaction struct {
	// Agent is who is shown less, Scope where it works: "" for the root agent's; and Why is
	// [event.WhyLimit], or [event.WhyOverflow] after a provider has refused: read only.
	Agent *Agent
	Scope string
	Why   event.Why
	// Messages are what the model is not going to see any more, oldest first, and summaries of
	// what it did not see before. There are none where only the results of tools are cut.
	// They are shared with the conversation: read only.
	Messages []event.Message
	// Summary is writable: what it becomes stands in the place of the messages, and no model is
	// asked for it.
	Summary []event.Block
	// Instructions are what the model is told that writes the summary; empty where none is
	// asked. They are writable.
	Instructions string
	// Cancel is writable: the conversation stays as it is. Where the provider has refused it
	// that ends the run.
	Cancel bool
}

// AfterCompaction is called when it is decided what the model is shown instead, before that is
// written, and also where nothing came of it. Where the run is to stop the context lasts for the grace
// period.
type AfterCompaction struct {
	// Scope and Why are those of [BeforeCompaction]: read only.
	Scope string
	Why   event.Why
	// Summary is what stands in the place of the messages, and writable. It is empty where only
	// the results of tools are cut, and where there is an error.
	Summary []event.Block
	// Err is why the conversation stays as it is; nil where it does not.
	Err error
	// Model wrote the summary, and used Usage and Duration for it; empty where none was asked.
	Model    string
	Usage    event.Usage
	Duration time.Duration
}

func (*BeforeCompaction) point() hookPoint { return pointBeforeCompaction }
func (*AfterCompaction) point() hookPoint  { return pointAfterCompaction }

var errCompactionCancelled = &event.Error{Op: "hook", Kind: event.ErrCancelled, Message: "a hook wants the conversation to stay as it is"}

// askCompaction calls the hooks before a compaction. decided is false where the run is to stop.
func (d *driver) askCompaction(s *fold.Scope, agent *Agent, p *compact.Omission, m *management) (b BeforeCompaction, decided bool) {
	b = BeforeCompaction{Agent: agent, Scope: s.ID, Why: p.Why}
	if p.SumUp {
		b.Instructions = m.summary.Instructions
	}
	list := agent.hooks.on(pointBeforeCompaction)
	if len(list) == 0 {
		return b, true
	}
	for i := range p.Gone {
		u := &p.Gone[i]
		b.Messages = append(b.Messages, u.Message())
		if len(u.Got) > 0 {
			b.Messages = append(b.Messages, event.Message{Role: event.RoleUser, Content: u.Got})
		}
	}
	e, told := &b, b
	var err error
	if !d.decideAside(func() { err = callBefore(d.ctx, list, e, func() bool { return e.Cancel }) }) {
		return told, false
	}
	if err == nil {
		err = fitSummary(b.Summary)
	}
	if err != nil {
		d.broke(err)
		return b, false
	}
	return b, true
}

// tellCompaction calls the hooks after a compaction on the driver's goroutine. It reports whether what
// they made of the summary counts.
func (d *driver) tellCompaction(agent *Agent, a *AfterCompaction) bool {
	if len(agent.hooks.on(pointAfterCompaction)) == 0 {
		return true
	}
	told := *a
	var err error
	if !d.aside(func() { err = agent.tellCompaction(d.ctx, d.cfg.agent.limits.Grace, &told) }) {
		d.pending.awaited = true
		return false
	}
	if err != nil {
		d.broke(err)
		d.pending.awaited = true
		return false
	}
	*a = told
	return true
}

// tellCompaction calls the hooks after a compaction. It leaves a summary that can be kept.
func (a *Agent) tellCompaction(ctx context.Context, grace time.Duration, e *AfterCompaction) error {
	list := a.hooks.on(pointAfterCompaction)
	if len(list) == 0 {
		return nil
	}
	had := e.Err
	e.Summary = slices.Clone(e.Summary)
	ctx, cancel := afterwards(ctx, grace)
	defer cancel()
	err := callAfter(ctx, list, e)
	e.Err = had
	if err == nil {
		err = fitSummary(e.Summary)
	}
	return err
}

// fitSummary refuses what cannot stand in a message of the user's side.
func fitSummary(blocks []event.Block) error {
	if hasNil(blocks) {
		return &event.Error{Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a summary with a block that is nil"}
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			if validText(b.Text) != b.Text {
				return &event.Error{Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a summary that is not valid UTF-8"}
			}
		case *event.Image, *event.Document:
			if _, err := event.AppendBlock(nil, b); err != nil {
				return &event.Error{Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a summary that cannot be kept", Err: err}
			}
		default:
			return &event.Error{
				Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a summary of something else than text, pictures and documents",
			}
		}
	}
	return nil
}
