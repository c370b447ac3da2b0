package drive

import (
	"github.com/braidrun/braid/event"
)

// Reporter takes reports to a driver.
type Reporter struct {
	to   chan<- Arrival
	Quit <-chan struct{}
}

// Report waits until the driver takes the report, or has gone.
func (r Reporter) Report(a Arrival) {
	select {
	case r.to <- a:
	case <-r.Quit:
	}
}

// Arrival is what a runner reports to the driver: a live piece, or the end of the work, which has none.
type Arrival struct {
	Work *Work
	// call stands in the place of work in the progress of a tool.
	call *runningCall
	// Live is a live piece.
	Live event.Body
	// taken is closed once the reader has the live piece, or nobody wants it; nil for a piece that nobody waits for.
	taken chan<- struct{}
}
