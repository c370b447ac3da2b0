package live

import "github.com/braidrun/braid/event"

// line is the events of a conversation that some watcher has still to read: one
// ring for all of them, in which each has its own place. An event is there
// once, however many wait for it, and goes when the last of them has read it.
//
// It is there by value, and what follows an empty line takes the place of what
// was there last: with many conversations at a slow pace nothing costs as much as
// memory that was not touched for a while.
type line struct {
	// slots is a ring whose length is a power of two; base is a place that its
	// first slot has.
	slots []slot
	base  int64
	// head and tail are the places of the first event and behind the last
	// one. Places only rise.
	head, tail int64
	// bytes is about what the events take.
	bytes int
}

type slot struct {
	event event.Event
	size  int
	// left counts the watchers that have still to read it.
	left int
}

const (
	// eventSize is about what an event takes beside its content.
	eventSize = 320
	// firstSlots is how many slots a line begins with.
	firstSlots = 2
	// keptSlots is how many it keeps when nothing waits: 2 KiB.
	keptSlots = 8
)

func (l *line) at(place int64) *slot { return &l.slots[(place-l.base)&int64(len(l.slots)-1)] }

func (l *line) len() int { return int(l.tail - l.head) }

// push adds an event that left watchers have to read.
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

// skip counts an event that nobody is to read. The line must be empty.
func (l *line) skip() {
	l.tail++
	l.head = l.tail
}

// leave says that one watcher will not read the events from place from to place to.
func (l *line) leave(from, to int64) {
	for p := from; p < to; p++ {
		l.at(p).left--
	}
	l.trim()
}

// trim lets go of what everybody has read.
func (l *line) trim() {
	for l.head < l.tail {
		s := l.at(l.head)
		if s.left > 0 {
			return
		}
		l.bytes -= s.size
		s.event = event.Event{}
		l.head++
	}
	if len(l.slots) > keptSlots {
		l.slots = nil
	}
}
