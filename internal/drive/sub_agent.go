package drive

import (
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/guardrail"
)

// agentInput reads the arguments of a call to an agent, or says what is wrong.
func agentInput(c *event.ToolCall) ([]event.Block, string) {
	if c.Args == nil {
		return nil, "Error: " + c.Fault + "."
	}
	var args struct {
		Input string `json:"input"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil || args.Input == "" {
		return nil, `Error: invalid arguments: input is missing; it says what the agent is to do.`
	}
	return []event.Block{&event.Text{Text: args.Input}}, ""
}

// beginAgent begins a call of an agent that is used as a tool: it opens a scope for it. Nothing is called; the scope's
// own decisions do the rest.
func (d *activeRun) beginAgent(w *toolWork, child SubAgent) {
	s, c, p := w.scope, w.entry, w.decision
	d.add(s, w.step, w.attempt, p.note(c, &event.StepBegun{
		Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: event.EffectIdempotent,
	}))
	d.writeState(&w.Work)
	w.call.did.endTurn = false // only a hook after the call may end the turn
	if p.notice != nil {
		d.add(s, w.step, w.attempt, p.notice)
	}
	input, problem := agentInput(p.arguments(c))
	if problem != "" {
		d.endRefused(w, &event.Error{Kind: event.ErrInvalid, Message: strings.TrimPrefix(problem, "Error: ")})
		return
	}
	if over := d.tooMany(s, 1); over != nil {
		d.endRefused(w, over)
		return
	}
	input, guardedBy, err := d.filterBlocks(d.guardsOf(child.Runs(), guardrail.Input), input)
	if err != nil {
		d.endRefused(w, hookError(err))
		return
	}
	d.add(s, w.step, w.attempt, &event.ScopeOpened{
		ID: w.step, Parent: s.ID, Call: c.ID, Agent: child.Runs().Name, Depth: s.Depth + 1, Input: input,
	})
	d.record(s, w.step, w.attempt, guardedBy)
}
