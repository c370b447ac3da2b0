package braid

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/hooks"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/model"
)

// Agent is a name, instructions, a model and tools, or a flow of other agents ([NewFlow]). It holds no conversation,
// so one agent serves any number of runs at once. Make it with [New].
type Agent struct {
	name  string
	model Model
	// instructions are own, what the maker says, and below, the texts that stand under that.
	instructions      string
	instructionTokens int64
	own               string
	below             []string
	// offered is what the next model call is shown. It is changed under offering, by
	// another one in its place; draft is that one while it is put together.
	offered    atomic.Pointer[offer]
	offering   sync.Mutex
	draft      *offer
	limits     Limits
	bounds     decide.Limits // of limits
	retry      Retry
	options    ModelOptions
	sequential bool
	// flow decides for an agent without a model, and parts are its agents; nil for one that asks a model.
	flow  decide.Kind
	parts []*Agent
	// fallbacks are asked where a model has failed with one of fallbackOn.
	fallbacks  []Model
	fallbackOn []event.ErrorKind
	// manage is nil for an agent without a part that says how.
	manage *management
	// offload is nil for an agent whose results are all shown as they are.
	offload *offloading
	// search is nil for an agent that shows its model all its tools.
	search *toolSearch
	// hooks is nil for an agent without, and so are permits, of which each says what may
	// be called.
	hooks   *hooks.Set
	permits []*policy
	// made are the hooks that wait for the agent to be made.
	made []hooks.Hook
	// guards look at what is said.
	guards []guard
	// forgets says that later runs see nothing of its failed ones.
	forgets bool
	// servers tells how the sources of tools are doing.
	servers func() []event.ToolServer
	// answer is what the agent's answers are held to; nil for nothing.
	answer *output.Form
	err    error
	// refused is what the models refuse, as of the last check.
	unchecked atomic.Bool
	checking  sync.Mutex
	refused   error
}

// Part is something that an agent is made of: a tool or a setting.
type Part interface {
	attach(a *Agent) error
}

type partFunc func(a *Agent) error

func (f partFunc) attach(a *Agent) error { return f(a) }

// New makes an agent. Wrong parts (two tools of one name, a schema that is no
// schema, no model) do not panic: [Agent.Err] tells, and so does every run,
// with a kind of [event.ErrInvalid].
func New(name string, model Model, parts ...Part) *Agent {
	a := &Agent{name: name, model: model, limits: defaultLimits, bounds: defaultLimits.bounds(), retry: defaultRetry}
	switch {
	case name == "" || name == event.UserAuthor:
		a.err = &event.Error{
			Op: "agent", Kind: event.ErrInvalid,
			Message: fmt.Sprintf("%q cannot be the name of an agent", name), Hint: "give it a name of its own",
		}
	case isNil(model):
		a.model = nil
		a.err = &event.Error{
			Op: "agent " + name, Kind: event.ErrInvalid, Message: "the agent has no model",
			Hint: `pass what models.Open("") gives, after looking at its error`,
		}
	}
	return a.Use(parts...)
}

// Use adds parts and gives the agent back. It is for setting an agent up: do
// not call it while the agent runs. [Agent.AddTools] may be called then.
func (a *Agent) Use(parts ...Part) *Agent {
	_ = a.change(func() error {
		for _, p := range parts {
			if isNil(p) {
				continue
			}
			err := shielded("agent "+a.name, "a part of the agent", func() error { return p.attach(a) })
			if err != nil && a.err == nil {
				a.err = err
			}
		}
		return nil
	}, func(*offer) error { return nil })
	a.instructions = joinTexts(append([]string{a.own}, a.below...)...)
	a.instructionTokens = model.TextTokens(a.instructions)
	a.unchecked.Store(true)
	a.callMade()
	return a
}

// Name is the agent's name, the author of what it says.
func (a *Agent) Name() string { return a.name }

// Model is the agent's model; nil for an agent that [NewFlow] made.
func (a *Agent) Model() Model { return a.model }

// Retry is how often a model call that was throttled, overloaded or cut off is
// repeated, and after which wait: Base, doubled each time, at most Max, and at
// least what the provider asked for.
type Retry struct {
	// Attempts counts the first one too; default 6, 1 means no repetition.
	Attempts int
	// Base and Max default to 4 s and 240 s (Strands' figures).
	Base time.Duration
	Max  time.Duration
	// Exact switches the jitter off, which takes up to half of each wait.
	Exact bool
}

var defaultRetry = Retry{Attempts: 6, Base: 4 * time.Second, Max: 240 * time.Second}

// Retries sets the agent's retry policy.
func Retries(r Retry) Part {
	return partFunc(func(a *Agent) error {
		a.retry = Retry{
			Attempts: or(r.Attempts, defaultRetry.Attempts), Base: or(r.Base, defaultRetry.Base),
			Max: or(r.Max, defaultRetry.Max), Exact: r.Exact,
		}
		return nil
	})
}

// Instructions set the agent's system prompt: what its maker says. Of several the last
// one counts.
func Instructions(s string) Part {
	return partFunc(func(a *Agent) error { a.own = s; return nil })
}

// MoreInstructions stand below the agent's [Instructions], wherever these are given, in the
// order in which they are added, with an empty line between: for what brings a text of
// its own, such as skills and servers of tools. An empty one is left out.
func MoreInstructions(s string) Part {
	return partFunc(func(a *Agent) error {
		if s != "" {
			a.below = append(a.below, s)
		}
		return nil
	})
}

// joinTexts puts texts under one another, and leaves out those that are empty.
func joinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
}

// Options set what the agent asks of its model.
func Options(o ModelOptions) Part {
	return partFunc(func(a *Agent) error { a.options = o; return nil })
}

// Sequential runs the tools of one answer one after another, in request order.
// By default they run at the same time.
func Sequential() Part {
	return partFunc(func(a *Agent) error { a.sequential = true; return nil })
}

// Announce says where the agent's tools come from, and how these sources are doing: it
// is asked when a run of the agent begins, and the answer stands in the run's first event.
func Announce(servers func() []event.ToolServer) Part {
	return partFunc(func(a *Agent) error { a.servers = servers; return nil })
}

// Tools adds tools of any kind.
func Tools(tools ...Tool) Part {
	return partFunc(func(a *Agent) error {
		for _, t := range tools {
			if isNil(t) {
				return &event.Error{
					Op: "agent " + a.name, Kind: event.ErrInvalid, Message: "a tool is nil", Hint: "leave it out",
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

// checkToolName holds the rule that all providers share: letters, digits, "_"
// and "-", at most 64.
func checkToolName(name string) error {
	ok := name != "" && len(name) <= 64
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if ok {
		return nil
	}
	return &event.Error{
		Op: "tool", Kind: event.ErrInvalid, Message: fmt.Sprintf("%q cannot be the name of a tool", name),
		Hint: "use 1 to 64 letters, digits, _ or -",
	}
}

// checkSchema refuses a tool whose schema is not a JSON schema of an object, or can never be checked.
func checkSchema(spec ToolSpec) error {
	bad := func(what string, cause error) error {
		return &event.Error{
			Op: "tool " + spec.Name, Kind: event.ErrInvalid, Message: "the schema of its arguments " + what,
			Hint: `give a JSON schema such as {"type":"object","properties":{}}`, Err: cause,
		}
	}
	s, err := schemacheck.Compile(spec.Schema)
	if err != nil {
		return bad("cannot be used: "+err.Error(), err)
	}
	if s.Type() != "object" {
		return bad("does not describe an object", nil)
	}
	return nil
}

// AsTool lets an agent be called like a tool. A call opens a scope: the
// agent works in the same run and log, under the same lease, with a transcript
// of its own, and its last message is the call's result. Nothing is nested: a crash
// inside resumes inside.
func AsTool(a *Agent, description string) Part {
	t := &agentTool{agent: a, spec: ToolSpec{Description: description, Schema: agentToolSchema}}
	if a != nil {
		t.spec.Name = a.name
	}
	return t
}

var agentToolSchema = json.RawMessage(
	`{"type":"object","properties":{"input":{"type":"string","description":"What the agent is to do."}},` +
		`"required":["input"],"additionalProperties":false}`)

type agentTool struct {
	agent *Agent
	spec  ToolSpec
}

func (t *agentTool) Spec() ToolSpec { return t.spec }

// Agent is the agent behind the tool, for those who look through [Agent.Tools].
func (t *agentTool) Agent() *Agent { return t.agent }

// Call is never reached: the loop opens a scope instead.
func (t *agentTool) Call(context.Context, json.RawMessage) (Output, error) {
	return Output{}, &event.Error{
		Op: "tool " + t.spec.Name, Kind: event.ErrUnsupported,
		Message: "an agent is run by the loop and cannot be called by itself", Hint: "use its Run method",
	}
}

func (t *agentTool) attach(a *Agent) error {
	if t.agent == nil {
		return &event.Error{
			Op: "agent " + a.name, Kind: event.ErrInvalid, Message: "an agent that is used as a tool is nil", Hint: "leave it out",
		}
	}
	if err := t.agent.Err(); err != nil {
		return err
	}
	if err := a.draft.add(a.name, t, t.spec); err != nil {
		return err
	}
	a.draft.children = append(a.draft.children, t)
	return nil
}

// team lists an agent and all that it can call, by name. Two different agents of
// one name cannot be told apart in the log, and are refused.
func (a *Agent) team() (map[string]*Agent, error) {
	if len(a.current().children)+len(a.parts) == 0 {
		return nil, a.Err()
	}
	team := map[string]*Agent{}
	todo := []*Agent{a}
	for len(todo) > 0 {
		one := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if known, ok := team[one.name]; ok {
			if known != one {
				return nil, &event.Error{
					Op: "agent " + a.name, Kind: event.ErrInvalid,
					Message: fmt.Sprintf("two agents are called %q", one.name), Hint: "rename one of them",
				}
			}
			continue
		}
		if err := one.Err(); err != nil {
			return nil, err
		}
		team[one.name] = one
		todo = append(todo, one.subAgents(one.current())...)
	}
	return team, nil
}
