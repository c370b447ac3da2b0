package braid

import (
	"errors"

	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/toolset"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/model"
)

// Err returns what is wrong with the agent's parts; nil if nothing is. It also asks each model of the agent that is a
// [model.Checker] whether it accepts the agent's tools and options. It asks once for all that was added since the last
// time. It is safe for concurrent use.
func (a *Agent) Err() error {
	if a.err != nil {
		return a.err
	}
	if a.unchecked.Load() {
		a.checking.Lock()
		defer a.checking.Unlock()
		if a.unchecked.Load() {
			a.refused = foreign.Shield("agent "+a.set.Name, "a model of the agent", func() error {
				for _, m := range a.set.Models() {
					_ = m.Info()
				}
				return a.check(a.current())
			})
			a.unchecked.Store(false)
		}
	}
	return a.refused
}

// check asks the agent's models what they cannot be asked, with these tools.
func (a *Agent) check(o *toolset.Offer) error { return a.suits(a.set, o) }

// suits asks the models of the agent, as set has it, what they cannot be asked, with these tools.
func (a *Agent) suits(set *drive.Agent, o *toolset.Offer) error {
	if err := a.priced(set, a.bounded, o); err != nil {
		return err
	}
	clash, err := clashing(set.Answer, set.Name, o)
	if err != nil {
		return err
	}
	var narrow map[string][]toolset.SetAside
	for _, m := range set.Models() {
		checker, info := drive.CheckerOf(m), m.Info()
		if err := set.Left(m); err != nil {
			return a.cannotAsk(info.Name, err)
		}
		left, err := o.Suiting(clash, func(tools []model.ToolSpec) error {
			if checker == nil {
				return nil
			}
			return drive.Suits(set.Answer, checker, &info, model.Request{Tools: tools, Options: set.Asks(m), Instructions: set.Instructions})
		})
		if err != nil {
			return a.cannotAsk(info.Name, err)
		}
		if err := o.LeaveFor(info.Name, left); err != nil {
			return err
		}
		if len(left) > 0 {
			if narrow == nil {
				narrow = map[string][]toolset.SetAside{}
			}
			narrow[info.Name] = left
		}
	}
	if narrow != nil {
		o.NarrowAlso(narrow)
	}
	return nil
}

// canAnswer asks the agent's models whether they can be asked for another answer than the agent's own.
func (a *Agent) canAnswer(x *output.Form) error {
	if a.set.Model == nil {
		return nil // every run says so
	}
	o := a.current()
	return foreign.Shield("agent "+a.set.Name, "a model of the agent", func() error {
		for _, m := range a.set.Models() {
			c, info := drive.CheckerOf(m), m.Info()
			if c == nil {
				continue
			}
			tools, _ := o.Told(info.Name, o.Specs, nil)
			req := model.Request{Tools: tools, Options: a.set.Asks(m), Instructions: a.set.Instructions}
			// What is wrong without the answer is the agent's own fault, which every run tells.
			if err := drive.Suits(x, c, &info, req); err != nil && a.Err() == nil {
				return a.cannotAsk(info.Name, err)
			}
		}
		return nil
	})
}

// Reads returns an error of kind [event.ErrUnsupported] or [event.ErrTooLarge] if the agent's model cannot read one of the
// blocks of a user's message. It asks a [model.Checker] and calls no model; without one, and for an agent of other agents, it
// returns nil. It does not know what hooks change. It is safe for concurrent use.
func (a *Agent) Reads(blocks ...event.Block) error {
	m := a.set.Model
	checker := drive.CheckerOf(m)
	if checker == nil {
		return nil
	}
	return foreign.Shield("agent "+a.set.Name, "a model of the agent", func() error {
		for _, b := range blocks {
			one := event.Message{Role: event.RoleUser, Content: []event.Block{b}}
			req := model.Request{Messages: []event.Message{one}, Options: a.set.Asks(m)}
			if err := foreign.Sound(checker.Check(&req)); err != nil {
				return a.cannotAsk(m.Info().Name, err)
			}
		}
		return nil
	})
}

// cannotAsk is a check's error with the agent's name on it.
func (a *Agent) cannotAsk(model string, err error) error {
	bad := &event.Error{
		Op: "agent " + a.set.Name + ", model " + model, Kind: event.ErrInvalid,
		Message: "the model cannot be asked what the agent asks: " + err.Error(), Hint: "change what is named, or use another model", Err: err,
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		bad.Kind, bad.Code = e.Kind, e.Code
		if e.Message != "" {
			bad.Message = e.Message
		}
		if e.Hint != "" {
			bad.Hint = e.Hint
		}
	}
	return bad
}
