package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// record is the observed history of the journal, the bus and the outside world, in order.
type record struct {
	clock int
	logs  map[string]*log
	// order lists the conversations in the order of their creation.
	order []string
	runs  map[string]*runRecord
	// lost holds the leases whose driver was told of their loss.
	lost map[leaseKey]int
	// sure is the time until which a driver may rely on its lease, on its own clock.
	sure map[leaseKey]time.Time

	acquires []acquireRecord
	stops    []stopRecord
	starts   []startRecord
	mails    []mailRecord
	models   []*modelCall
	tools    []*toolCall
	asks     []askRecord
	accepted []accepted
	cancels  []cancelRecord
	answers  []answerRecord
	missing  []string
	// connections counts the watchers' connections, and cuts the watchers that were cut back to
	// a snapshot.
	connections, cuts int
	// deaths counts the processes that calls have ended, by key. refused counts the runs that a
	// model has failed, by cycle. The check sets died and poisoned at the end.
	deaths         map[string]int
	refused        map[int]int
	died, poisoned int
}

type leaseKey struct {
	run   string
	epoch int64
}

// log is a conversation's log as the commits have written it.
type log struct {
	conv    string
	entries []entry
	// epoch is the epoch of the newest lease.
	epoch  int64
	holder string
	proc   *process
	// until is when the current lease expires; zero if it was released.
	until time.Time
}

// entry is a durable event and its origin.
type entry struct {
	*event.Event
	epoch int64
	at    time.Time
	stamp int
	batch int
}

func (l *log) last() int64 { return int64(len(l.entries)) }

// runRecord is what is known of a run from outside.
type runRecord struct {
	row         journal.Run
	begun       bool
	ended       *event.RunEnded
	endedAt     time.Time
	cancelAsked int
}

type acquireRecord struct {
	stamp int
	at    time.Time
	proc  *process
	run   string
	conv  string
	epoch int64
	last  int64
}

// stopRecord is a process that crashed or paused, and the runs that it was driving.
type stopRecord struct {
	stamp int
	at    time.Time
	proc  *process
	convs []string
}

type startRecord struct {
	at   time.Time
	proc *process
}

type mailRecord struct {
	stamp int
	at    time.Time
	mail  journal.Mail
	err   error
}

func (r *record) init() {
	r.logs, r.runs = map[string]*log{}, map[string]*runRecord{}
	r.lost, r.sure = map[leaseKey]int{}, map[leaseKey]time.Time{}
	r.deaths, r.refused = map[string]int{}, map[int]int{}
}

func (r *record) tick() int {
	r.clock++
	return r.clock
}

func (r *record) log(conv string) *log {
	l := r.logs[conv]
	if l == nil {
		l = &log{conv: conv}
		r.logs[conv] = l
		r.order = append(r.order, conv)
	}
	return l
}

// run returns the record of a run. A run that the journal admitted by itself becomes known with
// its first event.
func (r *record) run(id, conv string) *runRecord {
	run := r.runs[id]
	if run == nil {
		run = &runRecord{row: journal.Run{ID: id, Conversation: conv}}
		r.runs[id] = run
		r.log(conv)
	}
	return run
}

func (r *record) ready(p *process) { r.starts = append(r.starts, startRecord{time.Now(), p}) }

// living reports whether the process's actions still count.
func (p *process) living() bool { return !p.over() }

func (w *world) admitted(p *process, row journal.Run, err error) {
	if err != nil || !p.living() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aliasLocked(row.ID)
	w.record.run(row.ID, row.Conversation).row = row
}

func (w *world) acquired(p *process, run string, o journal.Opened, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return
	}
	r := &w.record
	l := r.log(o.Lease.Conversation)
	now := time.Now()
	above := l.epoch
	if w.voided(l, p) {
		// Acquiring a lease is not durable by itself: after a crash, an epoch under which
		// nothing was written may be given out again.
		above = 0
		if n := len(l.entries); n > 0 {
			above = l.entries[n-1].epoch
		}
	}
	if above > 0 && o.Lease.Epoch <= above {
		w.failLocked("P4", "the epoch %d was given out after %d", o.Lease.Epoch, l.epoch)
	}
	// A file stores microseconds.
	if !l.until.IsZero() && now.Add(time.Microsecond).Before(l.until) && !w.voided(l, p) {
		w.failLocked("P4", "%s was taken %v before epoch %d had run out", w.aliasLocked(run), l.until.Sub(now), l.epoch)
	}
	l.epoch, l.holder, l.proc, l.until = o.Lease.Epoch, run, p, now.Add(term)
	r.run(run, l.conv)
	r.acquires = append(r.acquires, acquireRecord{r.tick(), now, p, run, l.conv, o.Lease.Epoch, l.last()})
	w.gate.tell(fmt.Sprintf("%s takes %s with epoch %d", p.name, w.aliasLocked(run), o.Lease.Epoch))
}

// voided reports whether the lease ended with its process: the next owner of the files voids all
// earlier leases.
func (w *world) voided(l *log, p *process) bool {
	return w.c.Store == "sqlite" && l.proc != nil && l.proc.base != p.base
}

// uses records the arrival of a call under a lease, before its turn.
func (w *world) uses(p *process, s Seam, l journal.Lease) {
	if !p.living() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.record.lost[leaseKey{l.Run, l.Epoch}]; at > 0 {
		w.failLocked("P4", "%s goes on under epoch %d of %s, though it was told that this is lost: %s",
			p.name, l.Epoch, w.aliasLocked(l.Run), s)
	}
}

// told records the journal's result of a call under a lease.
func (w *world) told(p *process, l journal.Lease, err error) {
	if !p.living() || event.KindOf(err) != event.ErrLeaseLost {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if k := (leaseKey{l.Run, l.Epoch}); w.record.lost[k] == 0 {
		w.record.lost[k] = w.record.tick()
	}
}

// assured records that a driver was told at a time that it holds the lease.
func (w *world) assured(p *process, l journal.Lease, from time.Time, err error) {
	if err != nil || !p.living() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := leaseKey{l.Run, l.Epoch}
	if until := from.Add(term); until.After(w.record.sure[k]) {
		w.record.sure[k] = until
	}
}

func (w *world) renewed(p *process, l journal.Lease, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.record.log(l.Conversation)
	switch {
	case err == nil && l.Epoch != g.epoch:
		w.failLocked("P4", "%s renewed epoch %d after %d was given out", p.name, l.Epoch, g.epoch)
	case err == nil:
		g.until = time.Now().Add(term)
	default:
		w.refused(g, l, err)
	}
}

// refused checks a lease that was reported as lost: another driver must have acquired it.
func (w *world) refused(g *log, l journal.Lease, err error) {
	if event.KindOf(err) == event.ErrLeaseLost && l.Epoch == g.epoch && g.holder == l.Run && !g.until.IsZero() {
		w.failLocked("P4", "epoch %d of %s was refused, and nobody has taken it", l.Epoch, w.aliasLocked(l.Run))
	}
}

// committed records a commit.
func (w *world) committed(p *process, l journal.Lease, b journal.Batch, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.record
	g := r.log(l.Conversation)
	if err != nil {
		w.gate.tell(fmt.Sprintf("%s may not commit: %s", p.name, event.KindOf(err)))
		if len(b.Events) == 0 || b.Events[0].Seq == g.last()+1 {
			w.refused(g, l, err)
		}
		return
	}
	back := b.Release || b.Status == event.RunWaiting || b.Status.Ended()
	fresh := len(b.Events) > 0 && b.Events[0].Seq == g.last()+1
	if l.Epoch != g.epoch && (fresh || !back) {
		w.failLocked("P4", "%s wrote under epoch %d of %s after %d was given out",
			p.name, l.Epoch, w.aliasLocked(l.Run), g.epoch)
	}
	stamp := r.tick()
	if fresh {
		for _, e := range b.Events {
			g.entries = append(g.entries, entry{e, l.Epoch, time.Now(), stamp, stamp})
			w.gate.tell(fmt.Sprintf("%s #%d %s %s/%d", w.aliasLocked(e.Run), e.Seq, e.Body.Kind(), e.Step, e.Attempt))
			run := r.run(e.Run, l.Conversation)
			run.begun = true
			if ended, ok := e.Body.(*event.RunEnded); ok && run.ended == nil {
				run.ended, run.endedAt = ended, time.Now()
			}
		}
	}
	if back && l.Epoch == g.epoch {
		g.until = time.Time{}
	}
}

func (w *world) posted(p *process, m journal.Mail, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.record
	r.mails = append(r.mails, mailRecord{r.tick(), time.Now(), m, err})
	if run := r.runs[m.Run]; run != nil && err == nil && m.Kind == journal.MailCancel && run.cancelAsked == 0 {
		run.cancelAsked = r.clock
	}
	w.gate.tell(fmt.Sprintf("%s posts %s to %s: %v", p.name, m.Kind, w.aliasLocked(m.Run), event.KindOf(err)))
}

// published records an event that a driver sends to its watchers.
func (w *world) published(p *process, e event.Event) {
	if e.Live() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.record.log(e.Conversation)
	if e.Seq < 1 || e.Seq > g.last() {
		w.failLocked("P5", "%s sent event %d of %s before it was in the journal", p.name, e.Seq, w.aliasLocked(e.Run))
	}
}

// drove records a drive that failed.
func (w *world) drove(p *process, run string, err error) {
	if p.living() {
		w.gate.tell(fmt.Sprintf("%s could not drive %s: %v", p.name, w.alias(run), event.KindOf(err)))
	}
}

// stopped records what a process was driving when it crashed or paused.
func (w *world) stopped(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.record
	s := stopRecord{stamp: r.tick(), at: time.Now(), proc: p}
	for _, conv := range r.order {
		if g := r.logs[conv]; g.proc == p && !g.until.IsZero() && r.runs[g.holder].ended == nil {
			s.convs = append(s.convs, conv)
		}
	}
	r.stops = append(r.stops, s)
	until := s.at.Add(restart)
	if until.After(w.quiet) {
		w.quiet = until
	}
	slices.Sort(s.convs)
}
