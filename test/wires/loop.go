package wires

import (
	"context"
	"iter"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
)

// Loop runs an agent on the model with one input, for [modeltest.Provider].
func Loop(ctx context.Context, m model.Model, input string) iter.Seq2[event.Event, error] {
	quick := braid.Retries(braid.Retry{Attempts: modeltest.Attempts, Base: time.Millisecond, Exact: true})
	return braid.New("a", m, quick).Stream(ctx, input)
}
