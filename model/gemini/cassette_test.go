package gemini_test

import (
	"bytes"
	"context"
	"iter"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
)

// taped says what the model says, from a recording of it: the contract holds for a
// replay as it does for the model.
type taped struct{ model.Model }

func (m taped) Unwrap() model.Model { return m.Model }

// Cancellable is true of it as of the model: both the recording and the replay end with ctx.
func (m taped) Cancellable() model.Model { return m }

func (m taped) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		var tape bytes.Buffer
		rec := cassette.Record(m.Model, &tape)
		for _, err := range rec.Stream(ctx, req) {
			if err != nil {
				break // it is recorded, too
			}
		}
		if err := rec.Err(); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		player, err := cassette.Replay(&tape)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		player.Stream(ctx, req)(yield)
	}
}
