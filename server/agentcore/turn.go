package agentcore

import (
	"context"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	wire "github.com/braidrun/braid/wire/agentcore"
)

// turn reads a run for one invocation.
type turn struct {
	front.Turn

	x       *exchange
	encoder wire.Encoder
	// keyed means that an SDK can repeat the invocation by its id.
	keyed bool
}

// newTurn makes the turn of an invocation.
func newTurn(x *exchange, conv string, in *asked) *turn {
	s := in.stream
	t := &turn{
		x: x, keyed: in.run.Key != "",
		encoder: wire.Encoder{ASCII: s.ASCII, Copies: s.Data, Announce: s.ToolUse},
	}
	t.Open(&x.Exchange, conv, &t.encoder)
	return t
}

// serve sends server-sent events.
func (t *turn) serve(ctx context.Context) {
	t.x.W.Header().Set("Cache-Control", "no-cache")
	t.x.Stream(ctx, &t.Stream, wire.Wire)
}

// discard ignores the stream, for requests that only wait for the run.
func discard([]byte, time.Time) error { return nil }

// collect waits for the end of the run and responds with its result.
func (t *turn) collect(ctx context.Context) error {
	err := t.Send(ctx, discard)
	ended, end := door.Ended(ctx), t.Story.Now().End
	switch {
	case err != nil && ended != nil:
		return ended
	case err != nil:
		return wire.Kept(err)
	case !t.Over:
		return ctx.Err()
	case end != nil && end.Status == event.RunFailed:
		return failed(end.Err)
	}
	t.x.body(http.StatusOK, t.encoder.AppendResult(nil, end, t.Pause.Open))
	return nil
}
