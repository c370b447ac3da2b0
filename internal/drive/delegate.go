package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/cost"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// SubAgent is an agent that is used as a tool, or a type of a [Delegate]. A call of it opens a scope.
type SubAgent interface {
	tool.Tool
	// Runs is the agent behind the tool.
	Runs() *Agent
	// With returns that agent with another model, or why the model cannot be asked what the agent asks. It is safe for
	// concurrent use.
	With(m *TaskModel) (*Agent, error)
}

// Delegate is a tool whose call names the agent that is to work. A call of it opens a scope of that agent.
type Delegate interface {
	tool.Tool
	// Types are the agents that a call may name, by the names of their specs.
	Types() []SubAgent
	// Background says whether calls for the agent of a type may be in the background.
	Background(kind string) Background
	// Model opens a model that a call names for the agent of a type. It is called while the run waits.
	Model(ctx context.Context, kind, name string) (*TaskModel, error)
}

// Background says what of the work of a sub-agent may be in the background.
type Background uint8

// The possibilities.
const (
	// NoBackground makes each call wait for its agent.
	NoBackground Background = iota
	// AwaitBackground lets calls be in the background. The run does not end while their agents work.
	AwaitBackground
	// StopBackground lets calls be in the background. At the end of the run their agents are cancelled.
	StopBackground
)

// TaskModel is a model that a call chose for its agent.
type TaskModel struct {
	Model model.Model
	// Options are those of its calls; nil for those of the agent.
	Options *model.Options
}

// SubAgentsOf returns the agents that a call of a tool puts to work; none for every other tool.
func SubAgentsOf(t tool.Tool) []SubAgent {
	switch t := t.(type) {
	case SubAgent:
		return []SubAgent{t}
	case Delegate:
		return t.Types()
	case Transfer:
		return t.Targets()
	default:
		return nil
	}
}

// OpensScopes reports whether calls of a tool open scopes.
func OpensScopes(t tool.Tool) bool {
	switch t.(type) {
	case SubAgent, Delegate:
		return true
	default:
		return false
	}
}

// delegation is what a call of a [Delegate] asks for.
type delegation struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type"`
	Model       string `json:"model"`
	Background  bool   `json:"run_in_background"`
}

const (
	// longestDescription bounds what the log keeps of a description, in bytes.
	longestDescription = 200
	// longestModelName bounds the name of a model in a call.
	longestModelName = 256
)

// delegated reads the arguments of a call of a [Delegate], and opens the model that it names. refused is why no agent
// works.
func (d *activeRun) delegated(t Delegate, c *event.ToolCall) (child SubAgent, o *event.ScopeOpened, refused *event.Error) {
	if c.Args == nil {
		return nil, nil, invalidTask(c.Fault)
	}
	var args delegation
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, nil, invalidTask("invalid arguments: " + wrongType(err))
	}
	switch {
	case strings.TrimSpace(args.Prompt) == "":
		return nil, nil, invalidTask("invalid arguments: prompt is missing; it says what the agent is to do")
	case args.Type == "":
		return nil, nil, invalidTask("invalid arguments: subagent_type is missing; " + theTypes(t))
	}
	for _, one := range t.Types() {
		if one.Spec().Name == args.Type {
			child = one
		}
	}
	if child == nil {
		return nil, nil, &event.Error{
			Kind: event.ErrNotFound, Message: "there is no subagent_type " + quoted(args.Type) + "; " + theTypes(t) + ".",
		}
	}
	how := t.Background(args.Type)
	if args.Background && how == NoBackground {
		return nil, nil, invalidTask("agents of the type " + quoted(args.Type) + " do not work in the background; leave run_in_background out")
	}
	o = &event.ScopeOpened{
		Background: args.Background, Dependent: args.Background && how == StopBackground,
		Agent: child.Runs().Name, Input: []event.Block{&event.Text{Text: args.Prompt}},
		Task: true, Description: oneLine(args.Description, longestDescription), Asked: args.Model,
	}
	if args.Model != "" {
		if err := d.chooseModel(t, child, args.Model); err != nil {
			return nil, nil, err
		}
	}
	o.Model = d.worker(o.Agent, o.Asked).modelName()
	return child, o, nil
}

// wrongType says in a model's words what is wrong with arguments that are JSON.
func wrongType(err error) string {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return "they cannot be read"
	case e.Field == "":
		return "they are no object"
	case e.Type.Kind() == reflect.Bool:
		return e.Field + " is not true or false"
	default:
		return e.Field + " is not a text"
	}
}

func invalidTask(message string) *event.Error {
	return &event.Error{Kind: event.ErrInvalid, Message: strings.TrimSuffix(message, ".") + "."}
}

// theTypes lists the agents that a call may name.
func theTypes(t Delegate) string {
	var names []string
	for _, one := range t.Types() {
		names = append(names, one.Spec().Name)
	}
	return "the types are " + toolset.List(names)
}

// quoted shows a name that a model made up, cut where it is long.
func quoted(name string) string { return strconv.Quote(shorten.Text(name, 64, "…")) }

// oneLine returns a text of a model in one short line.
func oneLine(text string, limit int) string {
	return shorten.Text(strings.Join(strings.Fields(validText(text)), " "), limit, "…")
}

// variantKey names an agent that works with a model of a call.
type variantKey struct{ agent, model string }

// chooseModel opens the model that a call names for an agent, once in a drive.
func (d *activeRun) chooseModel(t Delegate, child SubAgent, name string) *event.Error {
	key := variantKey{child.Runs().Name, name}
	if d.variants[key] != nil {
		return nil
	}
	if len(name) > longestModelName {
		return invalidTask("the name of the model is too long")
	}
	var variant *Agent
	var err error
	back := d.runHooks(func() {
		err = foreign.Shield("tool "+t.Spec().Name, "what opens the models of sub-agents", func() error {
			m, err := t.Model(d.ctx, child.Spec().Name, name)
			if err == nil && (m == nil || foreign.IsNil(m.Model)) {
				err = &event.Error{Kind: event.ErrModelNotFound, Message: "there is no model " + quoted(name)}
			}
			if err != nil {
				return err
			}
			variant, err = child.With(m)
			return err
		})
	})
	switch {
	case !back:
		return &event.Error{Kind: event.ErrCancelled, Message: "the run was stopped before the model was opened."}
	case err != nil:
		return unusableModel(name, err)
	case d.unpriced(variant):
		return unusableModel(name, &event.Error{
			Kind: event.ErrModelNotFound, Message: "an agent of this run has a limit in money, and the price of this model is unknown",
		})
	case variant.Model.Info().Simulated && !d.cfg.simulated:
		return unusableModel(name, &event.Error{
			Kind: event.ErrModelNotFound, Message: "it is simulated, and the models of this run are not",
		})
	}
	if d.variants == nil {
		d.variants = make(map[variantKey]*Agent)
	}
	d.variants[key] = variant
	return nil
}

// unpriced reports whether an agent of the run has a limit in money that the agent's model would escape.
func (d *activeRun) unpriced(a *Agent) bool {
	for _, l := range d.cfg.bounds {
		if l.All.CostNanoUSD > 0 || l.Conversation.CostNanoUSD > 0 {
			info := a.Model.Info()
			_, known, _ := cost.Of(&info, event.Usage{Input: 1, Output: 1, Total: 2})
			return !known
		}
	}
	return false
}

// unusableModel says in one sentence for a model why a named model does not work.
func unusableModel(name string, err error) *event.Error {
	e := hookError(err)
	message := strings.TrimSuffix(e.Message, ".")
	if e.Hint != "" {
		message += " (" + strings.TrimSuffix(e.Hint, ".") + ")"
	}
	message = fmt.Sprintf("the agent cannot work with the model %s: %s.", quoted(name), message)
	return &event.Error{Kind: e.Kind, Code: e.Code, Message: message, Err: err}
}

// reopen opens the model of a scope that an earlier drive opened.
func (d *activeRun) reopen(s *fold.Scope) {
	if s.Task == nil || s.Task.Model == "" {
		return
	}
	var bad *event.Error
	found := false
	for _, t := range d.agentIn(s.Parent).Current().Children {
		delegate, ok := t.(Delegate)
		if !ok {
			continue
		}
		for _, child := range delegate.Types() {
			if child.Runs().Name == s.Agent {
				found = true
				if bad = d.chooseModel(delegate, child, s.Task.Model); bad == nil {
					return
				}
			}
		}
	}
	if !found {
		bad = unusableModel(s.Task.Model, &event.Error{Kind: event.ErrModelNotFound, Message: "the tool that chose it is not there any more"})
	}
	if d.unopened == nil {
		d.unopened = make(map[string]*event.Error)
	}
	d.unopened[s.ID] = bad
}
