package floor

import (
	"context"
	"iter"
	"time"
)

// Values answers input with text, like [Agent.Stream] for a model that calls no
// tool, and passes events by value: no allocation for a delta. It is the tuned
// form of the floor, shown beside the plain one because a ratio below 1 to the
// plain one would otherwise look like magic.
//
//go:noinline
func (a *Agent) Values(ctx context.Context, s *Session, input string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		run := s.begin()
		said := s.add(run, "user", UserSaid, &Message{Role: "user", Text: input})
		if !yield(*said, nil) {
			return
		}
		req := Request{Messages: s.messages, Tools: a.specs, Cycle: 1}
		var answer assembly
		var deltas int64
		for c, err := range a.model.Stream(ctx, &req) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			kind := answer.take(&c)
			if kind == 0 {
				continue
			}
			deltas++
			e := Event{
				N: deltas, Session: s.id, Run: run, Author: a.name,
				Time: time.Now(), Kind: kind, Delta: c.Text,
			}
			if !yield(e, nil) {
				return
			}
		}
		if answer.stop == "" {
			yield(Event{}, errCut)
			return
		}
		yield(*s.add(run, a.name, ModelSaid, answer.message()), nil)
	}
}
