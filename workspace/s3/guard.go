package s3

import (
	"context"
	"errors"
	"io"
	"time"
)

// errStalled ends a request whose store has sent or taken nothing for a while.
var errStalled = errors.New("the store does not answer")

// guard cancels a request that does not move.
type guard struct {
	timer  *time.Timer
	stall  time.Duration
	cancel context.CancelCauseFunc
}

// watch returns a context that ends after stall, unless moved is called before.
func watch(ctx context.Context, stall time.Duration) (context.Context, *guard) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &guard{timer: time.AfterFunc(stall, func() { cancel(errStalled) }), stall: stall, cancel: cancel}
}

func (g *guard) moved() { g.timer.Reset(g.stall) }

func (g *guard) stop() {
	g.timer.Stop()
	g.cancel(nil)
}

// guardedBody reports each read to its guard. Closing the body of a response ends the guard.
type guardedBody struct {
	io.ReadCloser

	guard *guard
	// lasts reports that the guard goes on after this body, which is that of the request.
	lasts bool
}

// Read implements io.Reader.
func (g *guardedBody) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	if n > 0 {
		g.guard.moved()
	}
	return n, err
}

// Close implements io.Closer.
func (g *guardedBody) Close() error {
	err := g.ReadCloser.Close()
	if !g.lasts {
		g.guard.stop()
	}
	return err
}
