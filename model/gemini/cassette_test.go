package gemini_test

import (
	"bytes"
	"context"
	"iter"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
)

// taped replays a recording of the model. The contract holds for the replay too.
type taped struct{ model.Model }

func (m taped) Unwrap() model.Model { return m.Model }

// The model and the recording both end with ctx.
func (m taped) Cancellable() model.Model { return m }

func (m taped) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		var tape bytes.Buffer
		rec := cassette.Record(m.Model, &tape)
		for _, err := range rec.Stream(ctx, req) {
			if err != nil {
				break // the recording has it too
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
