package live

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// flight is a step in flight, as far as it has come.
type flight struct {
	head  event.Header
	begun event.StepBegun
	// owner is the drive that began it.
	owner *publisher
	// epoch is of its live events; 0 before the first one.
	epoch int64
	draft fold.Draft
}

// snapshot is the step as it stands; n is the last live event that was taken in.
func (f *flight) snapshot(epoch, n int64) Snapshot {
	s := f.draft.Snapshot(f.head, &f.begun)
	s.Epoch, s.N = epoch, n
	return s
}
