package output

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Way is how a model is asked for output that keeps to a schema.
type Way uint8

// The ways, best first. [Form.Way] returns 0 where a model was not checked.
const (
	// Held leaves it to the provider.
	Held Way = iota + 1
	// Called makes the model call a tool.
	Called
	// Strict asks the model in words to call a tool to whose schema the provider holds it.
	Strict
	// Told says it in words.
	Told
)

// asked is what of a model decides the way.
type asked struct {
	name string
	held bool
}

// Way returns how a model is asked: as [Form.Suits] has found, or else the best way for what the model says of itself. found
// is false in the second case.
func (f *Form) Way(info *model.Info) (way Way, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if way = f.ways[asked{info.Name, info.Output}]; way != 0 {
		return way, true
	}
	return f.best(info), false
}

// best is the first way that fits what a model says of itself.
func (f *Form) best(info *model.Info) Way {
	if info.Output {
		return Held
	}
	return f.next(Held)
}

// next is the way to try after one that does not work.
func (f *Form) next(way Way) Way {
	if !f.HasTool() {
		return Told
	}
	return way + 1
}

// Suits finds a way in which a model accepts req together with the form, and notes it for [Form.Way]. check asks the model.
// The error says why there is none.
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

// holds reports whether a model can be held to any schema at all, as text or as a tool's arguments.
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

// plainSchema is one that every provider takes that takes any.
var plainSchema = json.RawMessage(
	`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)

// CodeSchema is the code of errors about a schema that cannot be used, on every wire.
const CodeSchema = "SCHEMA_INVALID"

// inexpressible is the error of a model that can be held to schemas, but not to this one, and that cannot be made to call a
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

// callWords ask for a call that nothing else can ask for.
const callWords = "Give your final answer by calling the tool " + ToolName + ". Its arguments are the answer; do not write it as text."

// Ask adds the form to a request in one of the ways. forced says that the model has ended its turn without.
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

// Retract takes out of a request what [Form.Ask] has added, because another model is asked.
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

// Mend is what a model is told about an output that cannot be used. byTool says that it gives its output by a call.
func Mend(problem error, byTool bool) string {
	if byTool {
		return "Now give that answer by calling the tool " + ToolName + ": its arguments are the answer, in the form that its schema says."
	}
	return "That answer cannot be used, because it " + problem.Error() +
		". Give the whole answer again, as JSON alone that keeps to the schema."
}
