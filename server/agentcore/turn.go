package agentcore

import (
	"context"
	"net/http"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/stream"
	wire "github.com/braidrun/braid/wire/agentcore"
)

type question = braid.Question

// turn is the reading of a run for one invocation.
type turn struct {
	stream.Stream

	x       *exchange
	conv    string
	encoder wire.Encoder

	// asked says that the run may wait for answers, awaited are those that were just
	// given and have not been taken in.
	asked   bool
	awaited map[string]bool
	// last is the Seq of the last durable event that was told.
	last int64
	// end is the run's end, and open what it waits for, once the encoder is done.
	end  *event.RunEnded
	open []event.Asked
	// keyed says that the invocation has an id by which an SDK can repeat it.
	keyed bool
}

// waitPoll is how often a run that has asked something is looked at: whether all
// of it waits now.
const waitPoll = 100 * time.Millisecond

// newTurn makes the turn of an invocation, for a run or, if run is empty, for one that show names later.
func newTurn(x *exchange, conv, run string, in *asked) *turn {
	s := in.stream
	t := &turn{
		x: x, conv: conv, keyed: in.run.Key != "",
		encoder: wire.Encoder{ASCII: s.ASCII, Copies: s.Data, Announce: s.ToolUse},
	}
	t.Encoder, t.Extra, t.Service = &t.encoder, t, x.h.service
	t.show(run)
	return t
}

// show sets the run that the turn is about.
func (t *turn) show(run string) { t.Run, t.encoder.Run = run, run }

// follow reads the session from a place on. What is there is read at once, so that a session that cannot be read is refused
// before the stream begins.
func (t *turn) follow(ctx context.Context, after int64) (err error) {
	if t.Follower, err = t.x.h.service.Follow(ctx, t.x.who.Principal, t.conv, after); err != nil {
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
	log := func(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
		return t.x.h.service.Events(ctx, t.x.who.Principal, t.conv, after, limit)
	}
	at, err = t.Skip(ctx, log, stream.ToTheEnd, func(e *event.Event) bool {
		b, ok := e.Body.(*event.Answered)
		return ok && t.awaited[b.Token] // the request is repeated
	})
	t.last, t.First = at, t.encoder.AppendResumed(nil)
	return at, err
}

// Before notes what an event says about the run. It appends nothing.
func (t *turn) Before(_ context.Context, dst []byte, e *event.Event) []byte {
	if !e.Live() {
		t.last = e.Seq
	}
	if e.Run != t.Run {
		return dst
	}
	switch b := e.Body.(type) {
	case *event.Asked:
		t.asked = true
	case *event.Answered:
		delete(t.awaited, b.Token)
	case *event.RunEnded:
		t.end = b
	}
	return dst
}

// Due returns when to look whether the run waits.
func (t *turn) Due() time.Time {
	if !t.asked {
		return time.Time{}
	}
	return time.Now().Add(waitPoll)
}

// Look ends the stream if the run waits for a person now: another request brings the answers.
func (t *turn) Look(ctx context.Context, dst []byte) ([]byte, error) {
	if !t.asked || len(t.awaited) > 0 {
		return dst, nil
	}
	s := t.x.h.service
	run, err := s.GetRun(ctx, t.x.who.Principal, t.conv, t.Run)
	if err != nil || run.Status != event.RunWaiting {
		return dst, err
	}
	open, err := s.Questions(ctx, t.x.who.Principal, t.conv)
	if err != nil {
		return dst, err
	}
	if len(open) == 0 {
		t.asked = false
		return dst, nil
	}
	// Whoever waits writes nothing: what there is was told, or comes first.
	if rest, err := s.Events(ctx, t.x.who.Principal, t.conv, t.last, 1); err != nil || len(rest) > 0 {
		return dst, err
	}
	for i := range open {
		t.open = append(t.open, open[i].Asked)
	}
	return t.encoder.AppendInterrupted(dst), nil
}

// close frees the follower. If the reader left before the end, the run is cancelled.
func (t *turn) close() {
	t.Follower.Close()
	t.leave()
}

// serve sends server-sent events. Once its head is out no error is returned: what goes
// wrong is told on the stream itself.
func (t *turn) serve(ctx context.Context) {
	x := t.x
	head := x.w.Header()
	stream.Head(head, "text/event-stream; charset=utf-8")
	head.Set("Cache-Control", "no-cache")
	x.head(http.StatusOK)
	t.log(ctx, t.Serve(ctx, &stream.Writer{Response: x.w, Time: x.h.options.WriteTime}))
}

// log says why the server has ended the stream, unless the credential's end is why; err is what [stream.Stream.Send] returned.
func (t *turn) log(ctx context.Context, err error) {
	if err != nil && door.Ended(ctx) == nil {
		t.x.h.log.Warn("a stream was interrupted", "request", t.x.id, "error", err)
	}
}

// discard is for requests that wait for the run and want no stream.
func discard([]byte, time.Time) error { return nil }

// collect waits for the run's end and answers with it.
func (t *turn) collect(ctx context.Context) error {
	err := t.Send(ctx, discard)
	ended := door.Ended(ctx)
	switch {
	case err != nil && ended != nil:
		return ended
	case err != nil:
		return wire.Kept(err)
	case !t.encoder.Done():
		return ctx.Err()
	case t.end != nil && t.end.Status == event.RunFailed:
		return failed(t.end.Err)
	}
	t.x.body(http.StatusOK, t.encoder.AppendResult(nil, t.end, t.open))
	return nil
}
