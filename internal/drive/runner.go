package drive

import (
	"github.com/braidrun/braid/internal/foreign"
)

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
