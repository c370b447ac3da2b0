package drive

import (
	"context"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/tool"
)

// hookContext is the context of hooks before something that is no tool call. A hook can ask the user in it.
type hookContext struct {
	context.Context //nolint:containedctx // it is a context
	questions       asker
}

// stateView is the state as hooks read it.
type stateView struct{ box *fold.State }

// State implements [tool.StateReader].
func (v stateView) State(key string) (json.RawMessage, bool) { return v.box.Get(key) }

// hookContextOf returns the context for the hooks before the scope's next step.
func (d *activeRun) hookContextOf(s *fold.Scope) *hookContext {
	t := &hookContext{}
	t.Context = tool.WithState(tool.WithAsker(d.contextOf(s), &t.questions), stateView{d.view.State})
	if s.Before != nil {
		t.questions.remember(s.Before.Questions...)
	}
	return t
}

// addAsked writes questions after the guardrails have passed them. If a guardrail fails, the run fails and nobody is
// asked.
func (d *activeRun) addAsked(s *fold.Scope, agent *Agent, step string, attempt int, asked []event.Asked) {
	by, err := d.filterAsked(agent, asked)
	if err != nil {
		d.failWith(err)
		for i := range asked {
			asked[i].Prompt, asked[i].Payload = event.TextOf(fold.RedactedContent), nil
		}
	}
	first := d.view.Last + 1
	for i := range asked {
		d.add(s, step, attempt, &asked[i])
	}
	for i := range by {
		for _, name := range by[i] {
			d.add(s, step, attempt, &event.Redacted{Target: first + int64(i), Reason: name, Clean: true})
		}
	}
}

// parkForHooks writes the questions that hooks asked before a step. It reports whether there were any. Other decisions of the
// hooks are dropped: they are called again once the questions are answered.
func (d *activeRun) parkForHooks(s *fold.Scope, t *hookContext) bool {
	d.addAsked(s, d.agentIn(s), "", 0, t.questions.pending())
	return len(t.questions.pending()) > 0
}
