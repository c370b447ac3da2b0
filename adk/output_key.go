package adk

import (
	"context"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/tool"
)

// OutputKey keeps the agent's answer in the state under key: its structured output as JSON, or its text. The value is
// committed with the end of the agent's work, so agents that work later find it. The prefix of the key says how long it is kept.
//
// An answer without text changes nothing, and so does an agent that fails, is cancelled or reaches a limit. A key that no value
// may have becomes the agent's error.
func OutputKey(key string) braid.Part {
	return braid.Parts(
		braid.On(func(context.Context, *braid.Made) error { return userdata.Key(key) }),
		braid.On(func(ctx context.Context, e *hook.AfterAgent) error {
			if e.Output != nil {
				return tool.State[any](key).Set(ctx, e.Output)
			}
			if text := event.TextOf(e.Answer); text != "" {
				return tool.State[string](key).Set(ctx, text)
			}
			return nil
		}),
	)
}
