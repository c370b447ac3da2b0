package live

import "github.com/braidrun/braid/event"

// line holds the events of a conversation that some watcher has not read: one ring in which each
// watcher has its own place. An event is in it once and is removed when the last watcher has read
// it.
//
// Events are stored by value, and an empty line reuses its last slots: with many slow
// conversations, touching cold memory costs most.
type line struct {
	// slots is a ring whose length is a power of two.
	slots []slot
	// base is the place of the first slot.
	base int64
	// head is the place of the first event.
	head int64
	// tail is the place after the last event. Places only rise.
	tail int64
	// bytes is the approximate size of the events.
	bytes int
}

type slot struct {
	event event.Event
	size  int
	// left counts the watchers that have not read it.
	left int
}

const (
	// eventSize is the approximate size of an event beside its content.
	eventSize = 320
	// firstSlots is the initial number of slots.
	firstSlots = 2
	// keptSlots is how many slots an empty line keeps: 2 KiB.
	keptSlots = 8
	// busySlots is how many it keeps while a step is in flight, if so many were needed: 13 KiB. With the copies that a
	// watcher is given, which it keeps too, an answer of 500 pieces that come at once (row i of the bench) takes 101 KB
	// instead of 276 KB, and half of the processor time.
	busySlots = 64
)

func (l *line) at(place int64) *slot { return &l.slots[(place-l.base)&int64(len(l.slots)-1)] }

func (l *line) len() int { return int(l.tail - l.head) }

// push adds an event that left watchers must read.
func (l *line) push(e *event.Event, size, left int) {
	if l.len() == len(l.slots) {
		bigger := make([]slot, max(firstSlots, 2*len(l.slots)))
		for p := l.head; p < l.tail; p++ {
			bigger[p-l.head] = *l.at(p)
		}
		l.slots, l.base = bigger, l.head
	}
	if l.len() == 0 {
		l.base = l.tail
	}
	s := l.at(l.tail)
	s.event, s.size, s.left = *e, size, left
	l.tail++
	l.bytes += size
}

// skip counts an event that nobody reads. The line must be empty.
func (l *line) skip() {
	l.tail++
	l.head = l.tail
}

// leave drops one watcher's claim on the events from place from to place to. keep is how many slots an empty line keeps.
func (l *line) leave(from, to int64, keep int) {
	for p := from; p < to; p++ {
		l.at(p).left--
	}
	l.trim(keep)
}

// trim removes the events that all watchers have read.
func (l *line) trim(keep int) {
	for l.head < l.tail {
		s := l.at(l.head)
		if s.left > 0 {
			return
		}
		l.bytes -= s.size
		s.event = event.Event{}
		l.head++
	}
	if len(l.slots) > keep {
		l.slots = nil
	}
}
