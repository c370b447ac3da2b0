package drive

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/hooks"
)

// sender sends events to the reader.
type sender struct {
	// sink takes an event to the reader. It reports whether the reader wants more.
	sink func(event.Event) bool
	// stopped is set once the reader wants no more.
	stopped bool
	// reading is set while the reader has an event.
	reading bool
	// watchers are the hooks over the stream.
	watchers []hooks.Hook
	// sent is what the watchers are called with.
	sent *hook.EventSent
	// live counts the live events of this drive.
	live int64
}

// send sends an event to the watchers and the reader. A reader that stops reading cancels the run.
func (d *driver) send(e event.Event) {
	if len(d.out.watchers) > 0 {
		d.callEventSent(e)
	}
	if d.out.stopped {
		return
	}
	d.out.reading = true
	more := d.out.sink(e)
	d.out.reading = false
	if !more {
		d.out.stopped = true
		d.stop()
	}
}

// sendLive sends a live piece of a step. head is the step's.
func (d *driver) sendLive(head *event.Header, body event.Body) {
	d.out.live++
	e := event.Event{Header: *head, Body: body}
	e.N, e.Epoch = d.out.live, d.lease.held.Epoch
	d.send(e)
}
