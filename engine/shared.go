package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// What an engine does beside others on the same journal ([Options.Shared]).
const (
	// mostClaims bounds how many runs that nobody seems to drive are taken after one sweep.
	// All who are left look at the runs of one that died: each takes a few, chosen at
	// random, and what others have taken by then is not due any more.
	mostClaims = 64
	// listenPause is how long after one look for others' mail the next one comes, and
	// listenShare and mostListenPause keep it to a part of the time where the journal is slow.
	listenPause     = 700 * time.Millisecond
	listenShare     = 10
	mostListenPause = 5 * time.Second
)

// keepListening asks the journal what others have left for the runs that are driven here.
// It is a goroutine of an engine that is not alone, and costs one statement a look.
func (l *Local) keepListening() {
	took := time.Duration(0)
	for {
		pause := time.NewTimer(around(min(max(listenPause, listenShare*took), mostListenPause)))
		select {
		case <-l.draining: // drives that are handed back are not hurried by mail
			pause.Stop()
			return
		case <-pause.C:
		}
		begun := time.Now()
		if err := l.listen(l.own); err != nil && l.own.Err() == nil {
			l.options.Log.Warn("the journal did not say what others left for runs", "error", err)
		}
		took = time.Since(begun)
	}
}

// listen rings for mail that others have left, once for each letter, and stops what is to
// be cancelled.
func (l *Local) listen(ctx context.Context) error {
	l.mu.Lock()
	driven := make([]string, 0, l.queue.running)
	for id, t := range l.tasks {
		if t.state == running {
			driven = append(driven, id)
		}
	}
	l.mu.Unlock()
	if len(driven) == 0 {
		return nil
	}
	posted, err := l.store.Posted(ctx, driven)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, p := range posted {
		t := l.tasks[id]
		if t == nil || t.state != running {
			continue
		}
		if p.Cancelled && !t.stopped {
			t.stopped = true
			t.cancel(&event.Error{Op: "run", Kind: event.ErrCancelled, Message: "somebody asked for the run to be cancelled"})
		}
		if p.Mark != 0 && p.Mark != t.heard {
			t.heard, t.roused = p.Mark, true
			ring(t.mail)
		}
	}
	return nil
}

// claim gives those of the runs that are due which this engine is to look at: the ones that
// it knows, and of the others some that have lost their driver, or lay there already when it looked last. What has
// just been admitted is its own process's first: there its reader waits.
func (l *Local) claim(rows []journal.Run) []journal.Run {
	lying := make(map[string]struct{}, len(rows))
	var known, strange []journal.Run
	for i := range rows {
		id := rows[i].ID
		if l.tasks[id] != nil {
			known = append(known, rows[i])
			continue
		}
		lying[id] = struct{}{}
		if _, before := l.lying[id]; before || rows[i].Status == event.RunRunning {
			strange = append(strange, rows[i])
		}
	}
	l.lying = lying
	// What could not be driven at once is better left to somebody who can.
	room := min(max(l.queue.most-l.queue.running-l.queue.ready, 0), mostClaims)
	if room < len(strange) {
		rand.Shuffle(len(strange), func(i, j int) { //nolint:gosec // only to differ from others
			strange[i], strange[j] = strange[j], strange[i]
		})
		strange = strange[:room]
	}
	return append(known, strange...)
}

// around is a time that is not the same for all: those who began together need not ask together.
func around(d time.Duration) time.Duration { return d*4/5 + rand.N(d*2/5+1) } //nolint:gosec // only to differ from others
