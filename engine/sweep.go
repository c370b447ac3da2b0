package engine

import (
	"context"
	"time"

	"github.com/braidrun/braid/journal"
)

const (
	// sweepPage is how many rows a sweep asks for beside the known ones.
	sweepPage = 1000
	// sweepShare makes the pause at least so many times as long as a sweep takes.
	sweepShare = 50
	// mostPause bounds the pause: after one slow sweep a dead driver's runs must not wait long.
	mostPause = 10 * time.Second
	// mostSharedPause is mostPause with Shared: other processes' runs go on here within two seconds
	// after their leases end.
	mostSharedPause = 1300 * time.Millisecond
)

// runSweeps asks the journal regularly for due runs. It is one of the engine's goroutines. took is
// the duration of the last sweep.
func (l *Local) runSweeps(took time.Duration) {
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
		case <-l.life.draining:
			pause.Stop()
			return
		case <-l.sweepNow:
			pause.Stop()
		case <-pause.C:
		}
		var err error
		if took, err = l.sweep(l.life.own); err != nil && l.life.own.Err() == nil {
			l.options.Log.Warn("the journal did not return the due runs", "error", err)
		}
	}
}

// sweep queues the due runs that the engine does not know. If one tenant has more than it may
// queue, it reads further, so that these do not hide the others'.
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
		// Blocked runs do not count: they may wait for this very run.
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

// due handles a known run that is due.
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
