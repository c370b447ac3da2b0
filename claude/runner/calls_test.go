package runner_test

import (
	"context"
	"iter"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// calls is a model that calls the agent below, and then answers.
type calls struct{}

func (calls) Info() model.Info { return model.Info{Name: "calls"} }

func (calls) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if len(r.Messages) > 1 {
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "Done."}, nil) && yield(model.Chunk{Kind: model.ChunkStop}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c", Text: "below"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkCallInput, Text: `{"input":"x"}`}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
	}
}
