package braid

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// beginModel begins the scope's next model call, or the next attempt of the
// one that failed.
func (d *driver) beginModel(s *Scope, agent *Agent, why event.Why) {
	attempt := 1
	if again(why) {
		attempt = s.model.attempt + 1
	}
	model := agent.named(s.asks)
	if why == event.WhyFallback {
		model = agent.named(s.model.fallback)
	}
	info := model.Info()
	cycle := s.cycle
	if attempt == 1 {
		cycle++
	}
	step := stepName(s.id, 'm', cycle, 0)
	d.addAt(s, cycle, step, attempt, &event.StepBegun{Step: event.StepModel, Why: why, Model: info.Name})
	s.model.by = &d.running
	d.running.n++
	// A model call on the driver's own goroutine is over before the next one
	// begins, so one piece of memory serves them all.
	w := &d.model
	if w.request != nil || d.running.n > 1 {
		w = &modelWork{}
	}
	*w = modelWork{
		work: work{scope: s, agent: agent, model: model, info: info, step: step, attempt: attempt, begun: d.now},
		own: ModelRequest{
			Messages: s.talk.shared(), Tools: agent.specs,
			Run: d.row.ID, Scope: s.id, Cycle: cycle, Attempt: attempt, Options: agent.options,
		},
	}
	w.own.Instructions, w.own.Output = agent.told(&info)
	w.request, w.answer = &w.own, &w.end
	d.todo = append(d.todo, &w.work)
}

// beginTools begins calls. What can be answered without running anything (an
// unknown tool, arguments that are no JSON) is answered at once.
func (d *driver) beginTools(s *Scope, agent *Agent, calls []*call) {
	for _, c := range calls {
		reconcile := c.state == callBegun && c.effect == event.EffectReconcilable
		attempt := c.attempt + 1
		tool := agent.tool(c.Name)
		var traits Traits
		if tool != nil {
			traits = TraitsOf(tool)
		}
		reconcile = reconcile && traits.Reconcile != nil
		d.add(s, c.step, attempt, &event.StepBegun{
			Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: traits.Effect, Reconcile: reconcile,
		})
		if kind, text := refusal(agent, tool, c); text != "" {
			d.refuse(s, c, kind, text)
			continue
		}
		w := &toolWork{
			work: work{scope: s, entry: c, agent: agent, step: c.step, attempt: attempt, begun: d.now},
			own: Call{
				Context: d.ctx, ID: c.ID, Name: c.Name, Args: c.Args, Conversation: d.row.Conversation,
				Run: d.row.ID, Scope: s.id, Step: c.step, Agent: s.agent, Attempt: attempt,
				tool: tool, traits: traits, reconcile: reconcile, box: d.view.state, asks: slices.Clone(c.asks),
			},
		}
		w.call = &w.own
		switch {
		case traits.Timeout > 0:
			w.bound = traits.Timeout + max(d.agent.limits.Grace, 0)
		case agent.limits.ToolTime > 0:
			w.bound = agent.limits.ToolTime
		}
		c.by = &d.running
		d.running.n++
		d.todo = append(d.todo, &w.work)
	}
}

// refusal says why a call cannot be run at all.
func refusal(agent *Agent, tool Tool, c *call) (event.ErrorKind, string) {
	switch {
	case tool == nil:
		names := make([]string, len(agent.specs))
		for i := range agent.specs {
			names[i] = agent.specs[i].Name
		}
		return event.ErrNotFound, "Error: there is no tool called " + quote(c.Name) + "; the tools are: " + list(names) + "."
	case c.Args == nil:
		return event.ErrInvalid, "Error: " + c.Fault + "."
	default:
		return "", ""
	}
}

// refuse ends a call that was begun and never ran.
func (d *driver) refuse(s *Scope, c *call, kind event.ErrorKind, text string) {
	d.add(s, c.step, c.attempt, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone,
		Result: &event.ToolResult{
			Call: c.ID, Name: c.Name, IsError: true, Content: []event.Block{&event.Text{Text: text}},
		},
		Err: &event.Error{Op: "tool " + c.Name, Kind: kind, Message: strings.TrimPrefix(text, "Error: ")},
	})
}

// openScopes opens a child scope for each call of an agent. Nothing is called:
// the child's own Next does the rest.
func (d *driver) openScopes(s *Scope, agent *Agent, calls []*call) {
	l := &d.agent.limits
	for _, c := range calls {
		child := agent.child(c.Name)
		d.add(s, c.step, c.attempt+1, &event.StepBegun{
			Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: event.EffectIdempotent,
		})
		input, text := agentInput(c)
		switch {
		case text != "":
		case l.Depth > 0 && s.depth+1 > l.Depth:
			text = "Error: agents may call agents " + itoa(l.Depth) + " levels deep, and this would be one more."
		case l.Scopes > 0 && len(d.view.run.scopes) >= l.Scopes:
			text = "Error: the run has opened as many agents as it may (" + itoa(l.Scopes) + ")."
		}
		if text != "" {
			d.refuse(s, c, event.ErrLimit, text)
			continue
		}
		d.add(s, c.step, c.attempt, &event.ScopeOpened{
			ID: c.step, Parent: s.id, Call: c.ID, Agent: child.agent.name, Depth: s.depth + 1, Input: input,
		})
	}
}
