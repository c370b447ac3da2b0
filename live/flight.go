package live

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// flight is the state of a step in flight.
type flight struct {
	head  event.Header
	begun event.StepBegun
	// owner is the drive that began it.
	owner *publisher
	// epoch is the epoch of its live events. 0 means that there is none yet.
	epoch int64
	draft fold.Draft
}

// snapshot returns the step's snapshot. n is the number of the last live event in it.
func (f *flight) snapshot(epoch, n int64) Snapshot {
	s := f.draft.Snapshot(f.head, &f.begun)
	s.Epoch, s.N = epoch, n
	return s
}
