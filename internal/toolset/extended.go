package toolset

import (
	"sync"

	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Extended is what an agent offers at each instant, with the tools of one run beside it. It is safe for concurrent use.
type Extended struct {
	base  func() *Offer
	own   []tool.Tool
	specs []model.ToolSpec
	names []string
	err   error

	mu sync.Mutex
	// of is the offer of the agent that offer extends.
	of, offer *Offer
}

// NewExtended extends what base offers. Its Err reports a tool that cannot be added, such as one whose name is taken.
func NewExtended(agent string, base func() *Offer, own []tool.Tool) *Extended {
	x := &Extended{base: base, own: own, of: base()}
	d := x.of.Draft()
	d.Missing = x.of.Missing
	for _, t := range own {
		x.err = foreign.Shield("agent "+agent, "a tool of the run", func() error {
			spec := t.Spec()
			x.specs, x.names = append(x.specs, spec), append(x.names, spec.Name)
			if err := tool.ErrOf(t); err != nil {
				return err
			}
			if err := tool.CheckSchema(spec); err != nil {
				return err
			}
			return d.Add(agent, t, spec)
		})
		if x.err != nil {
			return x
		}
	}
	x.offer = x.done(d)
	return x
}

// Err is why a tool cannot be added.
func (x *Extended) Err() error { return x.err }

// Offer returns the tools of the moment. If the agent was given a tool with the name of one of the run's own since the
// run began, the run keeps its own.
func (x *Extended) Offer() *Offer {
	now := x.base()
	x.mu.Lock()
	defer x.mu.Unlock()
	if now == x.of {
		return x.offer
	}
	d := now.Draft()
	d.Missing = now.Missing
	d.Remove(x.names)
	for i, t := range x.own {
		_ = d.Add("", t, x.specs[i]) // it could be added before, and its name is free
	}
	x.of = now
	x.offer = x.done(d)
	return x.offer
}

func (x *Extended) done(d *Offer) *Offer {
	d.Done()
	d.Narrow.Store(x.of.Narrow.Load())
	return d
}
