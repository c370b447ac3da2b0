package drive

import (
	"context"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/hooks"
)

var errCompactionCancelled = &event.Error{Op: "hook", Kind: event.ErrCancelled, Message: "a hook wants the conversation to stay as it is"}

// callBeforeCompaction calls the hooks before a compaction. decided is false if the run is to stop.
func (d *activeRun) callBeforeCompaction(s *fold.Scope, agent *Agent, p *compact.Omission, m *Management) (b hook.BeforeCompaction, decided bool) {
	b = hook.BeforeCompaction{Agent: agent.Name, Scope: s.ID, Why: p.Why}
	if p.SumUp {
		b.Instructions = m.Summary.Instructions
	}
	list := agent.Hooks.At(hooks.BeforeCompaction)
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
	if !d.runDecidingHooks(func() { err = hooks.CallBefore(d.ctx, list, e, func() bool { return e.Cancel }) }) {
		return told, false
	}
	if err == nil {
		err = fitSummary(b.Summary)
	}
	if err != nil {
		d.failWith(err)
		return b, false
	}
	return b, true
}

// callAfterCompaction calls the hooks after a compaction on the driver's goroutine. It reports whether their changes to the
// summary count.
func (d *activeRun) callAfterCompaction(agent *Agent, a *hook.AfterCompaction) bool {
	if len(agent.Hooks.At(hooks.AfterCompaction)) == 0 {
		return true
	}
	told := *a
	var err error
	if !d.runHooks(func() { err = agent.callAfterCompaction(d.ctx, d.cfg.agent.Limits.Grace, &told) }) {
		d.pending.awaited = true
		return false
	}
	if err != nil {
		d.failWith(err)
		d.pending.awaited = true
		return false
	}
	*a = told
	return true
}

// callAfterCompaction calls the hooks after a compaction, and checks the summary that they leave.
func (a *Agent) callAfterCompaction(ctx context.Context, grace time.Duration, e *hook.AfterCompaction) error {
	list := a.Hooks.At(hooks.AfterCompaction)
	if len(list) == 0 {
		return nil
	}
	had := e.Err
	e.Summary = slices.Clone(e.Summary)
	ctx, cancel := afterwards(ctx, grace)
	defer cancel()
	err := hooks.CallAfter(ctx, list, e)
	e.Err = had
	if err == nil {
		err = fitSummary(e.Summary)
	}
	return err
}
