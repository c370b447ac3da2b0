package stream

import (
	"context"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// FindAnswers reads a log behind a place until it has found the answers to the questions in missing, which it takes out of
// it. A client that sends its answers again means those. take may refuse an answer with an error. FindAnswers returns false
// if the log ends before.
func FindAnswers[T any](
	ctx context.Context, log live.Log, at int64, missing map[string]T, take func(e *event.Event, b *event.Answered, sent T) error,
) (all bool, err error) {
	for len(missing) > 0 {
		events, err := log(ctx, at, skipEvents)
		if err != nil {
			return false, err
		}
		if len(events) == 0 {
			return false, nil
		}
		for _, e := range events {
			at = e.Seq
			b, ok := e.Body.(*event.Answered)
			if !ok {
				continue
			}
			if sent, ok := missing[b.Token]; ok {
				if err := take(e, b, sent); err != nil {
					return false, err
				}
				delete(missing, b.Token)
			}
		}
	}
	return true, nil
}
