package braid

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// driveAgent is what a driver needs of an agent. [Agent] fills it; a driver gets a copy and changes nothing of it. Only its
// tools may change while it works: current returns those of the moment.
type driveAgent struct {
	name  string
	model model.Model
	// instructions is the whole system prompt. instructionTokens is an estimate of its size.
	instructions      string
	instructionTokens int64
	// offers returns the tools of the moment; nil for an agent without tools.
	offers func() *offer
	limits limits
	// bounds are those of limits that a decision looks at.
	bounds  decide.Limits
	retry   tool.Retry
	options model.Options
	// sequential says that the calls of one answer run one after another.
	sequential bool
	// fallbacks are called if a model failed with one of fallbackOn.
	fallbacks  []model.Model
	fallbackOn []event.ErrorKind
	// flow decides for an agent without a model, and parts are its agents; nil for an agent that calls a model.
	flow  decide.Kind
	parts []subAgent
	// manage is nil for an agent without [Manage].
	manage *management
	// offload is nil for an agent that shows all results as they are.
	offload *offloading
	// search is nil for an agent that shows its model all its tools.
	search *toolSearch
	// hooks is nil for an agent without hooks.
	hooks *hooks.Set
	// permits are the permission policies. The strictest one decides.
	permits []*policy
	// guards are the guardrails.
	guards []guard
	// forgets says that later runs see nothing of its failed runs.
	forgets bool
	// servers reports the state of the sources of its tools; nil for none.
	servers func() []event.ToolServer
	// answer is the form of its output; nil for text.
	answer *output.Form
}

// current returns the agent's tools of the moment. It is safe for concurrent use.
func (a *driveAgent) current() *offer {
	if a.offers == nil {
		return noOffer
	}
	return a.offers()
}

// isFlow reports whether the agent calls no model.
func (a *driveAgent) isFlow() bool { return a.flow != nil }

// kind decides in the agent's scopes.
func (a *driveAgent) kind() decide.Kind {
	if a.flow != nil {
		return a.flow
	}
	return decide.LLM{}
}

// modelName is the name of the agent's first model; empty for none.
func (a *driveAgent) modelName() string {
	if a.model == nil {
		return ""
	}
	return a.model.Info().Name
}

// below lists the agents that work for this one or for one below it, each once.
func (a *driveAgent) below() []*driveAgent {
	var list []*driveAgent
	todo := []*driveAgent{a}
	for len(todo) > 0 {
		one := todo[0]
		todo = todo[1:]
		for _, c := range slices.Concat(one.parts, one.current().children) {
			if child := c.runs(); child != a && !slices.Contains(list, child) {
				list, todo = append(list, child), append(todo, child)
			}
		}
	}
	return list
}

// subAgent is an agent that is used as a tool. A call of it opens a scope.
type subAgent interface {
	tool.Tool
	// runs is the agent behind the tool.
	runs() *driveAgent
}
