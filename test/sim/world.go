package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// world is the state of a case: the processes, their clients, the outside world, and the record.
type world struct {
	c        Case
	scenario *scenario
	gate     *doorway
	// draw decides the clients' actions, independently of the gate.
	draw  *rand.Rand
	disks *disks

	mu      sync.Mutex
	procs   []*process
	current *process
	ready   chan struct{}
	closing bool
	counts  map[Seam]int
	fired   map[Strike]bool
	begun   time.Time
	quiet   time.Time
	// down is the time until which the journal refuses every call.
	down     time.Time
	names    map[string]string
	active   int
	viewers  []*viewer
	waiters  []*waiter
	record   record
	failures []failure
	base     journal.Journal
	work     sync.WaitGroup
}

// failure is a broken promise with its details.
type failure struct {
	promise string
	what    string
}

func (f failure) String() string { return f.promise + ": " + f.what }

// The limits of a case. A case that exceeds them does not terminate.
const (
	mostTurns = 20_000
	mostTime  = 5 * time.Minute
)

// play runs one case in a synctest bubble.
func play(c Case, d *disks) *world {
	w := &world{
		c: c, scenario: scenarios[c.Scenario], gate: newGate(c.Seed), disks: d,
		draw:   rand.New(rand.NewPCG(c.Seed, 1)), //nolint:gosec // no secrecy
		ready:  make(chan struct{}),
		counts: map[Seam]int{}, fired: map[Strike]bool{}, names: map[string]string{},
		begun: time.Now(), quiet: time.Now(),
	}
	w.record.init()
	w.base = d.first(c)
	if w.scenario.setup != nil {
		w.scenario.setup(w)
	}
	w.boot(w.base)
	w.scenario.clients(w)
	w.run()
	w.end()
	w.check()
	w.disks.close()
	return w
}

// run lets one call after another pass until everything is done.
func (w *world) run() {
	for {
		synctest.Wait()
		if w.gate.turns > mostTurns {
			w.fail("P8", "%d calls were made and there is no end", w.gate.turns)
			return
		}
		if w.gate.next() {
			continue
		}
		if w.done() {
			return
		}
		if time.Since(w.begun) > mostTime {
			w.stalled()
			return
		}
		// No call can proceed before time advances.
		pause := time.NewTimer(mostTime)
		select {
		case <-w.gate.news:
		case <-pause.C:
		}
		pause.Stop()
	}
}

// end makes all waiting calls return.
func (w *world) end() {
	w.mu.Lock()
	w.closing = true
	procs := w.procs
	w.mu.Unlock()
	for _, v := range w.viewers {
		v.stop()
	}
	w.mu.Lock()
	for _, one := range w.waiters {
		close(one.got)
	}
	w.waiters = nil
	w.mu.Unlock()
	for _, p := range procs {
		p.bury()
	}
	w.gate.open()
	w.work.Wait()
	lapse(time.Minute)
	synctest.Wait()
}

// over reports whether the case has ended: clients give up then.
func (w *world) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closing
}

func (w *world) spawn(f func()) {
	w.work.Go(f)
}

// done reports whether the clients are finished, all runs have ended and every watcher has seen
// their ends.
func (w *world) done() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	// A client that waits for an event is finished when none will come.
	if w.active > len(w.waiters) {
		return false
	}
	for _, v := range w.viewers {
		l := w.record.log(v.conv)
		if len(w.open(v.conv)) > 0 || v.have() < l.last() {
			return false
		}
	}
	return true
}

// open lists the conversation's open runs from the journal.
func (w *world) open(conv string) []journal.Run {
	rows, err := w.base.Queue(context.Background(), conv)
	if err != nil {
		w.failLocked("P1", "the journal does not say which runs are open: %v", err)
	}
	return rows
}

// stalled reports what did not happen.
func (w *world) stalled() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.viewers {
		for _, row := range w.open(v.conv) {
			name := w.aliasLocked(row.ID)
			run := w.record.run(row.ID, v.conv)
			switch {
			case row.Cancelled || slices.ContainsFunc(w.record.cancels, func(c cancelRecord) bool { return c.run == row.ID }):
				w.failLocked("P9", "%s was to be cancelled and is still %s", name, row.Status)
			case run.begun:
				w.failLocked("P8", "%s is %s and does not go on", name, row.Status)
			default:
				w.failLocked("P1", "%s was admitted and never began: it is %s", name, row.Status)
			}
		}
		if l := w.record.log(v.conv); v.have() < l.last() {
			w.failLocked("P7", "%s has %d of %d events and gets no more", v.name, v.have(), l.last())
		}
	}
	if w.active > 0 && len(w.failures) == 0 {
		w.failLocked("P8", "%d clients do not get on", w.active)
	}
}

// reachable makes p the process that clients reach.
func (w *world) reachable(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-p.gone:
		return
	default:
	}
	w.current = p
	w.record.ready(p)
	close(w.ready)
	w.ready = make(chan struct{})
}

// reach waits for a process that answers; nil at the end.
func (w *world) reach() *process {
	for {
		w.mu.Lock()
		p, ready := w.current, w.ready
		w.mu.Unlock()
		if p != nil {
			select {
			case <-p.gone:
			default:
				return p
			}
		}
		if w.over() {
			return nil
		}
		wait := time.NewTimer(time.Minute)
		select {
		case <-ready:
		case <-wait.C:
		}
		wait.Stop()
	}
}

// strike counts a call of a seam and returns the fault that strikes it.
func (w *world) strike(s Seam) Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[s]++
	for _, k := range w.c.Strikes {
		if k.Seam == s && k.K == w.counts[s] {
			w.fired[k] = true
			w.gate.tell(fmt.Sprintf("here strikes %s", k))
			w.disturb(k.Fault)
			if k.Fault == Outage {
				w.down = time.Now().Add(delayed)
				return Fail
			}
			return k.Fault
		}
	}
	if s.isJournal() && time.Now().Before(w.down) {
		return Fail
	}
	return ""
}

// disturb extends the time in which faults may have effects.
func (w *world) disturb(f Fault) {
	until := time.Now()
	switch f {
	case Delay, DelayAfter, Outage:
		until = until.Add(delayed)
	case Pause, PauseAfter:
		until = until.Add(pausedFor)
	case Crash, CrashAfter:
		until = until.Add(restart)
	}
	if until.After(w.quiet) {
		w.quiet = until
	}
}

// inherit returns the journal as the next process finds it after a crash.
func (w *world) inherit(base journal.Journal) journal.Journal {
	next := w.disks.reopen(base)
	w.mu.Lock()
	w.base = next
	w.mu.Unlock()
	return next
}

// alias returns a stable name for a random id, by its order of appearance.
func (w *world) alias(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.aliasLocked(id)
}

func (w *world) aliasLocked(id string) string {
	if head, ok := strings.CutSuffix(id, "+"); ok {
		return w.aliasLocked(head) + "+"
	}
	if id == "" {
		return "nothing"
	}
	if w.names[id] == "" {
		w.names[id] = fmt.Sprintf("r%d", len(w.names)+1)
	}
	return w.names[id]
}

func (w *world) fail(promise, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failLocked(promise, format, args...)
}

func (w *world) failLocked(promise, format string, args ...any) {
	w.failures = append(w.failures, failure{promise, fmt.Sprintf(format, args...)})
}

// logOf reads the current log from the journal.
func logOf(base journal.Journal, conv string) ([]*event.Event, error) {
	return base.Read(context.Background(), conv, 0, 0)
}

// lapse waits for simulated time.
func lapse(d time.Duration) { <-time.After(d) }
