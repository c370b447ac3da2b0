package claude

import (
	"context"
	"iter"
)

// Query starts the program, runs one prompt and ends the program. See [Client.Turn] for the messages. Leaving the loop, or
// the end of ctx, ends the program with all that it started before Query returns.
func Query(ctx context.Context, prompt string, opts ...Option) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		c, err := Open(ctx, opts...)
		if err != nil {
			yield(nil, err)
			return
		}
		whole := false
		defer func() {
			if whole {
				_ = c.Close()
			} else {
				c.kill()
			}
		}()
		if err := c.write(ctx, c.config.line(Prompt{Text: prompt})); err != nil {
			yield(nil, err)
			return
		}
		for {
			m, err := c.queue.next(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			whole = c.tasks.over(m)
			if c.shown(m) && !yield(m, nil) || whole {
				return
			}
		}
	}
}
