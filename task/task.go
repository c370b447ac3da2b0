// Package task has the Task tool: with it, a model hands a piece of work to one of several agents. The call names the agent by
// its type, says what to do, and may choose the agent's model:
//
//	lead := braid.New("lead", m, braid.Tools(task.New(task.Options{},
//		task.Type{Agent: researcher, Description: "Finds facts."},
//		task.Type{Agent: writer, Description: "Writes texts."},
//	)))
//
// A call opens a scope, as a call of an agent with [braid.AsTool] does: the agent works in the same run and log, with a
// transcript, tools and limits of its own, and its last message is the call's result. Calls of one answer work at the same time.
// An agent of a type may have a Task tool too. Limits.Depth and Limits.Scopes of the run's agent bound all of it.
package task

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Name is the name of the tool unless [Options] has another.
const Name = "Task"

// Type is an agent that a call may name.
type Type struct {
	// Agent does the work. Its name is the type.
	Agent *braid.Agent
	// Description tells the model what the agent is for.
	Description string
	// Background lets calls be in the background; default [NoBackground].
	Background Background
}

// Background says what of an agent's work may be in the background. Such a call returns a receipt. The answer arrives later, as a
// message of the loop to the model, which is then called again.
type Background = drive.Background

// The possibilities.
const (
	// NoBackground makes each call wait for its agent.
	NoBackground = drive.NoBackground
	// AwaitBackground lets calls be in the background. The run does not end while their agents work, unless it is cancelled,
	// fails or reaches a limit.
	AwaitBackground = drive.AwaitBackground
	// StopBackground lets calls be in the background. The run may end before their agents, which are cancelled then.
	StopBackground = drive.StopBackground
)

// Options are the settings of a Task tool. The zero value is one in which agents work with their own models.
type Options struct {
	// Name is the tool's name; default [Name].
	Name string
	// Models opens a model that a call names, by an alias such as "haiku" or by its name. kind is the type of the agent.
	// An error is the call's result. It is called while the run waits, with the run's context, and again where another
	// process takes over the run: the log has the name alone. It is safe for concurrent use. If it is nil, calls cannot
	// choose a model. [Aliases] is one.
	Models func(ctx context.Context, kind, name string) (Model, error)
	// ModelNames are shown to the model as examples of what Models opens.
	ModelNames []string
}

// Model is a model that a call has chosen.
type Model struct {
	braid.Model
	// Options are those of its calls; nil for those of the agent.
	Options *model.Options
}

// Tool is a Task tool. Make it with [New] and give it to an agent with [braid.Tools].
type Tool struct {
	options Options
	spec    tool.Spec
	types   []drive.SubAgent
	// background holds the types whose calls may be in the background.
	background map[string]Background
	err        error
}

var _ drive.Delegate = (*Tool)(nil)

// New makes a Task tool for agents of these types. It does not fail: an agent that gets the tool reports what is wrong, such as
// no type, a type without an agent, or two agents of one name.
func New(o Options, types ...Type) *Tool {
	t := &Tool{options: o, background: map[string]Background{}}
	names := make([]string, 0, len(types))
	var list strings.Builder
	for _, one := range types {
		if one.Agent == nil {
			t.fail("a type of a Task tool has no agent", "leave it out")
			continue
		}
		sub, _ := braid.AsTool(one.Agent, one.Description).(drive.SubAgent)
		name := one.Agent.Name()
		for _, taken := range names {
			if taken == name {
				t.fail(fmt.Sprintf("two types of a Task tool are called %q", name), "rename one of the agents")
			}
		}
		if err := one.Agent.Err(); err != nil && t.err == nil {
			t.err = err
		}
		if one.Background != NoBackground {
			t.background[name] = one.Background
		}
		names, t.types = append(names, name), append(t.types, sub)
		list.WriteString("\n- " + name)
		if one.Description != "" {
			list.WriteString(": " + one.Description)
		}
	}
	if len(types) == 0 {
		t.fail("a Task tool has no types", "give it at least one agent")
	}
	if o.Name == "" {
		o.Name = Name
	}
	t.spec = tool.Spec{Name: o.Name, Description: description + list.String(), Schema: schema(&o, names, len(t.background) > 0)}
	return t
}

const description = "Hands a piece of work to another agent and returns its answer. The agent sees nothing of this conversation: " +
	"put everything that it needs into prompt. Calls in one answer run at the same time. The types of agents:"

func (t *Tool) fail(message, hint string) {
	if t.err == nil {
		t.err = &event.Error{Op: "task", Kind: event.ErrInvalid, Message: message, Hint: hint}
	}
}

// property is one argument in the tool's schema.
type property struct {
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Enum        []string `json:"enum,omitempty"`
}

func schema(o *Options, types []string, background bool) json.RawMessage {
	properties := map[string]property{
		"description":   {Type: "string", Description: "The work in 3 to 5 words, for people who watch."},
		"prompt":        {Type: "string", Description: "What the agent is to do, with all that it needs to know."},
		"subagent_type": {Type: "string", Description: "Which agent does it.", Enum: types},
	}
	if o.Models != nil {
		about := "The model that the agent works with, if not its own."
		if len(o.ModelNames) > 0 {
			about += " For example: " + strings.Join(o.ModelNames, ", ") + "."
		}
		properties["model"] = property{Type: "string", Description: about}
	}
	if background {
		properties["run_in_background"] = property{
			Type: "boolean", Description: "Do not wait: the answer comes later, as a message. Only if there is other work to do meanwhile.",
		}
	}
	raw, _ := json.Marshal(map[string]any{ //nolint:errchkjson // it holds strings and a bool
		"type": "object", "properties": properties, "required": []string{"description", "prompt", "subagent_type"}, "additionalProperties": false,
	})
	return raw // strings alone can always be written
}

// Spec implements [tool.Tool].
func (t *Tool) Spec() tool.Spec { return t.spec }

// Err returns what is wrong with the tool; nil if nothing is.
func (t *Tool) Err() error { return t.err }

// Source is the tool's source in logs of tool calls.
func (t *Tool) Source() string { return "agent" }

// Types implements an interface of the driver.
func (t *Tool) Types() []drive.SubAgent { return t.types }

// Agents returns the agents of the types, in their order.
func (t *Tool) Agents() []*braid.Agent {
	list := make([]*braid.Agent, 0, len(t.types))
	for _, one := range t.types {
		if a, ok := one.(interface{ Agent() *braid.Agent }); ok {
			list = append(list, a.Agent())
		}
	}
	return list
}

// Background implements an interface of the driver.
func (t *Tool) Background(kind string) Background { return t.background[kind] }

// Model implements an interface of the driver.
func (t *Tool) Model(ctx context.Context, kind, name string) (*drive.TaskModel, error) {
	if t.options.Models == nil {
		return nil, &event.Error{Kind: event.ErrUnsupported, Message: "this tool lets no model be chosen", Hint: "leave model out"}
	}
	m, err := t.options.Models(ctx, kind, name)
	if err != nil {
		return nil, err
	}
	return &drive.TaskModel{Model: m.Model, Options: m.Options}, nil
}

// Call is never reached: the loop opens a scope instead.
func (t *Tool) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Output{}, &event.Error{
		Op: "tool " + t.spec.Name, Kind: event.ErrUnsupported,
		Message: "a Task tool is run by the loop and cannot be called by itself", Hint: "give it to an agent as it is",
	}
}
