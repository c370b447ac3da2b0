package braid

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/argtype"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/tool"
)

// OutputTool is the name of the tool that takes structured output from a model whose provider cannot hold text to a
// schema. An agent with an output schema can have no other tool of this name.
const OutputTool = output.ToolName

// OutputSchema asks for output that is JSON of this schema; [OutputType] takes the schema from a Go type. Each model
// of a [Fallback] is asked in the way that it supports:
//
//   - A model whose provider can hold text to a schema ([model.Info].Output) gets the schema as
//     [model.Request].Output.
//   - Other models get the tool [OutputTool], whose arguments are the output. If they end their turn without
//     calling it, they are forced to call it.
//   - Models that cannot be forced to call a tool get it as a strict tool ([model.ToolSpec].Strict), and their
//     instructions ask for the call.
//   - Models that cannot be held to any schema find it in their instructions.
//
// If a model supports schemas but not this one, and cannot be forced to call a tool, the error is of kind
// [event.ErrUnsupported] before anything runs.
//
// Output that does not match goes back to the model with the reason, [Limits].OutputRetries times. Then the run ends
// with [event.StopLimitAnswers] and an error of kind [event.ErrInvalid]. Text that matches the schema is accepted. A
// run that ends otherwise, by a refusal or by the text of a hook, has that error and no output. The output is in
// [Result].Output and [event.RunEnded].Output. For an agent used as a tool, the output is the call's result.
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

// OutputType is [OutputSchema] with the schema of a Go type, made from its json and jsonschema tags as in [Func]. The
// type need not be a struct. [OutputOf] reads the output.
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
func clashing(f *output.Form, agent string, o *toolset.Offer) (optional string, err error) {
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
