package tool

import (
	"context"
	"iter"

	"github.com/braidrun/braid/event"
)

// StreamFunc is [Func] for a tool that gives its result bit by bit: fn yields values, and the
// last one is the result. Every value is sent to the run's watchers as it comes, as
// [event.ToolProgress] with text or JSON; the model sees the last one alone. Yielding waits until
// the run has taken the value, so that a slow reader slows the tool down and nothing
// piles up. An error that is yielded is the call's error, and what came before it was
// progress; without any value the result is "done". When the run is to stop, yield gives false.
func StreamFunc[In, Out any](
	name, description string, fn func(context.Context, In) iter.Seq2[Out, error], opts ...Option,
) *FuncTool {
	return newFunc(name, description, fn == nil, func(ctx context.Context, in In) (Output, error) {
		last := Text("done")
		for v, err := range fn(ctx, in) {
			if err != nil {
				return Output{}, err
			}
			if last, err = outputOf(any(v)); err != nil {
				return Output{}, err
			}
			last.progress(ctx)
			if err := ctx.Err(); err != nil {
				return Output{}, err
			}
		}
		return last, nil
	}, opts)
}

// progress shows watchers of a run what a tool has so far.
func (o *Output) progress(ctx context.Context) {
	switch text := event.TextOf(o.Content); {
	case len(o.Structured) > 0:
		ProgressData(ctx, o.Structured)
	case text != "":
		Progress(ctx, text)
	}
}
