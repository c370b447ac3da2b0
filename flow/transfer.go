package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/tool"
)

// TransferTool is the name of the tool with which the agents of a [Team] hand over, as in ADK.
const TransferTool = "transfer_to_agent"

// Sub is an agent of a [Team] beside its lead; ADK calls it a sub-agent.
type Sub struct {
	Agent *braid.Agent
	// Description tells the models of the others what the agent is for.
	Description string
	// NoParent keeps the agent from handing over to the lead of the team, and NoPeers from handing over to other members. An
	// agent with NoParent does not keep the conversation: the next run begins with the root agent.
	NoParent bool
	NoPeers  bool
}

// Control says how long an agent has the conversation once it was handed over.
type Control uint8

// The values of Control.
const (
	// Sticky keeps the agent for later runs of the session, until it hands over itself. It is the default, and ADK's rule.
	Sticky Control = iota
	// Return lets the next run begin with the root agent.
	Return
	// Once gives the conversation back in the same run, as soon as the agent has answered. What is handed over to a lead stays
	// there, as with Return.
	Once
)

// Sees says what the model of an agent sees once the conversation was handed over.
type Sees uint8

// The values of Sees.
const (
	// SeesAll shows everything as it is. It is the default.
	SeesAll Sees = iota
	// SeesContext shows what the other agents of the run said and did as context, in a user's message, as ADK does: "For context:"
	// and "[agent] said: …".
	SeesContext
	// SeesBrief shows the user's newest message, and the message that the agent before has written with the call.
	SeesBrief
)

// TeamOptions are the options of [Team]. The zero value is ADK's.
type TeamOptions struct {
	Control Control
	Sees    Sees
	// Max bounds how often a run is handed over; 0 means 20. A call above it is an error for the model.
	Max int
}

// Team lets the model of an agent, the lead, hand the conversation over to members, and theirs to the lead and to each other. It
// gives them the tool [TransferTool] and returns the lead. A member may lead a team of its own; make that first.
//
// A transfer is an event of the log. The other agent goes on in the same run and scope, with its own model, instructions and
// tools. Give lead and members their other tools before or after; call Team before the first run.
func Team(lead *braid.Agent, o TeamOptions, members ...Sub) *braid.Agent {
	own := transferOf(lead)
	for _, m := range members {
		if m.Agent != nil {
			own.add(m.Agent, m.Description, o)
		}
	}
	for i, m := range members {
		if m.Agent == nil {
			continue
		}
		t := transferOf(m.Agent)
		t.up, t.stays = own, m.NoParent
		if !m.NoParent {
			t.add(lead, "The agent that leads this team.", TeamOptions{Control: min(o.Control, Return), Sees: o.Sees, Max: o.Max})
		}
		for k, peer := range members {
			if k != i && !m.NoPeers && peer.Agent != nil && peer.Agent != m.Agent {
				t.add(peer.Agent, peer.Description, o)
			}
		}
		t.give(m.Agent)
	}
	own.give(lead)
	return lead
}

// transfer is the tool of one agent.
type transfer struct {
	targets []target
	// up is the tool of the agent's lead; nil for an agent without one. stays says that it cannot hand over to the lead.
	up    *transfer
	stays bool
	given bool
	err   error
}

// target is an agent to which the tool may hand over.
type target struct {
	agent drive.SubAgent
	name  string
	does  string
	o     TeamOptions
	// of is the target's own tool, once it is known.
	of func() *transfer
}

var _ drive.Transfer = (*transfer)(nil)

// transferOf returns the agent's tool, or a new one.
func transferOf(a *braid.Agent) *transfer {
	if a == nil {
		return &transfer{}
	}
	for _, t := range a.Tools() {
		if own, ok := t.(*transfer); ok {
			return own
		}
	}
	return &transfer{}
}

// add adds an agent.
func (t *transfer) add(a *braid.Agent, does string, o TeamOptions) {
	if a == nil {
		return
	}
	if a.Model() == nil {
		t.err = &event.Error{
			Op: "agent " + a.Name(), Kind: event.ErrInvalid, Message: "a flow cannot be in a team, because it has no model",
			Hint: "give it to an agent with braid.AsTool",
		}
		return
	}
	if slices.ContainsFunc(t.targets, func(known target) bool { return known.name == a.Name() }) {
		return
	}
	sub, _ := braid.AsTool(a, does).(drive.SubAgent)
	t.targets = append(t.targets, target{sub, a.Name(), does, o, func() *transfer { return transferOf(a) }})
}

// give gives the tool to its agent.
func (t *transfer) give(a *braid.Agent) {
	if a == nil {
		return
	}
	if t.given {
		a.RemoveTools(TransferTool) // its description has changed
	}
	t.given = true
	a.Use(braid.Tools(t))
}

// sticks reports whether an agent may keep the conversation: it and all that lead it can hand over to their leads.
func (t *transfer) sticks() bool {
	for ; t != nil; t = t.up {
		if t.stays {
			return false
		}
	}
	return true
}

// Err returns why the tool cannot be used.
func (t *transfer) Err() error { return t.err }

// Traits says that a call changes nothing but who has the conversation.
func (*transfer) Traits() tool.Traits { return tool.Traits{Effect: event.EffectPure} }

// Targets implements [drive.Transfer].
func (t *transfer) Targets() []drive.SubAgent {
	list := make([]drive.SubAgent, len(t.targets))
	for i := range t.targets {
		list[i] = t.targets[i].agent
	}
	return list
}

// Spec describes the tool.
func (t *transfer) Spec() tool.Spec {
	var names []string
	var list strings.Builder
	for _, one := range t.targets {
		names = append(names, one.name)
		list.WriteString("\n- " + one.name)
		if one.does != "" {
			list.WriteString(": " + one.does)
		}
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"agent_name"},
		"properties": map[string]any{
			"agent_name": map[string]any{"type": "string", "enum": names, "description": "The agent that takes over."},
			"message":    map[string]any{"type": "string", "description": "What that agent is to know and to do."},
		},
	})
	if err != nil {
		schema = nil // strings always fit
	}
	return tool.Spec{
		Name: TransferTool, Schema: schema,
		Description: "Hands the conversation over to another agent, if that is better suited to answer. " +
			"It answers the user from then on. The agents are:" + list.String(),
	}
}

// Call implements [tool.Tool].
func (t *transfer) Call(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	var in struct {
		Agent   string `json:"agent_name"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return tool.Output{}, &tool.ArgumentsError{Err: err}
	}
	at := slices.IndexFunc(t.targets, func(one target) bool { return one.name == in.Agent })
	if at < 0 {
		var names []string
		for _, one := range t.targets {
			names = append(names, one.name)
		}
		return tool.Output{}, &event.Error{
			Op: "transfer", Kind: event.ErrNotFound,
			Message: fmt.Sprintf("there is no agent %.64q to hand over to; there are: %s", in.Agent, strings.Join(names, ", ")),
		}
	}
	h, ok := hostOf(ctx).(interface {
		Transfer(b event.Transferred, most int) error
	})
	if !ok {
		return tool.Output{}, tool.NoCall("transfer")
	}
	to := &t.targets[at]
	most := to.o.Max
	if most <= 0 {
		most = 20
	}
	b := event.Transferred{To: to.name, Brief: in.Message}
	switch {
	case to.o.Control == Once:
		b.Policy = event.TransferOnce
	case to.o.Control == Return, !to.of().sticks():
		b.Policy = event.TransferReturn
	}
	switch to.o.Sees {
	case SeesContext:
		b.Sees = event.TransferContext
	case SeesBrief:
		b.Sees = event.TransferBrief
	}
	if err := h.Transfer(b, most); err != nil {
		return tool.Output{}, err
	}
	return tool.Text("The agent " + to.name + " takes over."), nil
}
