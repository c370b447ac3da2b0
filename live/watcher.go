package live

import (
	"context"
	"errors"
	"sync"

	"github.com/braidrun/braid/event"
)

// watcher is one reader's place in the line of a topic.
type watcher struct {
	hub   *Hub
	topic *topic
	// reading is held during a Read, so that Close can wait for it.
	reading sync.Mutex
	wake    chan struct{}
	// bound is the context whose end notifies the watcher. Holding reading protects it.
	bound context.Context //nolint:containedctx // the reader's, while it reads
	// release undoes that. Holding reading protects it.
	release func() bool
	// given holds the events of the last Read. Its memory serves again if they were few.
	given []event.Event
	// few is the first memory of given.
	few [1]event.Event

	// The topic's lock guards the fields below.

	// index is the watcher's place in the topic's list.
	index int
	// place is the next event to read.
	place int64
	// cut reports that the watcher is cut off.
	cut bool
	// fresh is set until the first Sync.
	fresh bool
	// waiting is set while the topic has it on its list to wake.
	waiting bool
	closed  bool
}

// Read implements [Watcher].
func (w *watcher) Read(ctx context.Context, items []Item) (int, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	for {
		if ctx.Err() != nil {
			return 0, gaveUp(ctx, "read live events")
		}
		n, err := w.take(items)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
		}
	}
}

// tryRead implements [wakingWatcher].
func (w *watcher) tryRead(items []Item) (int, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	return w.take(items)
}

// readWoken implements [wakingWatcher]. It waits on one channel, which the end of ctx rings
// too: a select over several costs more than taking an event does.
func (w *watcher) readWoken(ctx context.Context, items []Item) (int, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if ctx.Err() != nil {
		return 0, gaveUp(ctx, "read live events")
	}
	n, err := w.take(items)
	if n > 0 || err != nil {
		return n, err
	}
	if ctx != w.bound {
		w.unbind()
		w.bound = ctx
		w.release = context.AfterFunc(ctx, w.notify)
	}
	<-w.wake
	if ctx.Err() != nil {
		return 0, gaveUp(ctx, "read live events")
	}
	return w.take(items)
}

// unbind stops the context from notifying the watcher. The caller holds w.reading, or there is no
// reader.
func (w *watcher) unbind() {
	if w.release != nil {
		w.release()
		w.release, w.bound = nil, nil
	}
}

// take returns the items that are ready. If there are none the watcher will be woken.
func (w *watcher) take(items []Item) (int, error) {
	t := w.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case w.closed:
		return 0, &event.Error{
			Op: "read live events", Kind: event.ErrGone, Message: "the watcher is closed",
			Hint: "watch the conversation again",
		}
	case t.closed:
		return 0, busClosed("read live events")
	case len(items) == 0:
		return 0, noRoom()
	case w.cut:
		items[0] = Item{Sync: t.sync(w)}
		return 1, nil
	}
	clear(w.given[:cap(w.given)]) // do not keep events while nothing comes
	if cap(w.given) > t.kept() {
		w.given = nil
	}
	n := min(len(items), int(t.line.tail-w.place))
	if n == 0 {
		if !w.waiting {
			w.waiting = true
			t.waiting = append(t.waiting, w)
		}
		return 0, nil
	}
	switch {
	case n <= cap(w.given):
		w.given = w.given[:n]
	case n <= len(w.few):
		w.given = w.few[:n]
	default:
		w.given = make([]event.Event, n)
	}
	for i := range w.given {
		w.given[i] = t.line.at(w.place + int64(i)).event
		items[i] = Item{Event: &w.given[i]}
	}
	t.line.leave(w.place, w.place+int64(n), t.kept())
	t.settle()
	w.place += int64(n)
	return n, nil
}

// Close implements [Watcher].
func (w *watcher) Close() {
	t := w.topic
	t.mu.Lock()
	first := !w.closed
	w.closed = true
	if first && !t.closed {
		if !w.cut {
			t.leaveLine(w)
			t.settle()
		}
		last := len(t.watchers) - 1
		t.watchers[w.index] = t.watchers[last]
		t.watchers[w.index].index = w.index
		t.watchers[last] = nil
		t.watchers = t.watchers[:last]
	}
	t.mu.Unlock()
	if first {
		w.notify()
		w.hub.release(t)
	}
	w.wait()
}

// notify wakes the watcher's Read, now or the next time it waits.
func (w *watcher) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wait returns when no Read is in progress.
func (w *watcher) wait() {
	w.reading.Lock()
	defer w.reading.Unlock()
	w.unbind()
}

func gaveUp(ctx context.Context, op string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &event.Error{
			Op: op, Kind: event.ErrTimeout, Message: "the time was over before anything came",
			Err: context.Cause(ctx),
		}
	}
	return &event.Error{Op: op, Kind: event.ErrCancelled, Message: "the caller gave up waiting", Err: context.Cause(ctx)}
}

func noRoom() error {
	return &event.Error{
		Op: "read live events", Kind: event.ErrInvalid, Message: "there is no room to read into",
		Hint: "pass at least one item",
	}
}

func busClosed(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the live bus is closed",
		Hint: "connect again; the journal has everything that is durable",
	}
}
