package agentcore

import (
	"context"
	"net/http"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/server/stream"
	wire "github.com/braidrun/braid/wire/agentcore"
)

type question = braid.Question

// turn is the reading of a run for one invocation.
type turn struct {
	front.Turn

	x       *exchange
	encoder wire.Encoder
	// keyed says that the invocation has an id by which an SDK can repeat it.
	keyed bool
}

// newTurn makes the turn of an invocation, for a run or, if run is empty, for one that show names later.
func newTurn(x *exchange, conv, run string, in *asked) *turn {
	s := in.stream
	t := &turn{
		x: x, keyed: in.run.Key != "",
		encoder: wire.Encoder{ASCII: s.ASCII, Copies: s.Data, Announce: s.ToolUse},
	}
	t.Open(&x.Exchange, conv, &t.encoder)
	t.Story.Run = run
	return t
}

// follow reads the session from a place on. What is there is read at once, so that a session that cannot be read is refused
// before the stream begins.
func (t *turn) follow(ctx context.Context, after int64) (err error) {
	if err = t.Follow(ctx, after); err != nil {
		return err
	}
	if err = t.Ahead(ctx); err != nil {
		t.Follower.Close()
	}
	return err
}

// prime gives the encoder what the reader has of the run that waits: all events before the first of the
// answers that were just given. It returns the place in the log up to which that is.
func (t *turn) prime(ctx context.Context) (at int64, err error) {
	at, err = t.Skip(ctx, t.Log, stream.ToTheEnd, func(e *event.Event) bool {
		b, ok := e.Body.(*event.Answered)
		return ok && t.Pause.Awaited[b.Token] // the request is repeated
	})
	t.First = t.encoder.AppendResumed(nil)
	return at, err
}

// close frees the follower. If the reader left before the end, the run is cancelled.
func (t *turn) close() {
	t.Follower.Close()
	t.leave()
}

// serve sends server-sent events.
func (t *turn) serve(ctx context.Context) {
	t.x.W.Header().Set("Cache-Control", "no-cache")
	t.x.Stream(ctx, &t.Stream, wire.Wire)
}

// discard is for requests that wait for the run and want no stream.
func discard([]byte, time.Time) error { return nil }

// collect waits for the run's end and answers with it.
func (t *turn) collect(ctx context.Context) error {
	err := t.Send(ctx, discard)
	ended, end := door.Ended(ctx), t.Story.Now().End
	switch {
	case err != nil && ended != nil:
		return ended
	case err != nil:
		return wire.Kept(err)
	case !t.encoder.Done():
		return ctx.Err()
	case end != nil && end.Status == event.RunFailed:
		return failed(end.Err)
	}
	t.x.body(http.StatusOK, t.encoder.AppendResult(nil, end, t.Pause.Open))
	return nil
}
