package drive

import (
	"slices"

	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/toolset"
)

// thread is what one driver knows of a scope beyond the log. The next driver of the run begins with an empty one, and
// next decides the same without it.
type thread struct {
	// running are the steps of the scope that this driver runs. A step that has begun in the log and is not among them
	// was in flight when another driver died.
	running []string
	// offered is what the scope's last model call was offered; nil before the first one.
	offered *toolset.Offer
	// shown is the part of an offer that the model is shown; nil for all of it.
	shown *toolset.Shown
	// visible is the part of an offer that no policy denies; nil where there is no policy.
	visible *visible
	// told is the last cycle after whose tools this driver called the hooks.
	told int
}

// thread gives what the driver knows of a scope.
func (d *driver) thread(s *fold.Scope) *thread {
	if s.Depth == 0 {
		return &d.root
	}
	t := d.threads[s.ID]
	if t == nil {
		if d.threads == nil {
			d.threads = make(map[string]*thread)
		}
		t = &thread{}
		d.threads[s.ID] = t
	}
	return t
}

// runs notes that the driver runs a step of the scope, and ran that it does not any more.
func (d *driver) runs(s *fold.Scope, step string) {
	t := d.thread(s)
	t.running = append(t.running, step)
	d.exec.running++
}

// ran is the end of [driver.runs].
func (d *driver) ran(s *fold.Scope, step string) {
	t := d.thread(s)
	if i := slices.Index(t.running, step); i >= 0 {
		t.running = slices.Delete(t.running, i, i+1)
	}
	d.exec.running--
}

// offer is what the scope's last model call was offered. Before the driver's first one it is what the agent offers now.
func (d *driver) offer(s *fold.Scope, agent *Agent) *toolset.Offer {
	if o := d.thread(s).offered; o != nil {
		return o
	}
	return agent.Current()
}
