package engine

import (
	"context"
	"time"

	"github.com/braidrun/braid/journal"
)

const (
	// sweepPage is how many rows a sweep asks for beside those that are known.
	sweepPage = 1000
	// sweepShare keeps sweeping to a small part of the time: after one that
	// took long, the next one waits so many times as long, but never longer than
	// mostPause: one answer that was slow must not leave a dead driver's runs lying.
	sweepShare = 50
	mostPause  = 10 * time.Second
	// mostSharedPause is mostPause beside other processes, whose runs go on here within two seconds after their leases.
	mostSharedPause = 1300 * time.Millisecond
)

// keepSweeping asks the journal now and then what is due. It is one of the
// engine's two goroutines. took is how long the last sweep was.
func (l *Local) keepSweeping(took time.Duration) {
	for {
		most := mostPause
		if l.options.Shared {
			most = mostSharedPause
		}
		wait := max(l.options.Sweep, min(sweepShare*took, most))
		if l.options.Shared {
			wait = around(wait)
		}
		pause := time.NewTimer(wait)
		select {
		case <-l.draining:
			pause.Stop()
			return
		case <-l.broom:
			pause.Stop()
		case <-pause.C:
		}
		var err error
		if took, err = l.sweep(l.own); err != nil && l.own.Err() == nil {
			l.options.Log.Warn("the journal did not say what is due", "error", err)
		}
	}
}

// wantSweep has the next sweep come at once.
func (l *Local) wantSweep() { ring(l.broom) }

// sweep queues what the journal says is due and the engine does not know. Where
// one tenant's runs are more than it may queue, it looks further, so that they
// do not hide the others'.
func (l *Local) sweep(ctx context.Context) (took time.Duration, err error) {
	begun := time.Now()
	defer func() { took = time.Since(begun) }()
	l.mu.Lock()
	limit := len(l.tasks) + sweepPage
	l.sweeping, l.left = true, map[string]struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sweeping, l.left = false, nil
	}()
	for {
		rows, err := l.store.Due(ctx, limit)
		if err != nil {
			return 0, err
		}
		if hidden := l.take(rows); !hidden || len(rows) < limit || l.options.Shared {
			return 0, nil
		}
		limit *= 4
	}
}

// take queues due runs. It reports whether there was room for more.
func (l *Local) take(rows []journal.Run) (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.dispatch()
	if l.options.Shared {
		rows = l.claim(rows)
	}
	for i := range rows {
		if l.phase == drained {
			return false
		}
		row := &rows[i]
		if t := l.tasks[row.ID]; t != nil {
			l.due(t)
			continue
		}
		if _, old := l.left[row.ID]; old {
			continue
		}
		// What is blocked does not count: it may wait for this very run.
		if l.queue.ready >= l.options.Backlog {
			return false
		}
		tenant := l.queue.tenant(row.Tenant, l.options.share)
		if len(tenant.ready) < tenant.share.Backlog {
			l.enqueue(l.know(*row))
		}
		l.queue.tidy(tenant)
	}
	return true
}

// due takes in that a known run is due.
func (l *Local) due(t *task) {
	switch t.state {
	case blocked:
		t.refused = false
		l.queue.settle(l.talks[t.talkKey()])
	case delayed:
		if t.fails == 0 {
			l.undelay(t)
			l.enqueue(t)
		}
	case idle, ready, running:
	}
}
