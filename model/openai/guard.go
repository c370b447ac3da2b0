package openai

import (
	"context"
	"errors"
	"io"
	"time"
)

var errStalled = errors.New("nothing came for too long")

// guard ends a call when nothing comes for a while. Only waiting counts: a
// reader of the answer may take as long as it likes.
type guard struct {
	ctx    context.Context //nolint:containedctx // it is this call's own
	outer  context.Context //nolint:containedctx // and this its caller's
	cancel context.CancelCauseFunc
	after  time.Duration
	timer  *time.Timer
	// answered is set once the answer has begun to come.
	answered bool
}

func newGuard(ctx context.Context, after time.Duration) *guard {
	g := &guard{outer: ctx, after: after}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	if after > 0 {
		g.timer = time.AfterFunc(after, func() { g.cancel(errStalled) })
		g.timer.Stop()
	}
	return g
}

// arm begins to wait, rest ends it.
func (g *guard) arm() {
	if g.timer != nil {
		g.timer.Reset(g.after)
	}
}

func (g *guard) rest() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// end frees what the call holds: a connection whose answer has not ended is closed.
func (g *guard) end() {
	g.rest()
	g.cancel(nil)
}

// stalled reports whether it was the guard that ended the call.
func (g *guard) stalled() bool {
	return g.outer.Err() == nil && errors.Is(context.Cause(g.ctx), errStalled)
}

// begun reports whether the server had begun to answer.
func (g *guard) begun() bool { return g.answered }

// reading is a reader that may not keep silent.
func (g *guard) reading(r io.Reader) io.Reader {
	g.answered = true
	return guarded{g, r}
}

type guarded struct {
	*guard
	r io.Reader
}

func (g guarded) Read(p []byte) (int, error) {
	g.arm()
	defer g.rest()
	return g.r.Read(p)
}
