package drive

import (
	"context"
	"errors"

	"github.com/braidrun/braid/event"
)

// drainSignal is closed when the run is to be handed back. It is nil once the driver has seen that.
func (d *activeRun) drainSignal() <-chan struct{} {
	if d.phase != phaseDriving {
		return nil
	}
	return d.cfg.work.Draining
}

// draining reports whether the run is to be handed back, because the engine drains or the process is about to end.
func (d *activeRun) draining() bool {
	if d.phase == phaseDriving {
		select {
		case <-d.cfg.work.Draining:
			d.phase = phaseDraining
		default:
			if d.interrupted() {
				d.phase = phaseDraining
			}
		}
	}
	return d.phase == phaseDraining
}

// interrupted reports whether the steps were stopped although the run is not to end.
func (d *activeRun) interrupted() bool {
	return d.ctx.Err() != nil && errors.Is(context.Cause(d.ctx), event.ErrUnavailable)
}

// drain begins nothing new and waits for the running steps. Interrupted steps have no end in the log: the next driver
// finds them as after a crash. When nothing runs any more, the commit gives the lease back.
func (d *driver) drain() {
	switch {
	case d.interrupted():
		d.settleAfterStop()
	case d.ctx.Err() != nil:
		d.decide() // somebody cancelled the run
		return
	case d.exec.running > 0:
		return
	}
	d.phase = phaseHandedBack
}
