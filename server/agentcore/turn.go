package agentcore

import (
	"context"
	"net/http"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/agentcore"
)

type question = braid.Question

// turn is the reading of a run for one invocation. One goroutine does everything: it
// takes all that is ready and sends it in one write, so that nothing is held back and a
// burst costs one write. Whoever reads too slowly is cut back to a snapshot by the bus,
// and nobody waits for them.
type turn struct {
	x         *exchange
	conv, run string
	follower  *live.Follower
	encoder   wire.Encoder
	items     [turnPage]live.Item
	// early is how many of the items were read before the stream began.
	early int

	// asked says that the run may wait for answers, awaited are those that were just
	// given and have not been taken in.
	asked   bool
	awaited map[string]bool
	// notices says why nothing comes of the run.
	notices service.RunNotices
	// last is the Seq of the last durable event that was told.
	last int64
	// resumed says that the stream is the second of its run, or a later one.
	resumed bool
	// over is set when there is nothing more to tell: the run has ended, which end says,
	// or it waits, for open.
	over bool
	end  *event.RunEnded
	open []event.Asked
	// broken says that the service gave the reader up.
	broken bool
	// keyed says that the invocation has an id by which an SDK can repeat it.
	keyed bool
}

// turnPage is how many events are taken at a time; what is ready behind them goes into
// the same write until that has about turnBytes, or turnPages were taken: events may give
// no bytes, and whoever has left is to be noticed.
const (
	turnPage  = 16
	turnPages = 64
	turnBytes = 32 << 10
)

// waitPoll is how often a run that has asked something is looked at: whether all
// of it waits now.
const waitPoll = 100 * time.Millisecond

func newTurn(x *exchange, conv, run string, in *asked) *turn {
	s := in.stream
	return &turn{
		x: x, conv: conv, run: run, keyed: in.run.Key != "",
		encoder: wire.Encoder{ASCII: s.ASCII, Copies: s.Data, Announce: s.ToolUse},
	}
}

// primePage is how many events are read at a time to find out what a reader has.
const primePage = 512

// follow reads the session from a place on. What is there is read at once, so that a session that cannot be read is refused
// before the stream begins.
func (t *turn) follow(ctx context.Context, after int64) (err error) {
	if t.follower, err = t.x.h.service.Follow(ctx, t.x.who.Principal, t.conv, after); err != nil {
		return err
	}
	if t.early, err = t.follower.ReadBy(ctx, t.items[:], time.Now()); err != nil {
		t.follower.Close()
	}
	return err
}

// prime gives the encoder what the reader has of the run that waits: all events before the first of the
// answers that were just given. It returns the place in the log up to which that is.
func (t *turn) prime(ctx context.Context) (at int64, err error) {
	t.resumed = true
	for {
		events, err := t.x.h.service.Events(ctx, t.x.who.Principal, t.conv, at, primePage)
		if err != nil || len(events) == 0 {
			t.last = at
			return at, err
		}
		for _, e := range events {
			if b, ok := e.Body.(*event.Answered); ok && t.awaited[b.Token] { // the request is repeated
				t.last = at
				return at, nil
			}
			t.encoder.Append(nil, e) // a run that has begun later leaves nothing of the one before
			at = e.Seq
		}
	}
}

// next waits for something to tell and appends it; with nothing it comes back after a while.
func (t *turn) next(ctx context.Context, buf []byte) ([]byte, error) {
	if t.resumed {
		t.resumed = false
		return t.encoder.AppendResumed(buf), nil
	}
	by := time.Now()
	if due := t.notices.Due(); due.After(by) {
		by = due
	}
	if poll := time.Now().Add(waitPoll); t.asked && poll.Before(by) {
		by = poll
	}
	n, err := t.early, error(nil)
	if t.early = 0; n == 0 {
		n, err = t.follower.ReadBy(ctx, t.items[:], by)
	}
	if err != nil {
		return buf, err
	}
	if n > 0 {
		t.notices.Came()
	} else if !time.Now().Before(t.notices.Due()) {
		if code, says := t.notices.Look(t.x.h.service, t.run); code != "" {
			buf = t.encoder.AppendNotice(buf, code, says)
		}
	}
	for page := 1; n > 0; page++ {
		for i := range t.items[:n] {
			if buf = t.append(buf, &t.items[i]); t.over {
				break
			}
		}
		clear(t.items[:n]) // an event must not be kept for as long as nothing comes
		if t.over || n < len(t.items) || len(buf) >= turnBytes || page == turnPages {
			break
		}
		n = t.follower.Ready(t.items[:])
	}
	if t.asked && !t.over && len(t.awaited) == 0 {
		return t.look(ctx, buf)
	}
	return buf, nil
}

// append makes the bytes of one item.
func (t *turn) append(buf []byte, item *live.Item) []byte {
	if item.Sync != nil {
		for i := range item.Sync.Steps {
			if step := &item.Sync.Steps[i]; step.Run == t.run {
				buf = t.encoder.AppendSnapshot(buf, step)
			}
		}
		return buf
	}
	e := item.Event
	if !e.Live() {
		t.last = e.Seq
	}
	if e.Run != t.run {
		return buf
	}
	switch b := e.Body.(type) {
	case *event.Asked:
		t.asked = true
	case *event.Answered:
		delete(t.awaited, b.Token)
	case *event.RunEnded:
		t.over, t.end = true, b
	}
	return t.encoder.Append(buf, e)
}

// look finds out whether the run waits for a person now: then the stream is over, and
// another request brings the answers.
func (t *turn) look(ctx context.Context, buf []byte) ([]byte, error) {
	s := t.x.h.service
	run, err := s.GetRun(ctx, t.x.who.Principal, t.conv, t.run)
	if err != nil || run.Status != event.RunWaiting {
		return buf, err
	}
	open, err := s.Questions(ctx, t.x.who.Principal, t.conv)
	if err != nil {
		return buf, err
	}
	if len(open) == 0 {
		t.asked = false
		return buf, nil
	}
	// Whoever waits writes nothing: what there is was told, or comes first.
	if rest, err := s.Events(ctx, t.x.who.Principal, t.conv, t.last, 1); err != nil || len(rest) > 0 {
		return buf, err
	}
	for i := range open {
		t.open = append(t.open, open[i].Asked)
	}
	t.over = true
	return t.encoder.AppendInterrupted(buf), nil
}

// close frees the follower. If the reader left before the end, the run is cancelled.
func (t *turn) close() {
	t.follower.Close()
	t.leave()
}

// stream sends server-sent events. Once its head is out no error is returned: what goes
// wrong is told on the stream itself.
func (t *turn) stream(ctx context.Context) {
	x := t.x
	head := x.w.Header()
	head.Set("Content-Type", "text/event-stream; charset=utf-8")
	head.Set("Cache-Control", "no-cache")
	head.Set("X-Accel-Buffering", "no") // a proxy that buffers would hold back what is there
	x.head(http.StatusOK)
	out := writer{w: x.w, control: http.NewResponseController(x.w), time: x.h.options.WriteTime}
	if out.write(nil) != nil {
		return
	}
	t.pump(ctx, out.write)
}

// pump hands what there is to tell to send, until that is all or send fails.
func (t *turn) pump(ctx context.Context, send func([]byte) error) {
	var buf []byte
	for !t.over {
		var err error
		buf, err = t.next(ctx, buf[:0])
		switch ended := door.Ended(ctx); {
		case ended != nil:
			t.broken = true
			_ = send(t.encoder.AppendBroken(buf[:0], ended)) // it is the last thing that can be said
			return
		case err != nil && ctx.Err() != nil:
			return // the reader has gone
		case err != nil:
			t.broken = true
			t.x.h.log.Warn("a stream was interrupted", "request", t.x.id, "error", err)
			_ = send(t.encoder.AppendBroken(buf, broken(err))) // it is the last thing that can be said
			return
		}
		if len(buf) == 0 {
			continue
		}
		if send(buf) != nil {
			return
		}
		if cap(buf) > 1<<20 {
			buf = nil // one large event must not be paid for as long as the stream lives
		}
	}
}

// broken is what a reader is told whose stream ends before its run.
func broken(err error) *event.Error {
	return &event.Error{Kind: event.ErrUnavailable, Message: "the server ends the stream; the run is kept", Err: err}
}

// collect waits for the run's end and answers with it.
func (t *turn) collect(ctx context.Context) error {
	var buf []byte
	for !t.over {
		var err error
		if buf, err = t.next(ctx, buf[:0]); err != nil {
			if ended := door.Ended(ctx); ended != nil {
				t.broken = true
				return ended
			}
			t.broken = ctx.Err() == nil
			if t.broken {
				return broken(err)
			}
			return err
		}
	}
	if t.end != nil && t.end.Status == event.RunFailed {
		return failed(t.end.Err)
	}
	t.x.body(http.StatusOK, t.encoder.AppendResult(nil, t.end, t.open))
	return nil
}

// writer writes to a reader that may be slow.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	time    time.Duration
	// bound is when the deadline was set.
	bound time.Time
}

// write sends b at once.
func (o *writer) write(b []byte) error {
	if now := time.Now(); now.Sub(o.bound) >= o.time/8 { // moving it each time would cost a timer an event
		o.bound = now
		_ = o.control.SetWriteDeadline(now.Add(o.time)) // where there are no deadlines, TCP's are left
	}
	if len(b) > 0 {
		if _, err := o.w.Write(b); err != nil {
			return err
		}
	}
	return o.control.Flush()
}
