package drive

import (
	"github.com/braidrun/braid/event"
)

// StepRunner runs what the driver hands it, beside the driver. There are two: [ownRunner] runs one step of which the
// beginning stands in the log, a call of a model or a tool; a foreign program (program.go) works on a scope, whose
// steps begin and end as the program reports them. A runner never touches the fold, the commit or the lease: it reports,
// and the driver writes.
type StepRunner interface {
	// Start begins to run w, and returns at once. What comes of it goes to the driver as reports; the last one is
	// the end of w. It is called once what begins w is durable.
	Start(w *Work, to Reporter)
	// Abandon says that the driver does not wait for w any more, because it did not stop in time, or the run was
	// over before it began. Reports of it change nothing from then on.
	Abandon(w *Work)
}

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

// Arrival is what a runner reports to the driver: exactly one of a live piece, something that a foreign program did, and
// the end of w, which has neither.
type Arrival struct {
	Work *Work
	// call stands in the place of work in the progress of a tool.
	call *runningCall
	// Live is a live piece.
	Live event.Body
	// taken is closed once the reader has the live piece, or nobody wants it; nil for a piece that nobody waits for.
	taken chan<- struct{}
	// Program is what a foreign program did.
	Program *ProgramReport
}
