package live

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid/event"
)

// Hub is the [Bus] inside one process. The zero value is ready for use. A Hub must not be copied
// after its first use. It has no goroutine of its own: publishers append events and watchers take
// them.
//
// All watchers of a conversation share one line of events, so an event is in memory once. What a
// watcher may leave unread is bounded. Beyond that the watcher is cut off: it keeps no events, and
// its next Read returns a [Sync]. A conversation takes memory for that line and for the text of its
// steps in flight, or nothing without publishers and watchers. The lines of all conversations
// together are bounded too.
type Hub struct {
	options HubOptions

	// total is the approximate size of all lines in bytes.
	total atomic.Int64
	// relieving is held by the goroutine that makes room.
	relieving sync.Mutex

	mu     sync.Mutex
	closed bool
	topics map[Key]*topic
}

var _ Bus = (*Hub)(nil)

// HubOptions configure a [Hub]. The zero value has good defaults.
type HubOptions struct {
	// Events is how many events a watcher may leave unread before it is cut off. 0 or less means [DefaultEvents]. It
	// is high enough that an answer that comes at once does not cut off its reader.
	Events int
	// Bytes is about how many bytes a watcher may leave unread before it is cut off. 0 or less means
	// [DefaultBytes]. One event may always wait, however large.
	Bytes int
	// Total is how many bytes all watchers may leave unread together. 0 or less means
	// [DefaultTotal]. Beyond it the watchers of the conversations with the most unread bytes are
	// cut off.
	Total int64
	// StepBytes is how much text of a step in flight is kept for snapshots. 0 or less means
	// [DefaultStepBytes].
	StepBytes int
}

// These are the defaults of [HubOptions].
const (
	DefaultEvents    = 1024
	DefaultBytes     = 1 << 20
	DefaultTotal     = 64 << 20
	DefaultStepBytes = 4 << 20
)

// limits are the options with their defaults.
type limits struct{ events, bytes, step int }

// NewHub returns a hub. It starts nothing.
func NewHub(options HubOptions) *Hub { return &Hub{options: options} }

// Publisher implements [Bus].
func (h *Hub) Publisher(key Key) Publisher {
	t := h.hold(key)
	return &publisher{hub: h, topic: t}
}

// Watch implements [Bus].
func (h *Hub) Watch(ctx context.Context, key Key) (Watcher, error) {
	if ctx.Err() != nil {
		return nil, gaveUp(ctx, "watch")
	}
	t := h.hold(key)
	if t == nil {
		return nil, busClosed("watch")
	}
	w := &watcher{hub: h, topic: t, cut: true, fresh: true, wake: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, busClosed("watch")
	}
	w.index = len(t.watchers)
	t.watchers = append(t.watchers, w)
	return w, nil
}

// Close implements [Bus]. It always returns nil.
func (h *Hub) Close() error {
	h.mu.Lock()
	topics := h.topics
	h.closed, h.topics = true, nil
	h.mu.Unlock()
	for _, t := range topics {
		for _, w := range t.close() {
			w.wait()
		}
	}
	return nil
}

// hold returns the conversation's topic, nil if the hub is closed. The caller must release it.
func (h *Hub) hold(key Key) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	t := h.topics[key]
	if t == nil {
		t = &topic{hub: h, key: key, limits: h.options.limits()}
		if h.topics == nil {
			h.topics = make(map[Key]*topic)
		}
		h.topics[key] = t
	}
	t.refs++
	return t
}

func (h *Hub) release(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.refs--
	if t.refs == 0 && h.topics[t.key] == t {
		delete(h.topics, t.key)
	}
}

func (o *HubOptions) limits() limits {
	l := limits{o.Events, o.Bytes, o.StepBytes}
	if l.events <= 0 {
		l.events = DefaultEvents
	}
	if l.bytes <= 0 {
		l.bytes = DefaultBytes
	}
	if l.step <= 0 {
		l.step = DefaultStepBytes
	}
	return l
}

// close ends the topic, wakes everybody and returns the watchers.
func (t *topic) close() []*watcher {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.flights, t.waiting, t.line = nil, nil, line{}
	t.settle()
	for _, w := range t.watchers {
		w.notify()
	}
	watchers := t.watchers
	t.watchers = nil
	return watchers
}

// publisher publishes the events of a drive to a topic.
type publisher struct {
	hub *Hub

	// mu keeps the order of calls. topic is nil once it is closed.
	mu    sync.Mutex
	topic *topic
	// spare is memory for the next list of watchers to wake.
	spare []*watcher
}

// Publish implements [Publisher].
func (p *publisher) Publish(e event.Event) {
	if e.Live() != (e.Seq == 0) || e.Body == nil {
		return // neither durable nor live: no driver makes this
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topic == nil {
		return
	}
	woken, behind := p.topic.publish(p, &e, p.spare[:0])
	for _, w := range woken {
		w.notify()
	}
	clear(woken)
	p.spare = woken
	p.hub.relieve()
	if behind && e.N%yieldEvery == 1 {
		runtime.Gosched()
	}
}

// yieldEvery is how many live events are published before a reader that is behind gets the
// processor. An answer that comes at once would otherwise be over before its reader has had a turn.
// Nothing waits for the reader: it costs a slow one's publisher a switch for so many events.
const yieldEvery = 64

// Close implements [Publisher].
func (p *publisher) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topic == nil {
		return
	}
	p.topic.abandon(p)
	p.hub.release(p.topic)
	p.topic, p.spare = nil, nil
}
