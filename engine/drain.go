package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
)

// Drain implements [Engine].
func (l *Local) Drain(ctx context.Context) error {
	l.mu.Lock()
	first := l.phase != drained
	if first {
		l.phase = drained
		close(l.life.draining)
		if l.life.rest != nil {
			l.life.rest()
		}
		for _, t := range l.tasks {
			l.drop(t)
		}
		for len(l.queue.turn) > 0 {
			l.queue.leave(l.queue.turn[0])
		}
		go l.waitForAll()
	}
	end := l.life.end
	l.mu.Unlock()

	grace := time.NewTimer(max(l.options.Grace, 0))
	defer grace.Stop()
	select {
	case <-l.life.drained:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	if end != nil {
		end(closing("run"))
	}
	select {
	case <-l.life.drained:
		return nil
	case <-ctx.Done():
	}
	// Drives that honour their context return in a moment.
	settle := time.NewTimer(settleTime)
	defer settle.Stop()
	select {
	case <-l.life.drained:
		return nil
	case <-settle.C:
		l.mu.Lock()
		defer l.mu.Unlock()
		return &event.Error{
			Op: "drain", Kind: event.ErrTimeout,
			Message: strconv.Itoa(l.queue.running) + " runs are still being driven",
			Hint:    "they go on in the next process; their tools may still have effects in this one",
		}
	}
}

// settleTime is how long cancelled drives have if ctx has already ended.
const settleTime = 100 * time.Millisecond

// waitForAll returns when all goroutines of the engine have ended.
func (l *Local) waitForAll() {
	defer close(l.life.drained)
	l.life.drives.Wait()
	l.life.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.end != nil {
		l.life.end(nil)
	}
}

// drop removes a task that is not being driven.
func (l *Local) drop(t *task) {
	switch t.state {
	case running:
		return
	case delayed:
		l.undelay(t)
	case ready, blocked:
		l.queue.set(t, idle)
	case idle:
	}
	l.forget(t)
}
