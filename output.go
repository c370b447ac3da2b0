package braid

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/braidrun/braid/internal/drive"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/argtype"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/tool"
)

// OutputTool is the name of the tool by which a model gives an answer that keeps to a
// schema, where its provider cannot hold the answer's text to one. No other tool of such an
// agent may have it.
const OutputTool = output.ToolName

// OutputSchema asks for an answer that is JSON of that schema; [OutputType] takes the schema
// from a Go type. Each model of a [Fallback] is asked in the way that suits it:
//
//   - one whose provider can hold text to a schema ([model.Info].Output) is given it as
//     [model.Request].Output;
//   - the others are given the tool [OutputTool], whose arguments are the answer, and are made to
//     call it where they end their turn without;
//   - those that cannot be made to call a tool are given it as a strict one ([model.ToolSpec].Strict), and their
//     instructions ask for the call;
//   - those that can be held to no schema at all find it in their instructions.
//
// A model that can be held to schemas, but not to this one, and that cannot be made to call a tool is
// an error of kind [event.ErrUnsupported] before anything runs.
//
// An answer that does not keep to the schema goes back to the model with what is wrong with it,
// as often as [Limits].OutputRetries says; then the run ends with [event.StopLimitAnswers] and an
// error of kind [event.ErrInvalid]. An answer in words that keeps to the schema is taken as it is. A
// run that ends otherwise, by a refusal or by words of a hook, has that error beside it, and
// no output. What was answered stands in [Result].Output and [event.RunEnded].Output. An agent
// used as a tool is held to its schema in the same way, and its JSON is the call's result.
func OutputSchema(schema json.RawMessage) Part {
	return partFunc(func(a *Agent) error {
		x, err := output.New(schema, a.set.Name)
		if err != nil {
			return badAnswerSchema("agent "+a.set.Name, err)
		}
		a.set.Answer = x
		return nil
	})
}

// OutputType is [OutputSchema] with the schema of a Go type, by its json and jsonschema tags,
// as in [Func]. It may be any type that has one, not only a struct. [OutputOf] reads what
// was answered.
func OutputType[T any]() Part {
	return partFunc(func(a *Agent) error {
		x, err := answerFor[T](a.set.Name)
		if err != nil {
			return err
		}
		a.set.Answer = x
		return nil
	})
}

// answerFor is the answer of a Go type.
func answerFor[T any](agent string) (*output.Form, error) {
	t := reflect.TypeFor[T]()
	p, err := argtype.Of(t)
	if err != nil {
		return nil, argtype.NoSchema("", t, err)
	}
	schema := p.Schema
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, argtype.NoSchema("", t, err)
	}
	if len(s.Types) == 2 && slices.Contains(s.Types, "null") {
		// A slice or a pointer can hold null; as an answer that would be none.
		s.Type, s.Types = s.Types[0], nil
		if s.Type == "null" {
			var again jsonschema.Schema
			_ = json.Unmarshal(schema, &again)
			s.Type = again.Types[1]
		}
		if schema, err = json.Marshal(&s); err != nil {
			return nil, argtype.NoSchema("", t, err)
		}
	}
	x, err := output.New(schema, agent)
	if err != nil {
		return nil, argtype.NoSchema("", t, err)
	}
	return x, nil
}

func badAnswerSchema(op string, err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Code: output.CodeSchema, Message: "the schema of the answer cannot be used: " + err.Error(),
		Hint: `pass a JSON schema such as {"type":"object","properties":{}}`, Err: err,
	}
}

// clashing finds a tool of an agent that has the name of the output's tool.
func clashing(f *output.Form, agent string, o *drive.Offer) (optional string, err error) {
	if !f.HasTool() || o.Find(OutputTool) < 0 {
		return "", nil
	}
	if _, ok := o.Tool(OutputTool).(tool.Optional); ok {
		return OutputTool, nil
	}
	return "", answerNamed(agent)
}

func answerNamed(agent string) error {
	return &event.Error{
		Op: "agent " + agent, Kind: event.ErrInvalid, Message: "a tool is called " + OutputTool + ", as the one is that takes the agent's answer",
		Hint: "rename it",
	}
}
