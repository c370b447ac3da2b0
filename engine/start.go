package engine

import (
	"context"

	"github.com/braidrun/braid/event"
)

// Start implements [Engine].
func (l *Local) Start(ctx context.Context) error {
	l.mu.Lock()
	if l.phase != fresh {
		l.mu.Unlock()
		return &event.Error{
			Op: "start engine", Kind: event.ErrConflict, Message: "the engine was started before",
			Hint: "start each engine once; make a new one after a drain",
		}
	}
	l.phase = starting
	l.mu.Unlock()

	took, err := l.sweep(ctx)

	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.phase == drained:
		return closing("start engine")
	case err != nil:
		l.phase = fresh
		return err
	}
	l.phase = started
	l.life.base, l.life.end = context.WithCancelCause(context.WithoutCancel(ctx)) //nolint:fatcontext // an engine starts once
	l.life.own, l.life.rest = context.WithCancel(l.life.base)
	l.life.work.Go(l.runTimers)
	l.life.work.Go(func() { l.runSweeps(took) })
	if l.options.Shared {
		l.life.work.Go(l.pollMail)
	}
	l.dispatch()
	return nil
}
