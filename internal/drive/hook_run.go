package drive

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/hooks"
)

// hookRounds bounds how often hooks may continue one run.
const hookRounds = 16

// callBeforeRun calls the hooks before the run. It returns the text with which one answered in the agent's place.
func (d *activeRun) callBeforeRun() (words string) {
	input, words, ok, err := d.hookInput(d.messages)
	switch {
	case err != nil:
		d.failWith(err)
		return ""
	case ok:
		d.messages = input
	}
	return words
}

// hookInput passes an input through the hooks before the run. It returns what they made of it, and the text with which
// one answered. ok is false if the run is to stop.
func (d *activeRun) hookInput(in []event.Message) (made []event.Message, words string, ok bool, err error) {
	list := d.cfg.agent.Hooks.At(hooks.BeforeRun)
	if len(list) == 0 {
		return in, "", true, nil
	}
	e := hook.BeforeRun{Run: d.row.ID, Input: slices.Clone(in)}
	back := d.runDecidingHooks(func() {
		err = hooks.CallBefore(d.ctx, list, &e, func() bool { return e.Cancel != "" })
	})
	if !back {
		return nil, "", false, nil
	}
	if err == nil {
		made, err = d.fitHooked(in, e.Input)
	}
	if err != nil {
		return nil, "", false, err
	}
	return made, e.Cancel, true, nil
}

// goOn continues the run with new input, which passes the hooks before the run and the guardrails. It reports whether
// there is any after the hooks.
func (d *activeRun) goOn(s *fold.Scope, content []event.Block) (goesOn bool, err error) {
	input, words, ok, err := d.hookInput([]event.Message{{Role: event.RoleUser, Content: content}})
	if !ok || len(input) == 0 && words == "" {
		return false, err
	}
	for _, m := range input {
		d.addMessage(s, s, m)
	}
	if words != "" {
		d.reply(words)
	}
	return true, nil
}

// reply answers in the root agent's place, with a model step that costs nothing.
func (d *activeRun) reply(words string) {
	s := d.view.Run.Scopes[0]
	words, by, err := d.filterText(d.guardsOf(d.cfg.agent, guardrail.Output), words)
	if err != nil {
		d.failWith(err)
		return
	}
	nothing := int64(0)
	cycle := s.Cycle + 1
	step := fold.StepName(s.ID, 'm', cycle, 0)
	name := d.cfg.agent.modelName()
	d.addAt(s, cycle, step, 1, &event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: name})
	d.endModel(s, step, 1, &modelCallEnd{guardedBy: by, message: &event.AssistantMessage{
		Content: []event.Block{&event.Text{Text: orRedacted(words)}}, Stop: event.StopEndTurn, Model: name, CostNanoUSD: &nothing, Hook: true,
	}})
}

// callAfterRun calls the hooks after the run. It reports whether the run continues.
func (d *activeRun) callAfterRun(s *fold.Scope, ended *event.RunEnded) (goesOn bool) {
	list := d.cfg.agent.Hooks.At(hooks.AfterRun)
	if len(list) == 0 {
		return false
	}
	r := d.view.Run
	e := hook.AfterRun{
		Run: r.ID, Status: ended.Status, Stop: ended.Stop, Why: ended.Why, Message: r.LastMessage, Usage: r.Usage, Rounds: int(r.Rounds),
	}
	if ended.Err != nil {
		e.Err = ended.Err
	}
	var err error
	back := d.runHooks(func() {
		ctx, cancel := afterwards(d.ctx, d.cfg.agent.Limits.Grace)
		defer cancel()
		err = hooks.CallAfter(ctx, list, &e)
	})
	if !back {
		return false
	}
	if err == nil && len(e.GoOn) > 0 {
		if err = fitMessage(&event.AssistantMessage{Content: e.GoOn}); err == nil {
			err = withoutTools("input", e.GoOn, false)
		}
	}
	if err == nil && len(e.GoOn) > 0 && ended.Status == event.RunCompleted && ended.Err == nil &&
		r.Rounds < hookRounds && d.ctx.Err() == nil {
		goesOn, err = d.goOn(s, e.GoOn)
	}
	if err != nil && ended.Status != event.RunFailed {
		ended.Status, ended.Why, ended.Stop, ended.Err = event.RunFailed, event.WhyFailed, event.StopError, hookError(err)
	}
	return goesOn
}

// hasMessageNews reports whether the pending commit has an event for the hooks after events.
func (d *activeRun) hasMessageNews() bool {
	for _, e := range d.pending.events {
		if list, _ := d.messageHooksOf(e); len(list) > 0 {
			return true
		}
	}
	return false
}

// messageHooksOf returns the hooks for an event, and their argument.
func (d *activeRun) messageHooksOf(e *event.Event) ([]hooks.Hook, any) {
	s := d.view.Run.Scope(e.Scope)
	if s == nil {
		return nil, nil
	}
	h := d.agentIn(s).Hooks
	switch b := e.Body.(type) {
	case *event.UserMessage:
		return h.At(hooks.MessageAdded), &hook.MessageAdded{Scope: e.Scope, Message: event.Message{Role: event.RoleUser, Content: b.Content}}
	case *event.AssistantMessage:
		return h.At(hooks.MessageAdded), &hook.MessageAdded{Scope: e.Scope, Message: event.Message{Role: event.RoleAssistant, Content: b.Content}}
	case *event.StepEnded:
		if b.Result != nil {
			result := event.Message{Role: event.RoleUser, Content: []event.Block{b.Result}}
			return h.At(hooks.MessageAdded), &hook.MessageAdded{Scope: e.Scope, Message: result}
		}
	case *event.Asked:
		return h.At(hooks.QuestionAsked), &hook.QuestionAsked{Question: event.Question{Asked: *b, Step: e.Step, Scope: e.Scope}}
	}
	return nil, nil
}

// callMessageHooks calls hooks with what was just written.
func (d *activeRun) callMessageHooks(events []*event.Event) {
	var err error
	back := d.runHooks(func() {
		ctx, cancel := afterwards(d.ctx, d.cfg.agent.Limits.Grace)
		defer cancel()
		for _, e := range events {
			if list, news := d.messageHooksOf(e); len(list) > 0 && err == nil {
				err = hooks.CallAfter(ctx, list, news)
			}
		}
	})
	if back && err != nil {
		d.failWith(err)
	}
}
