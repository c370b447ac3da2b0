package live

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid/event"
)

// Hub is the [Bus] inside one process. The zero value is ready for use; a Hub
// must not be copied once it has been used. It has no goroutine of its own: what
// is published is put in line by the publisher and taken by the watcher.
//
// All watchers of a conversation share one line of events, so an event costs its
// memory once. What a watcher may leave unread is bounded; beyond it the watcher
// is cut off, holds nothing of the line any more, and gets a [Sync] with its
// next Read, made then and there. What a conversation takes is bounded by that
// line and by the text of its steps in flight; one that nobody publishes
// to or watches takes nothing. The lines of all conversations together are bounded, too.
type Hub struct {
	options HubOptions

	// total is about how many bytes the lines of all topics take.
	total atomic.Int64
	// relieving is held by the one who makes room in the lines.
	relieving sync.Mutex

	mu     sync.Mutex
	closed bool
	topics map[Key]*topic
}

var _ Bus = (*Hub)(nil)

// HubOptions are the settings of a [Hub]; the zero value is right for most.
type HubOptions struct {
	// Events and Bytes are how much a watcher may leave unread before it is cut off. 0 or less means
	// [DefaultEvents] and [DefaultBytes]. Bytes are what bounds memory, counted roughly; Events is so high that an answer
	// that comes at once is not cut off before its reader had a turn. One event may always wait, however large.
	Events int
	Bytes  int
	// Total is how many bytes all watchers of all conversations may leave unread together; 0 or less means [DefaultTotal].
	// Beyond it those of the conversation with the most unread bytes are cut off, and so on.
	Total int64
	// StepBytes is how much text of one step in flight is kept for snapshots; 0 or
	// less means [DefaultStepBytes].
	StepBytes int
}

// The bounds of a hub where nothing else was said.
const (
	DefaultEvents    = 1024
	DefaultBytes     = 1 << 20
	DefaultTotal     = 64 << 20
	DefaultStepBytes = 4 << 20
)

// limits are the options with their defaults.
type limits struct{ events, bytes, step int }

// NewHub makes a hub. It starts nothing.
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

// Close implements [Bus]. Its error is always nil.
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

// hold gives the conversation's topic, nil where the hub is closed. Whoever
// holds it releases it.
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

// close ends the topic and wakes everybody. It gives the watchers.
func (t *topic) close() []*watcher {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.flights, t.waiting, t.line = nil, nil, line{}
	t.settle()
	for _, w := range t.watchers {
		w.ring()
	}
	watchers := t.watchers
	t.watchers = nil
	return watchers
}

// publisher is a drive's way to a topic.
type publisher struct {
	hub *Hub

	// mu keeps the order of calls; the topic is nil once it is closed.
	mu    sync.Mutex
	topic *topic
	// spare is memory for the next list of watchers to wake.
	spare []*watcher
}

// Publish implements [Publisher].
func (p *publisher) Publish(e event.Event) {
	if e.Live() != (e.Seq == 0) || e.Body == nil {
		return // neither durable nor live: nothing that a driver makes
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topic == nil {
		return
	}
	woken := p.topic.publish(p, &e, p.spare[:0])
	for _, w := range woken {
		w.ring()
	}
	clear(woken)
	p.spare = woken
	p.hub.relieve()
}

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
