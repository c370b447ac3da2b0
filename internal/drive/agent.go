package drive

import (
	"slices"
	"sync/atomic"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/internal/permission"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Agent is what a driver needs of an agent. [Agent] fills it; a driver gets a copy and changes nothing of it. Only its
// tools may change while it works: current returns those of the moment.
type Agent struct {
	Name  string
	Model model.Model
	// Instructions is the whole system prompt. instructionTokens is an estimate of its size.
	Instructions      string
	InstructionTokens int64
	// Offers holds the tools of the moment; nil for an agent without tools.
	Offers *atomic.Pointer[toolset.Offer]
	// Own has those and the tools of one run; nil for an agent as it is.
	Own *toolset.Extended
	// Limits and Bounds, which a decision looks at, are read only: agents with the same limits share them.
	Limits  *Limits
	Bounds  *decide.Limits
	Retry   tool.Retry
	Options model.Options
	// Choice is what the model must do with its tools in the agent's own scope of a run.
	Choice model.ToolChoice
	// Sequential says that the calls of one answer run one after another.
	Sequential bool
	// Fallbacks are called if a model failed with one of fallbackOn.
	Fallbacks  []model.Model
	FallbackOn []event.ErrorKind
	// Flow decides for an agent without a model, and parts are its agents; nil for an agent that calls a model.
	Flow  decide.Kind
	Parts []SubAgent
	// Manage is nil for an agent that manages nothing.
	Manage *Management
	// Offload is nil for an agent that shows all results as they are.
	Offload *Offloading
	// Search is nil for an agent that shows its model all its tools.
	Search *toolset.Search
	// Hooks is nil for an agent without hooks.
	Hooks *hooks.Set
	// Permits are the permission policies. The strictest one decides.
	Permits []*permission.Policy
	// Guards are the guardrails.
	Guards []Guard
	// Forgets says that later runs see nothing of its failed runs.
	Forgets bool
	// Servers reports the state of the sources of its tools; nil for none.
	Servers func() []event.ToolServer
	// Answer is the form of its output; nil for text.
	Answer *output.Form
}

// Current returns the agent's tools of the moment. It is safe for concurrent use.
func (a *Agent) Current() *toolset.Offer {
	if a.Own != nil {
		return a.Own.Offer()
	}
	if a.Offers != nil {
		if o := a.Offers.Load(); o != nil {
			return o
		}
	}
	return toolset.Empty
}

// isFlow reports whether the agent calls no model.
func (a *Agent) isFlow() bool { return a.Flow != nil }

// kind decides in the agent's scopes.
func (a *Agent) kind() decide.Kind {
	if a.Flow != nil {
		return a.Flow
	}
	return decide.LLM{}
}

// modelName is the name of the agent's first model; empty for none.
func (a *Agent) modelName() string {
	if a.Model == nil {
		return ""
	}
	return a.Model.Info().Name
}

// below lists the agents that work for this one or for one below it, each once.
func (a *Agent) below() []*Agent {
	var list []*Agent
	todo := []*Agent{a}
	for len(todo) > 0 {
		one := todo[0]
		todo = todo[1:]
		children := slices.Clone(one.Parts)
		for _, t := range one.Current().Children {
			children = append(children, SubAgentsOf(t)...)
		}
		for _, c := range children {
			if child := c.Runs(); child != a && !slices.Contains(list, child) {
				list, todo = append(list, child), append(todo, child)
			}
		}
	}
	return list
}
