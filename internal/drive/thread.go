package drive

import (
	"slices"

	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/toolset"
)

// thread is what one driver knows of a scope beyond the log. The next driver of the run begins with an empty one and
// decides the same.
type thread struct {
	// running are the scope's steps that this driver runs. A step that the log has begun and that is not among them was
	// running when another driver died.
	running []string
	// offered is the tools of the scope's last model call; nil before the first one.
	offered *toolset.Offer
	// shown is the part of them that the model sees; nil for all.
	shown *toolset.Shown
	// visible is the part of them that no policy denies; nil without a policy.
	visible *visible
	// told is the last cycle for which this driver called the hooks after a batch.
	batchTold int
}

// thread returns what the driver knows of a scope.
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

// offer returns the tools of the scope's last model call. Before this driver's first one it returns the agent's
// present tools.
func (d *driver) offer(s *fold.Scope, agent *Agent) *toolset.Offer {
	if o := d.thread(s).offered; o != nil {
		return o
	}
	return agent.Current()
}
