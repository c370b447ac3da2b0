package braid

import (
	"context"
	"slices"

	"github.com/braidrun/braid/event"
)

// threshold is where a scope waits for the answers to what a hook has asked before a model call
// or a batch of tools: nothing of it has begun, so that its questions stand in the log
// without a step. A scope has one at most, which what it stood before takes away.
type threshold struct {
	asks []*question
}

// waits reports whether one of the questions is open.
func (t *threshold) waits() bool {
	return t != nil && slices.ContainsFunc(t.asks, func(q *question) bool { return !q.answered })
}

// ask adds a question to what the scope waits for.
func (s *scope) ask(q *question) {
	if s.before == nil {
		s.before = &threshold{}
	}
	s.before.asks = append(s.before.asks, q)
}

// atThreshold is the context of hooks that stand before something that is no tool call: [Ask]
// works in it.
type atThreshold struct {
	context.Context //nolint:containedctx // it is a context
	questions       asker
}

// Value implements context.Context.
func (t *atThreshold) Value(key any) any {
	if _, ok := key.(askerKey); ok {
		return &t.questions
	}
	return t.Context.Value(key)
}

// thresholdOf makes the context in which the hooks before the scope's next step are called.
func (d *driver) thresholdOf(s *scope) *atThreshold {
	t := &atThreshold{Context: d.ctx}
	if s.before != nil {
		t.questions.answered = slices.Clone(s.before.asks)
	}
	return t
}

// addAsked writes questions that were asked, as far as the guardrails let them pass. Where one of these
// could not look the run fails, and nobody is asked.
func (d *driver) addAsked(s *scope, agent *Agent, step string, attempt int, asked []event.Asked) {
	by, err := d.siftAsked(agent, asked)
	if err != nil {
		d.broke(err)
		for i := range asked {
			asked[i].Prompt, asked[i].Payload = event.TextOf(redactedContent), nil
		}
	}
	first := d.view.last + 1
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
func (d *driver) shut(s *scope, t *atThreshold) bool {
	d.addAsked(s, d.agentIn(s), "", 0, t.questions.asked)
	return len(t.questions.asked) > 0
}
