package drive

import (
	"github.com/braidrun/braid/internal/foreign"
)

// ownRunner runs models and tools of this process.
type ownRunner struct {
	d *driver
	// helper runs steps that run alone; nil before the first one.
	helper *helper
}

// Start implements [StepRunner].
func (r *ownRunner) Start(w *Work, to Reporter) {
	switch {
	case w.call != nil:
		w.call.news.arrivals, w.call.news.quit = to.to, to.Quit
		if r.d.exec.running == 1 {
			r.do(w, to)
		} else {
			go r.d.runTool(w, to)
		}
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

// runTool runs a tool and the stages of foreign code after it. It reports the end, whatever they do.
func (d *driver) runTool(w *Work, to Reporter) {
	defer d.reportEnd(w, to)
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
