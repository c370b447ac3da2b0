package output

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Way is how a model is asked for output in a form.
type Way uint8

// The ways, best first. [Form.Way] returns 0 where a model was not checked.
const (
	// Held lets the provider enforce the schema.
	Held Way = iota + 1
	// Called forces the model to call a tool.
	Called
	// Strict asks the model in the prompt to call a tool whose schema the provider enforces.
	Strict
	// Told asks in the prompt for JSON.
	Told
)

// asked is what the way depends on.
type asked struct {
	name string
	held bool
}

// Way returns how a model is asked. found reports whether [Form.Suits] chose the way; otherwise it is the best one for
// the model's own description.
func (f *Form) Way(info *model.Info) (way Way, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if way = f.ways[asked{info.Name, info.Output}]; way != 0 {
		return way, true
	}
	return f.best(info), false
}

// best returns the first way that fits the model's own description.
func (f *Form) best(info *model.Info) Way {
	if info.Output {
		return Held
	}
	return f.next(Held)
}

// next returns the way to try after one that does not work.
func (f *Form) next(way Way) Way {
	if !f.HasTool() {
		return Told
	}
	return way + 1
}

// Suits finds a way in which a model accepts req with the form, and records it for [Form.Way]. check asks the model.
// The error says why there is no such way.
func (f *Form) Suits(check func(*model.Request) error, info *model.Info, req model.Request) error {
	var cause error
	for way := f.best(info); ; way = f.next(way) {
		own := req
		f.Ask(&own, way, true)
		err := check(&own)
		if way != Told && errors.Is(err, event.ErrUnsupported) {
			if way != Called && cause == nil {
				cause = err
			}
			continue
		}
		f.note(info, way)
		if err == nil && way == Told && way != f.best(info) && holds(check, info, req) {
			err = inexpressible(cause)
		}
		return err
	}
}

func (f *Form) note(info *model.Info, way Way) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ways == nil {
		f.ways = make(map[asked]Way)
	}
	f.ways[asked{info.Name, info.Output}] = way
}

// holds reports whether a model can enforce any schema, as text or as a tool's arguments.
func holds(check func(*model.Request) error, info *model.Info, req model.Request) bool {
	text := req
	text.Output = &model.OutputSchema{Name: "answer", Schema: plainSchema}
	if info.Output && check(&text) == nil {
		return true
	}
	req.Tools = append(slices.Clip(req.Tools), model.ToolSpec{
		Name: ToolName, Description: "Takes your final answer.", Schema: plainSchema, Strict: true,
	})
	return check(&req) == nil
}

// plainSchema is a schema that every provider with schema support accepts.
var plainSchema = json.RawMessage(
	`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)

// CodeSchema is the code of errors about an unusable schema, on every wire.
const CodeSchema = "SCHEMA_INVALID"

// inexpressible returns the error of a model that can enforce schemas but not this one, and cannot be forced to call a
// tool.
func inexpressible(cause error) error {
	e := &event.Error{
		Op: "answer schema", Kind: event.ErrUnsupported, Code: CodeSchema,
		Message: "the model can neither be held to the schema of the answer nor be made to call a tool that takes it", Err: cause,
		Hint: "change what the cause names in the schema, such as a reference to itself, or use another model",
	}
	if cause == nil {
		e.Hint = "use another schema, which does not refer to itself as a whole, or another model"
	}
	if why, ok := errors.AsType[*event.Error](cause); ok && why.Message != "" {
		e.Message += ": " + why.Message
	}
	return e
}

// callWords request a call in the prompt.
const callWords = "Give your final answer by calling the tool " + ToolName + ". Its arguments are the answer; do not write it as text."

// Ask adds the form to a request in one of the ways. forced reports whether the model ended its turn without output in
// the form.
func (f *Form) Ask(req *model.Request, way Way, forced bool) {
	switch way {
	case Held:
		req.Output = f.output
	case Called:
		req.Tools = append(slices.Clip(req.Tools), f.Tool)
		if forced {
			req.ToolChoice = model.ToolChoice{Mode: model.ToolsOne, Tool: ToolName}
		}
	case Strict:
		spec := f.Tool
		spec.Strict = true
		req.Tools = append(slices.Clip(req.Tools), spec)
		req.Instructions = strings.TrimLeft(req.Instructions+"\n\n"+callWords, "\n")
	case Told:
		req.Instructions = strings.TrimLeft(req.Instructions+"\n\n"+f.words, "\n")
	}
}

// Retract removes from a request what [Form.Ask] added, before another model is asked.
func (f *Form) Retract(req *model.Request) {
	if f == nil {
		return
	}
	if req.Output == f.output {
		req.Output = nil
	}
	req.Tools = slices.DeleteFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == ToolName })
	if req.ToolChoice.Tool == ToolName {
		req.ToolChoice = model.ToolChoice{}
	}
	for _, words := range []string{f.words, callWords} {
		if own, ok := strings.CutSuffix(req.Instructions, words); ok {
			req.Instructions = strings.TrimRight(own, "\n")
		}
	}
}

// Mend returns the message for a model about unusable output. byTool reports whether the model gives its output by a
// tool call.
func Mend(problem error, byTool bool) string {
	if byTool {
		return "Now give that answer by calling the tool " + ToolName + ": its arguments are the answer, in the form that its schema says."
	}
	return "That answer cannot be used, because it " + problem.Error() +
		". Give the whole answer again, as JSON alone that keeps to the schema."
}
