package drive

import (
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/lease"
	"github.com/braidrun/braid/journal"
)

// driver drives one run. In each round it asks package decide of each scope, writes in one commit what has ended and what begins,
// sends the durable events, runs what has begun, and takes in what has ended. One goroutine at a time drives, the
// reader's own or that of a step that runs alone (shift.go): only it folds, writes and sends.
//
// What does not need the steps that run or the inbox is a method of [activeRun], which cannot reach the driver.
type driver struct {
	activeRun

	inbox inbox
	exec  executor
}

// drive drives the run until it ends, waits or is handed back. mail is what others have left for it so far.
func (d *driver) drive(mail []journal.Mail) (err error) {
	done := false
	d.begin()
	if !d.cfg.exclusive && d.lease.renewer == nil {
		d.lease.renewer = lease.Renew(d.lease.base, d.lease.conv.Store, *d.lease.held, d.stop)
	}
	d.cfg.survey()
	d.out.watchers = d.cfg.agent.Hooks.At(hooks.EventSent)
	defer func() {
		// A caller that waits for the run gets its own panic back.
		if !done && (!d.out.reading || !d.cfg.callerWaits) {
			if v := recover(); v != nil {
				d.phase, err = phaseCrashed, foreign.Panicked("run", "the run", v)
			}
		}
		d.close()
		d.letGo(done, err)
	}()
	d.callBeforeDrive()
	// What was left for an earlier run stands before this one's input.
	n := 0
	for n < len(mail) && mail[n].Early && mail[n].Kind == journal.MailMessage {
		n++
	}
	if err = d.recover(mail[:n]); err != nil {
		return err
	}
	d.deliver(mail[n:])
	err = d.iterate()
	done = true
	return err
}
