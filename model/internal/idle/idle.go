// Package idle ends a call to a model's provider when nothing comes for a while.
package idle

import (
	"context"
	"errors"
	"io"
	"time"
)

var errStalled = errors.New("nothing came for too long")

// Guard ends a call when nothing comes for a while. Only waiting counts: a reader of
// the answer may take as long as it likes. It is used by the call's own goroutine, and
// must be ended.
type Guard struct {
	ctx    context.Context //nolint:containedctx // it is this call's own
	outer  context.Context //nolint:containedctx // and this its caller's
	cancel context.CancelCauseFunc
	after  time.Duration
	timer  *time.Timer
	// answered is set once the answer has begun to come.
	answered bool
}

// New makes a guard for a call under ctx; after ≤ 0 waits without end.
func New(ctx context.Context, after time.Duration) *Guard {
	g := &Guard{outer: ctx, after: after}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	if after > 0 {
		g.timer = time.AfterFunc(after, func() { g.cancel(errStalled) })
		g.timer.Stop()
	}
	return g
}

// Context is the call's: it ends with the caller's, with a stall, and with End.
func (g *Guard) Context() context.Context { return g.ctx }

// Outer is the caller's.
func (g *Guard) Outer() context.Context { return g.outer }

// After is how long may be waited.
func (g *Guard) After() time.Duration { return g.after }

// Cancel ends the call for another reason than a stall.
func (g *Guard) Cancel() { g.cancel(nil) }

// Arm begins to wait, Rest ends it.
func (g *Guard) Arm() {
	if g.timer != nil {
		g.timer.Reset(g.after)
	}
}

// Rest ends the waiting.
func (g *Guard) Rest() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// End frees what the call holds: a connection whose answer has not ended is closed.
func (g *Guard) End() {
	g.Rest()
	g.cancel(nil)
}

// Stalled reports whether it was the guard that ended the call.
func (g *Guard) Stalled() bool {
	return g.outer.Err() == nil && errors.Is(context.Cause(g.ctx), errStalled)
}

// Begun reports whether the other side had begun to answer.
func (g *Guard) Begun() bool { return g.answered }

// Drain reads the end of a whole answer, which is on its way, so that the
// connection can be used again. It waits 20 ms at most.
func (g *Guard) Drain(r io.Reader) {
	t := time.AfterFunc(20*time.Millisecond, g.Cancel)
	defer t.Stop()
	const most = 64 << 10
	_, _ = io.CopyN(io.Discard, r, most) // a connection that cannot is closed
}

// Reading is a reader that may not keep silent.
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
