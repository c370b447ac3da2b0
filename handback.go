package braid

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
)

// draining is closed when the run is to be handed back soon.
func (d *driver) draining() <-chan struct{} {
	if d.handing {
		return nil // it is known
	}
	return d.work.Draining
}

// leaving reports whether the run is to be left as it is, for another driver: its
// engine drains, or its process is about to end.
func (d *driver) leaving() bool {
	if !d.handing {
		select {
		case <-d.work.Draining:
			d.handing = true
		default:
		}
	}
	d.handing = d.handing || d.cutOff()
	return d.handing
}

// cutOff reports whether the steps were stopped without anybody wishing the run
// to end.
func (d *driver) cutOff() bool {
	return d.ctx.Err() != nil && errors.Is(context.Cause(d.ctx), event.ErrUnavailable)
}

// handBack begins nothing more. What is in flight is waited for, unless it was
// cut off: then what has not ended by itself stays as it was begun, for the
// next driver to find as after a crash. With nothing in flight any more the commit
// gives the lease back.
func (d *driver) handBack() {
	if d.ctx.Err() != nil {
		if d.cutOff() {
			d.settleAfterStop()
		} else {
			// Somebody wished the run to end while it was being handed back.
			d.handing = false
			d.decide()
			return
		}
	} else if d.running > 0 {
		return
	}
	d.handed = true
}
