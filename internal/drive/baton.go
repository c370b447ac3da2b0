package drive

import "sync/atomic"

// baton says which of two goroutines drives: a helper that runs a step and drives on, or the driver's own, which watches it.
type baton struct {
	// at is where the helper is: the number of a step, or one of the places below. The goroutine that moves it out of a step
	// drives from then on.
	at atomic.Int64
	// wake has something in it when the driver's own goroutine is to look where the helper is.
	wake chan struct{}
}

// The places of a helper that is in no step. Steps have greater numbers: tools even ones, models odd ones.
const (
	shiftDrives int64 = iota
	// The driver's own goroutine has taken the driving back.
	shiftTaken
	// The step has given the driving back: it ended the helper's goroutine, or it has news to send while it runs.
	shiftGiven
	// The drive is over.
	shiftOver
	firstStep
)

// giveBack gives the driving back while a step runs. It does nothing once the helper has left the step.
func (b *baton) giveBack(at int64) {
	if b.at.CompareAndSwap(at, shiftGiven) {
		notify(b.wake)
	}
}
