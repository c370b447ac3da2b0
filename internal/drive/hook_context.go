package drive

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/tool"
)

// hookContext is the context of hooks that stand before something that is no tool call: [Ask]
// works in it.
type hookContext struct {
	context.Context //nolint:containedctx // it is a context
	questions       asker
}

// hookContextOf makes the context in which the hooks before the scope's next step are called.
func (d *driver) hookContextOf(s *fold.Scope) *hookContext {
	t := &hookContext{}
	t.Context = tool.WithAsker(d.ctx, &t.questions)
	if s.Before != nil {
		t.questions.answered = slices.Clone(s.Before.Questions)
	}
	return t
}

// addAsked writes questions that were asked, as far as the guardrails let them pass. Where one of these
// could not look the run fails, and nobody is asked.
func (d *driver) addAsked(s *fold.Scope, agent *Agent, step string, attempt int, asked []event.Asked) {
	by, err := d.filterAsked(agent, asked)
	if err != nil {
		d.broke(err)
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

// shut writes down what hooks have asked at a threshold. It reports whether that was anything;
// whatever else they decided is asked of them again with the answers.
func (d *driver) shut(s *fold.Scope, t *hookContext) bool {
	d.addAsked(s, d.agentIn(s), "", 0, t.questions.asked)
	return len(t.questions.asked) > 0
}
