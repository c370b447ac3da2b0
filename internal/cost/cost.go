// Package cost says what a model call used and cost.
package cost

import (
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Of returns what a call that used u cost, in 1e-9 US dollars; false where there is no
// price. fault names a price that cannot be.
func Of(info *model.Info, u event.Usage) (nano int64, known bool, fault string) {
	if info.Cost == nil {
		return 0, false, ""
	}
	nano, known = info.Cost(u)
	switch {
	case known && nano < 0:
		return 0, false, "a cost below zero"
	case known && nano > mostNanoUSD:
		return 0, false, "a cost above a million dollars"
	}
	return nano, known, ""
}

// mostNanoUSD is the largest cost of one call that can be.
const mostNanoUSD = 1e15

// Charge is what a model call used and cost.
type Charge struct {
	Usage event.Usage
	// Nano is the cost in 1e-9 US dollars; nil without a price.
	Nano *int64
	// Estimated says that nobody has reported the usage.
	Estimated bool
}

// OfCut returns the charge for a call that was cut: what the provider reported before, or an
// estimate of the prompt, and at least as many output tokens as have come. A simulated model
// costs what it reports: no provider has counted anything.
func OfCut(info *model.Info, heard event.Usage, prompt, output int64) Charge {
	c := Charge{Usage: heard}
	if !info.Simulated {
		if heard.Prompt() == 0 {
			c.Usage.Input = prompt
		}
		c.Usage.Output = max(heard.Output, output)
		c.Usage.Total = max(heard.Total, c.Usage.Prompt()+c.Usage.Output)
		c.Estimated = true
	}
	if nano, known, _ := Of(info, c.Usage); known {
		c.Nano = &nano
	}
	return c
}

// Refused reports whether a provider has said no, or was not there. The kinds that are
// left out may also mean that it was at work and nobody heard it.
func Refused(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case "", event.ErrInternal, event.ErrStreamCut, event.ErrTimeout, event.ErrCancelled:
		return false
	default:
		return true
	}
}
