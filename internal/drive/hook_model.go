package drive

import (
	"context"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/internal/hooks"
)

// callBeforeModel calls the hooks before a model call. They may change it, or answer in the model's place: then it returns
// their text. ok is false if the call does not begin, because a hook has asked the user or the run is to stop.
func (d *activeRun) callBeforeModel(agent *Agent, why event.Why, w *Work, forced bool) (words string, ok, asked bool, err error) {
	e := &hook.BeforeModel{Agent: agent.Name, Why: why, Request: &w.request, Model: w.model}
	w.request.Messages = slices.Clone(w.request.Messages)
	w.request.Tools = slices.Clone(w.request.Tools)
	told, output, choice, tools := w.request.Instructions, w.request.Output, w.request.ToolChoice, len(w.request.Tools)
	at := d.hookContextOf(w.scope)
	var failed error
	back := d.runDecidingHooks(func() {
		failed = hooks.CallAsking(at, agent.Hooks.At(hooks.BeforeModel), e, &at.questions, func() bool { return e.Cancel != "" })
		at.questions.end(errAskedAfter)
	})
	if !back {
		return "", false, false, nil
	}
	if d.parkForHooks(w.scope, at) {
		return "", false, true, nil
	}
	if e.Request != nil && e.Request != &w.request {
		w.request = *e.Request
	}
	if failed == nil {
		failed = d.fitRequest(w)
	}
	if !foreign.IsNil(e.Model) && e.Model != w.model {
		if w.request.Options.Context == agent.Asks(w.model).Context {
			w.request.Options.Context = agent.Asks(e.Model).Context
		}
		w.model, w.info = e.Model, e.Model.Info()
		if x := d.answerOf(w.scope); w.request.Instructions == told && w.request.Output == output && w.request.ToolChoice == choice &&
			len(w.request.Tools) == tools {
			x.Retract(&w.request)
			askFor(x, &w.request, w.model, &w.info, forced)
		}
	}
	return e.Cancel, true, false, failed
}

// answered ends a model call that hooks decided without a model, with their text or their error. Guardrails check it
// before the hooks after the call, and again after them.
func (d *activeRun) answered(s *fold.Scope, agent *Agent, w *Work, words string, err error) {
	nothing := int64(0)
	end := &modelEnd{err: err}
	if err == nil {
		end.message = &event.AssistantMessage{
			Content: []event.Block{&event.Text{Text: validText(words)}}, Stop: event.StopEndTurn,
			Model: w.info.Name, CostNanoUSD: &nothing,
		}
	}
	guards := d.guardsOf(agent, guardrail.Output)
	end = d.filterHooked(end, guards)
	if list := agent.Hooks.At(hooks.AfterModel); len(list) > 0 {
		// A copy, because hooks that are abandoned go on writing into it.
		call := *w.modelCall
		own := Work{modelCall: &call, agent: w.agent, ctx: w.ctx}
		own.answer = *end
		if d.runHooks(func() { own.callAfterModel(d.ctx, list, d.cfg.agent.Limits.Grace) }) {
			end = d.filterHooked(&own.answer, guards)
		}
	}
	if end.message != nil {
		end.message.CostNanoUSD, end.message.Hook = &nothing, true
		d.endModel(s, w.step, w.attempt, &modelCallEnd{message: end.message, guardedBy: end.guardedBy})
		return
	}
	d.endModel(s, w.step, w.attempt, &modelCallEnd{
		outcome: event.OutcomeFailed, charge: cost.Charge{Nano: &nothing}, known: true, err: hookError(end.err),
	})
}

// filterHooked passes what hooks made of a model call through the guardrails.
func (d *activeRun) filterHooked(end *modelEnd, guards []guardrail.Rule) *modelEnd {
	if len(guards) == 0 {
		return end
	}
	own := *end
	if _, err := d.filter(guards, func(f *guardrail.Filter) { own.filter(f) }); err != nil {
		return &modelEnd{err: err}
	}
	return &own
}

// callAfterModel calls the hooks after a model call, which may change its end.
func (w *Work) callAfterModel(ctx context.Context, list []hooks.Hook, grace time.Duration) {
	end := &w.answer
	e := hook.AfterModel{Request: &w.request, Model: w.info.Name, Err: end.err, Duration: end.took}
	if end.message != nil {
		shown := *end.message
		shown.Content = slices.Clone(shown.Content)
		e.Message = &shown
	}
	ctx, cancel := afterwards(ctx, grace)
	defer cancel()
	err := hooks.CallAfter(ctx, list, &e)
	if err == nil && e.Message != nil {
		if err = fitMessage(e.Message); err == nil {
			err = withoutTools("answer", e.Message.Content, true)
		}
	}
	switch {
	case err != nil:
		end.message, end.err = nil, hookError(err)
	case e.Message != nil:
		if end.message == nil {
			c := w.charge()
			e.Message.Usage, e.Message.Latency, e.Message.CostNanoUSD, e.Message.Estimated = c.Usage, end.took, c.Nano, c.Estimated
		} else {
			m := end.message
			e.Message.Estimated = m.Estimated
			e.Message.Usage, e.Message.Latency, e.Message.CostNanoUSD = m.Usage, m.Latency, m.CostNanoUSD
			e.Message.TimeToFirstByte = m.TimeToFirstByte
		}
		e.Message.Piece = false
		if e.Message.Model == "" {
			e.Message.Model = w.info.Name
		}
		end.message, end.err = e.Message, nil
	case end.message != nil:
		end.message = nil
		end.err = &event.Error{Op: "hook", Kind: event.ErrModel, Message: "a hook took the model's answer away"}
	}
	end.again, end.wait = err == nil && e.Retry, max(e.Wait, 0)
}
