package agentfile

import (
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
)

// loop reads a loop.
func (l *loader) loop(f *fields, name string, depth int) *braid.Agent {
	o := flow.LoopOptions{Max: f.number("max")}
	list := l.members(f, depth)
	v := f.get("until")
	if v != nil {
		condition := l.condition(l.fields(v))
		if l.err == nil {
			o.Until = until(condition, list[len(list)-1].Name())
		}
	}
	if v == nil && o.Max == 0 {
		l.fail(f.node, "add max, the number of rounds, or until", "the loop %q has no end", name)
	}
	if l.err != nil {
		return nil
	}
	return flow.Loop(name, o, list...)
}

// until returns a condition on the answer of the last agent of a round.
func until(c flow.Condition, last string) func(ctx context.Context, answer string) (bool, error) {
	return func(ctx context.Context, answer string) (bool, error) {
		return c.Test(ctx, flow.Visit{Node: last, Output: []event.Block{&event.Text{Text: answer}}})
	}
}
