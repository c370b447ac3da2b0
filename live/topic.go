package live

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// topic is a conversation that somebody publishes to or watches.
type topic struct {
	hub *Hub
	// counted is the part of the hub's total that is this line.
	counted atomic.Int64

	key    Key
	limits limits
	// refs counts the publishers and watchers. The hub's lock guards it.
	refs int

	mu     sync.Mutex
	closed bool
	// last is the Seq of the last durable event. 0 means none.
	last int64
	// epoch and n are the number of the last live event.
	epoch, n int64
	flights  []*flight
	// strays are the headers of live events that came before their step.
	strays []event.Header

	line line
	// watchers are all watchers.
	watchers []*watcher
	// inLine counts the watchers that are not cut off.
	inLine int
	// waiting are the watchers that have read everything and want to be woken.
	waiting []*watcher
}

// publish adds an event to the line. It returns the watchers to wake in spare, which is empty.
// behind reports that a watcher is cut off, or has more unread than the line keeps memory for, or half of what it may.
func (t *topic) publish(p *publisher, e *event.Event, spare []*watcher) (woken []*watcher, behind bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return spare, false
	}
	var known, whole bool
	if e.Live() {
		known, whole = t.takeLive(e)
	} else {
		known, whole = t.takeDurable(p, e)
	}
	if !known {
		return spare, false
	}
	if !whole {
		t.cut(t.line.tail)
	}
	if t.inLine == 0 {
		t.line.skip()
	} else {
		t.push(e)
	}
	t.settle()
	// They had read everything, and were cut off only by a gap.
	woken = t.waiting
	for _, w := range woken {
		w.waiting = false
	}
	t.waiting = spare
	behind = t.inLine < len(t.watchers) || t.line.len() >= min(t.limits.events/2, busySlots) || t.line.bytes >= t.limits.bytes/2
	return woken, behind
}

// kept returns how many events the line and each watcher keep memory for while nothing comes.
func (t *topic) kept() int {
	if len(t.flights) > 0 {
		return busySlots
	}
	return keptSlots
}

// takeDurable folds a durable event. known is false for a repeated event. whole is false if an
// event is missing before it.
func (t *topic) takeDurable(p *publisher, e *event.Event) (known, whole bool) {
	if e.Seq <= t.last {
		return false, true
	}
	whole = t.last == 0 || e.Seq == t.last+1
	t.last = e.Seq
	switch fold.FlightOf(e) {
	case fold.FlightBegins:
		t.land(e)
		f := &flight{head: e.Header, begun: *e.Body.(*event.StepBegun), owner: p}
		if t.strayed(e) {
			f.draft.Miss()
			whole = false
		}
		t.flights = append(t.flights, f)
	case fold.FlightLogs:
		if f := t.flight(e); f != nil {
			f.draft.Commit(len(e.Body.(*event.AssistantMessage).Content))
		}
	case fold.FlightEnds:
		t.land(e)
	case fold.FlightEndsAll:
		t.flights = slices.DeleteFunc(t.flights, func(f *flight) bool { return f.head.Run == e.Run })
	}
	return true, whole
}

// land removes the step that a durable event begins again or ends.
func (t *topic) land(e *event.Event) {
	t.flights = slices.DeleteFunc(t.flights, func(f *flight) bool {
		return f.head.Step == e.Step && f.head.Run == e.Run
	})
}

// takeLive folds a live event. known and whole are as for a durable one.
func (t *topic) takeLive(e *event.Event) (known, whole bool) {
	if e.Epoch < t.epoch || e.Epoch == t.epoch && e.N <= t.n {
		return false, true
	}
	if e.Epoch > t.epoch {
		// Another driver has the conversation now. The previous one's steps do not go on.
		t.flights = slices.DeleteFunc(t.flights, func(f *flight) bool { return f.epoch > 0 })
		t.epoch, t.n, t.strays = e.Epoch, 0, nil
	}
	whole = e.N == t.n+1
	t.n = e.N
	if !whole {
		for _, f := range t.flights {
			f.draft.Miss()
		}
	}
	f := t.flight(e)
	if f == nil || f.head.Attempt != e.Attempt {
		if len(t.strays) == mostStrays {
			t.strays = slices.Delete(t.strays, 0, 1)
		}
		t.strays = append(t.strays, event.Header{Run: e.Run, Step: e.Step, Attempt: e.Attempt})
		return !whole, whole
	}
	f.epoch = e.Epoch
	f.draft.Add(e.Body, t.limits.step)
	return true, whole
}

// mostStrays bounds the remembered strays. Only tools that a driver left behind make any.
const mostStrays = 32

// strayed reports whether a live event of the step came before its beginning.
func (t *topic) strayed(e *event.Event) bool {
	return slices.ContainsFunc(t.strays, func(s event.Header) bool {
		return s.Step == e.Step && s.Attempt == e.Attempt && s.Run == e.Run
	})
}

// flight returns the step of an event.
func (t *topic) flight(e *event.Event) *flight {
	for _, f := range t.flights {
		if f.head.Step == e.Step && f.head.Run == e.Run {
			return f
		}
	}
	return nil
}

// push adds an event to the line and cuts off the watchers that then have more unread than they
// may. The newest event stays, however large it is.
func (t *topic) push(e *event.Event) {
	size := eventSize + event.SizeOf(e.Body)
	for t.line.len() > 0 && (t.line.len() >= t.limits.events || t.line.bytes+size > t.limits.bytes) {
		t.cut(t.line.head)
	}
	if t.inLine == 0 {
		t.line.skip()
		return
	}
	t.line.push(e, size, t.inLine)
}

// cut cuts off the watchers at a place or before it.
func (t *topic) cut(place int64) {
	for _, w := range t.watchers {
		if !w.cut && w.place <= place {
			t.leaveLine(w)
		}
	}
}

func (t *topic) leaveLine(w *watcher) {
	w.cut = true
	t.inLine--
	t.line.leave(w.place, t.line.tail, t.kept())
}

// sync puts a watcher that was cut off back at the end of the line.
func (t *topic) sync(w *watcher) *Sync {
	s := &Sync{Last: t.last}
	if !w.fresh {
		s.Missed = t.line.tail - w.place
	}
	if len(t.flights) > 0 {
		s.Steps = make([]Snapshot, len(t.flights))
	}
	for i, f := range t.flights {
		s.Steps[i] = f.snapshot(t.epoch, t.n)
	}
	w.cut, w.fresh, w.place = false, false, t.line.tail
	t.inLine++
	return s
}

// abandon removes the unfinished steps of a drive.
func (t *topic) abandon(p *publisher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flights = slices.DeleteFunc(t.flights, func(f *flight) bool { return f.owner == p })
}
