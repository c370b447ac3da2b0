package braid

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/toolset"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Agent is a name, instructions, a model and tools, or a flow of other agents ([NewFlow]). It holds no conversation,
// so one agent serves any number of runs at once. Make it with [New].
type Agent struct {
	// set is what the parts have set so far, and frozen what a run gets. They are the same until another Use, which
	// changes a copy. first is the memory for it at first: with a copy for each agent, making one (row d of the bench)
	// takes 2.2 KB instead of 1.4 KB.
	set    *drive.Agent
	frozen *drive.Agent
	first  drive.Agent
	// own is the text of Instructions. below are those of sources; see From.
	own   string
	below []string
	// offered is what the next model call is shown. A change makes another one under offering and puts it in its place.
	// draft is that one while it is made.
	offered  atomic.Pointer[toolset.Offer]
	offering sync.Mutex
	draft    *toolset.Offer
	// made are the hooks that wait for the agent to be made.
	made []hooks.Hook
	// bounded are the limits of the agent's runs. Nobody changes them.
	bounded *Limits
	err     error
	// unchecked is set while the models were not asked about the last change.
	unchecked atomic.Bool
	checking  sync.Mutex
	// refused is what the models refuse, as of the last check.
	refused error
}

// Part is a tool or a setting of an agent.
type Part interface {
	attach(a *Agent) error
}

type partFunc func(a *Agent) error

func (f partFunc) attach(a *Agent) error { return f(a) }

// New makes an agent. Wrong parts (two tools with one name, an invalid schema, no model) do not panic: [Agent.Err] and
// every run return an error of kind [event.ErrInvalid].
func New(name string, model Model, parts ...Part) *Agent {
	a := &Agent{first: drive.Agent{Name: name, Model: model}}
	a.set = &a.first
	a.bounded, a.set.Bounds, a.set.Limits = &defaultLimits, &defaultBounds, &defaultDriven
	a.set.Retry = defaultRetry
	a.set.Offers = &a.offered
	switch {
	case name == "" || name == event.UserAuthor:
		a.err = &event.Error{
			Op: "agent", Kind: event.ErrInvalid,
			Message: fmt.Sprintf("%q cannot be the name of an agent", name), Hint: "give it a name of its own",
		}
	case foreign.IsNil(model):
		a.set.Model = nil
		a.err = &event.Error{
			Op: "agent " + name, Kind: event.ErrInvalid, Message: "the agent has no model",
			Hint: `pass what models.Open("") gives, after looking at its error`,
		}
	}
	return a.Use(parts...)
}

// Use adds parts and returns the agent. Call it while you set the agent up, not while the agent runs; [Agent.AddTools]
// is for that.
func (a *Agent) Use(parts ...Part) *Agent {
	if a.frozen != nil {
		set := *a.set
		a.set = &set
	}
	_ = a.change(func() error {
		for _, p := range parts {
			if foreign.IsNil(p) {
				continue
			}
			err := foreign.Shield("agent "+a.set.Name, "a part of the agent", func() error { return p.attach(a) })
			if err != nil && a.err == nil {
				a.err = err
			}
		}
		return nil
	}, func(*toolset.Offer) error { return nil })
	a.set.Instructions = joinTexts(append([]string{a.own}, a.below...)...)
	a.set.InstructionTokens = model.TextTokens(a.set.Instructions)
	a.unchecked.Store(true)
	a.frozen = a.set
	a.callMade()
	return a
}

// Name is the agent's name. Events of the agent have it as their author.
func (a *Agent) Name() string { return a.set.Name }

// Model is the agent's model; nil for an agent that [NewFlow] made.
func (a *Agent) Model() Model { return a.set.Model }

// Instructions set the agent's system prompt. If there are several, the last one counts.
func Instructions(s string) Part {
	return partFunc(func(a *Agent) error { a.own = s; return nil })
}

// joinTexts puts texts under one another, and leaves out those that are empty.
func joinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
}

// Options set the options of the agent's model calls.
func Options(o model.Options) Part {
	return partFunc(func(a *Agent) error { a.set.Options = o; return nil })
}

// Sequential runs the tools of one answer one after another, in the order of the calls. By default they run at the
// same time.
func Sequential() Part {
	return partFunc(func(a *Agent) error { a.set.Sequential = true; return nil })
}

// Tools adds tools of any kind.
func Tools(tools ...Tool) Part {
	return partFunc(func(a *Agent) error {
		for _, t := range tools {
			if foreign.IsNil(t) {
				return &event.Error{
					Op: "agent " + a.set.Name, Kind: event.ErrInvalid, Message: "a tool is nil", Hint: "leave it out",
				}
			}
			if p, ok := t.(Part); ok {
				if err := p.attach(a); err != nil {
					return err
				}
				continue
			}
			if err := a.attachTool(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// AsTool makes an agent a tool of another one. A call opens a scope: the agent works in the same run and log, under
// the same lease, with a transcript of its own. Its last message is the call's result. A crash inside resumes inside.
func AsTool(a *Agent, description string) Part {
	t := &agentTool{agent: a, spec: model.ToolSpec{Description: description, Schema: agentToolSchema}}
	if a != nil {
		t.spec.Name = a.set.Name
	}
	return t
}

var agentToolSchema = json.RawMessage(
	`{"type":"object","properties":{"input":{"type":"string","description":"What the agent is to do."}},` +
		`"required":["input"],"additionalProperties":false}`)

type agentTool struct {
	agent *Agent
	spec  model.ToolSpec
}

func (t *agentTool) Spec() model.ToolSpec { return t.spec }

// Runs is the agent behind the tool as a driver sees it.
func (t *agentTool) Runs() *drive.Agent { return t.agent.frozen }

// With returns the agent with another model, if that can be asked what the agent asks. It keeps no fallback: the model was
// chosen by name.
func (t *agentTool) With(m *drive.TaskModel) (*drive.Agent, error) {
	set := *t.agent.frozen
	set.Model, set.Fallbacks = m.Model, nil
	if m.Options != nil {
		set.Options = *m.Options
	}
	return &set, t.agent.suits(&set, t.agent.current())
}

// Agent is the agent behind the tool, for those who look through [Agent.Tools].
func (t *agentTool) Agent() *Agent { return t.agent }

// Call is never reached: the loop opens a scope instead.
func (t *agentTool) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Output{}, &event.Error{
		Op: "tool " + t.spec.Name, Kind: event.ErrUnsupported,
		Message: "an agent is run by the loop and cannot be called by itself", Hint: "use its Run method",
	}
}

func (t *agentTool) attach(a *Agent) error {
	if t.agent == nil {
		return &event.Error{
			Op: "agent " + a.set.Name, Kind: event.ErrInvalid, Message: "an agent that is used as a tool is nil", Hint: "leave it out",
		}
	}
	if err := t.agent.Err(); err != nil {
		return err
	}
	if err := a.draft.Add(a.set.Name, t, t.spec); err != nil {
		return err
	}
	a.draft.Children = append(a.draft.Children, t)
	return nil
}

// team lists an agent and all that it can call, by name. Two different agents of
// one name cannot be told apart in the log, and are refused.
func (a *Agent) team() (map[string]*drive.Agent, error) {
	if len(a.opens(a.current())) == 0 {
		return nil, a.Err()
	}
	team := map[string]*drive.Agent{}
	todo := []*Agent{a}
	for len(todo) > 0 {
		one := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if known, ok := team[one.set.Name]; ok {
			if known != one.frozen {
				return nil, &event.Error{
					Op: "agent " + a.set.Name, Kind: event.ErrInvalid,
					Message: fmt.Sprintf("two agents are called %q", one.set.Name), Hint: "rename one of them",
				}
			}
			continue
		}
		if err := one.Err(); err != nil {
			return nil, err
		}
		team[one.set.Name] = one.frozen
		todo = append(todo, one.opens(one.current())...)
	}
	return team, nil
}

// Model is [model.Model]: a language model that answers one request with one stream.
type Model = model.Model
