package task

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// Aliases returns a function for [Options].Models that knows these models by these names, for agents of all types:
//
//	task.Options{Models: task.Aliases(map[string]braid.Model{"haiku": small, "opus": large})}
//
// Another name is an error that lists them.
func Aliases(known map[string]braid.Model) func(ctx context.Context, kind, name string) (Model, error) {
	known = maps.Clone(known)
	return func(_ context.Context, _, name string) (Model, error) {
		m, ok := known[name]
		if !ok || m == nil {
			return Model{}, &event.Error{
				Op: "task", Kind: event.ErrModelNotFound, Message: "there is no such model",
				Hint: "name one of " + strings.Join(slices.Sorted(maps.Keys(known)), ", "),
			}
		}
		return Model{Model: m}, nil
	}
}
