package drive

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/tool"
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

// beginAgent begins a call that opens a scope. Nothing is called but what opens a model that the call names; the scope's
// own decisions do the rest.
func (d *activeRun) beginAgent(w *toolWork, t tool.Tool) {
	s, c, p := w.scope, w.entry, w.decision
	d.add(s, w.step, w.attempt, p.note(c, &event.StepBegun{
		Step: event.StepTool, Call: c.ID, Tool: c.Name, Effect: event.EffectIdempotent,
	}))
	d.writeState(&w.Work)
	w.call.did.endTurn = false // only a hook after the call may end the turn
	if p.notice != nil {
		d.add(s, w.step, w.attempt, p.notice)
	}
	child, o, refused := d.opening(t, p.arguments(c))
	if refused == nil {
		refused = d.tooMany(s, 1)
	}
	if refused != nil {
		d.endRefused(w, refused)
		return
	}
	input, guardedBy, err := d.filterBlocks(d.guardsOf(child.Runs(), guardrail.Input), o.Input)
	if err != nil {
		d.endRefused(w, hookError(err))
		return
	}
	o.ID, o.Parent, o.Call, o.Depth, o.Input = w.step, s.ID, c.ID, s.Depth+1, input
	d.add(s, w.step, w.attempt, o)
	d.record(s, w.step, w.attempt, guardedBy)
	if o.Background {
		d.receipt(w, o)
	}
}

// receipt ends a call whose agent works in the background.
func (d *activeRun) receipt(w *toolWork, o *event.ScopeOpened) {
	text := "The agent " + strconv.Quote(o.Agent) + " works in the background. " +
		"Its answer comes as a message, with the id of this call: " + o.Call + "."
	w.end.skip, w.end.outcome = skipAgent, event.OutcomeDone
	w.end.made = &event.ToolResult{Call: o.Call, Name: w.entry.Name, Content: []event.Block{&event.Text{Text: text}}}
	d.endUnrun(&w.Work)
}

// opening reads which agent a call of a tool asks for, and what. refused is why no agent works.
func (d *activeRun) opening(t tool.Tool, c *event.ToolCall) (child SubAgent, o *event.ScopeOpened, refused *event.Error) {
	if delegate, ok := t.(Delegate); ok {
		return d.delegated(delegate, c)
	}
	child = t.(SubAgent) //nolint:forcetypeassert // nothing else opens scopes
	input, problem := agentInput(c)
	if problem != "" {
		return nil, nil, &event.Error{Kind: event.ErrInvalid, Message: strings.TrimPrefix(problem, "Error: ")}
	}
	return child, &event.ScopeOpened{Agent: child.Runs().Name, Input: input}, nil
}
