package drive

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
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
	// Program is what a foreign program did.
	Program *ProgramReport
}

// ownRunner runs models and tools of this process.
type ownRunner struct {
	d *driver
}

// Start implements [StepRunner].
func (r *ownRunner) Start(w *Work, to Reporter) {
	switch {
	case w.call != nil:
		w.call.news.arrivals, w.call.news.quit = to.to, to.Quit
		go r.d.runToolBeside(w, to)
	case w.sum != nil:
		go r.d.summarise(w, to)
	default:
		go r.d.callModelBeside(w, to)
	}
}

// Abandon implements [StepRunner].
func (*ownRunner) Abandon(w *Work) {
	if w.call != nil {
		w.call.close()
	}
}

// runToolBeside runs a tool while other steps run, too. It reports the end, whatever the tool does.
func (d *driver) runToolBeside(w *Work, to Reporter) {
	defer d.reportEnd(w, to)
	d.runTool(w)
}

// runTool runs a tool and the stages of foreign code after it, and leaves the end in w whatever they do.
func (d *driver) runTool(w *Work) {
	returned, passed := false, false
	defer func() {
		v := recover()
		if passed {
			return
		}
		switch {
		case v != nil:
			w.end.fail(foreign.Panicked("tool "+w.call.Name, "what follows the tool", v))
		case returned:
			w.end.fail(foreign.EndedGoroutine("tool "+w.call.Name, "a hook"))
		}
		w.end.make(w.call) // of fixed words
	}()
	runTool(w)
	returned = true
	d.passBeside(w)
	passed = true
}

// reportEnd reports that a step has ended.
func (d *driver) reportEnd(w *Work, to Reporter) {
	if d.exec.order != nil {
		d.exec.order.Pass("arrive " + w.step)
	}
	to.Report(Arrival{Work: w})
}
