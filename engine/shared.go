package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// These bound what an engine does beside others on the same journal ([Options.Shared]).
const (
	// mostClaims bounds how many runs without a driver are taken after one sweep. All engines see
	// the runs of one that died. Each takes a few at random, and those that others have taken are
	// no longer due.
	mostClaims = 64
	// listenPause is the pause between two polls for mail from other processes. If the journal is
	// slow, listenShare makes it longer, up to mostListenPause.
	listenPause     = 700 * time.Millisecond
	listenShare     = 10
	mostListenPause = 5 * time.Second
)

// pollMail asks the journal what other processes posted for the runs that are driven here. It is a
// goroutine of an engine with Shared, and each poll is one statement.
func (l *Local) pollMail() {
	took := time.Duration(0)
	for {
		pause := time.NewTimer(around(min(max(listenPause, listenShare*took), mostListenPause)))
		select {
		case <-l.life.draining: // mail does not hurry runs that are being released
			pause.Stop()
			return
		case <-pause.C:
		}
		begun := time.Now()
		if err := l.listen(l.life.own); err != nil && l.life.own.Err() == nil {
			l.options.Log.Warn("the journal did not say what others left for runs", "error", err)
		}
		took = time.Since(begun)
	}
}

// listen notifies the drives of new mail, once for each message, and cancels runs whose
// cancellation was requested.
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
		if p.Mark != 0 && p.Mark != t.mark {
			t.mark, t.woken = p.Mark, true
			notify(t.mail)
		}
	}
	return nil
}

// claim returns the due runs that this engine takes: those that it knows, and some of the others
// that lost their driver or were already due at the last sweep. A run that was just admitted
// belongs to its own process, where its reader waits.
func (l *Local) claim(rows []journal.Run) []journal.Run {
	unclaimed := make(map[string]struct{}, len(rows))
	var known, strange []journal.Run
	for i := range rows {
		id := rows[i].ID
		if l.tasks[id] != nil {
			known = append(known, rows[i])
			continue
		}
		unclaimed[id] = struct{}{}
		if _, before := l.unclaimed[id]; before || rows[i].Status == event.RunRunning {
			strange = append(strange, rows[i])
		}
	}
	l.unclaimed = unclaimed
	// Leave to others what could not be driven at once.
	room := min(max(l.queue.most-l.queue.running-l.queue.ready, 0), mostClaims)
	if room < len(strange) {
		rand.Shuffle(len(strange), func(i, j int) { //nolint:gosec // spreads the engines
			strange[i], strange[j] = strange[j], strange[i]
		})
		strange = strange[:room]
	}
	return append(known, strange...)
}

// around returns about d, so that engines that started together do not poll together.
func around(d time.Duration) time.Duration { return d*4/5 + rand.N(d*2/5+1) } //nolint:gosec // spreads the engines
