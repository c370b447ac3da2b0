// Package idle cancels a call to a model's provider after a silence.
package idle

import (
	"context"
	"errors"
	"io"
	"time"
)

var errStalled = errors.New("nothing came for too long")

// Guard cancels a call after a silence. Only waiting for data counts: the reader of the answer may
// take any time. It belongs to the call's goroutine and must be ended.
type Guard struct {
	ctx    context.Context //nolint:containedctx // the call's own
	outer  context.Context //nolint:containedctx // the caller's
	cancel context.CancelCauseFunc
	after  time.Duration
	timer  *time.Timer
	// answered is set once the answer has begun.
	answered bool
}

// New returns a guard for a call under ctx. after ≤ 0 means no limit.
func New(ctx context.Context, after time.Duration) *Guard {
	g := &Guard{outer: ctx, after: after}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	if after > 0 {
		g.timer = time.AfterFunc(after, func() { g.cancel(errStalled) })
		g.timer.Stop()
	}
	return g
}

// Context returns the call's context, which ends with the caller's, with a stall, and with End.
func (g *Guard) Context() context.Context { return g.ctx }

// Outer returns the caller's context.
func (g *Guard) Outer() context.Context { return g.outer }

// After returns the longest silence.
func (g *Guard) After() time.Duration { return g.after }

// Cancel cancels the call for another reason than a stall.
func (g *Guard) Cancel() { g.cancel(nil) }

// Arm starts the timer, Rest stops it.
func (g *Guard) Arm() {
	if g.timer != nil {
		g.timer.Reset(g.after)
	}
}

// Rest stops the timer.
func (g *Guard) Rest() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// End releases the call. It closes the connection of an unfinished answer.
func (g *Guard) End() {
	g.Rest()
	g.cancel(nil)
}

// Stalled reports whether the guard cancelled the call.
func (g *Guard) Stalled() bool {
	return g.outer.Err() == nil && errors.Is(context.Cause(g.ctx), errStalled)
}

// Begun reports whether the answer has begun.
func (g *Guard) Begun() bool { return g.answered }

// Drain reads the rest of a complete answer, so that the connection can be reused. It waits at most
// 20 ms.
func (g *Guard) Drain(r io.Reader) {
	t := time.AfterFunc(20*time.Millisecond, g.Cancel)
	defer t.Stop()
	const most = 64 << 10
	_, _ = io.CopyN(io.Discard, r, most) // if that fails the connection is closed
}

// Reading returns a reader of the answer whose silence is limited.
func (g *Guard) Reading(r io.Reader) io.Reader {
	g.answered = true
	return guarded{g, r}
}

type guarded struct {
	*Guard

	r io.Reader
}

func (g guarded) Read(p []byte) (int, error) {
	g.Arm()
	defer g.Rest()
	return g.r.Read(p)
}
