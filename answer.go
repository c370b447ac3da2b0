package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/argtype"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/tool"
)

// AnswerTool is the name of the tool by which a model gives an answer that keeps to a
// schema, where its provider cannot hold the answer's text to one. No other tool of such an
// agent may have it.
const AnswerTool = "final_answer"

// AnswerSchema asks for an answer that is JSON of that schema; [AnswerType] takes the schema
// from a Go type. Each model of a [Fallback] is asked in the way that suits it:
//
//   - one whose provider can hold text to a schema ([ModelInfo].Output) is given it as
//     [ModelRequest].Output;
//   - the others are given the tool [AnswerTool], whose arguments are the answer, and are made to
//     call it where they end their turn without;
//   - those that cannot be made to call a tool are given it as a strict one ([ToolSpec].Strict), and their
//     instructions ask for the call;
//   - those that can be held to no schema at all find it in their instructions.
//
// A model that can be held to schemas, but not to this one, and that cannot be made to call a tool is
// an error of kind [event.ErrUnsupported] before anything runs.
//
// An answer that does not keep to the schema goes back to the model with what is wrong with it,
// as often as [Limits].Answers says; then the run ends with [event.StopLimitAnswers] and an
// error of kind [event.ErrInvalid]. An answer in words that keeps to the schema is taken as it is. A
// run that ends otherwise, by a refusal or by words of a hook, has that error beside it, and
// no output. What was answered stands in [Result].Output and [event.RunEnded].Output. An agent
// used as a tool is held to its schema in the same way, and its JSON is the call's result.
func AnswerSchema(schema json.RawMessage) Part {
	return partFunc(func(a *Agent) error {
		x, err := newAnswer(schema, a.name)
		if err != nil {
			return badAnswerSchema("agent "+a.name, err)
		}
		a.answer = x
		return nil
	})
}

// AnswerType is [AnswerSchema] with the schema of a Go type, by its json and jsonschema tags,
// as in [Func]. It may be any type that has one, not only a struct. [OutputOf] reads what
// was answered.
func AnswerType[T any]() Part {
	return partFunc(func(a *Agent) error {
		x, err := answerFor[T](a.name)
		if err != nil {
			return err
		}
		a.answer = x
		return nil
	})
}

// answer is what an agent's answers are held to. It is safe for concurrent use.
type answer struct {
	schema  json.RawMessage
	checked *schemacheck.Schema
	output  *OutputSchema
	// words ask for it where nothing else can.
	words string
	// tool takes it as arguments; nil where the schema cannot be that of a tool.
	tool *answerTool
	spec ToolSpec

	mu   sync.Mutex
	ways map[askedModel]answerWay
}

// askedModel is a model as far as the way of asking it goes.
type askedModel struct {
	name string
	held bool
}

// answerWay is how a model is asked for an answer that keeps to a schema.
type answerWay uint8

const (
	// answerHeld leaves it to the provider.
	answerHeld answerWay = iota + 1
	// answerCalled makes the model call a tool.
	answerCalled
	// answerStrict asks the model in words to call a tool to whose schema the provider holds it.
	answerStrict
	// answerTold says it in words.
	answerTold
)

func newAnswer(schema json.RawMessage, agent string) (*answer, error) {
	checked, err := schemacheck.Compile(schema)
	if err != nil {
		return nil, err
	}
	x := &answer{
		schema: schema, checked: checked, output: &OutputSchema{Name: schemaName(agent), Schema: schema},
		words: "Answer with JSON alone, without any text around it. It must be valid under this JSON schema:\n" + string(schema),
	}
	if form, wrapped, ok := argumentsOf(schema, checked.Type()); ok {
		x.tool = &answerTool{answer: x, wrapped: wrapped}
		x.spec = ToolSpec{
			Name: AnswerTool, Schema: form,
			Description: "Takes your final answer. Call it once, when you know all that the answer needs. " +
				"Its arguments are the answer: whoever asked is shown them and nothing else.",
		}
	}
	return x, nil
}

// answerFor is the answer of a Go type.
func answerFor[T any](agent string) (*answer, error) {
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
	x, err := newAnswer(schema, agent)
	if err != nil {
		return nil, argtype.NoSchema("", t, err)
	}
	return x, nil
}

// codeSchema is the word that wires have for a schema that cannot be used.
const codeSchema = "SCHEMA_INVALID"

func badAnswerSchema(op string, err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Code: codeSchema, Message: "the schema of the answer cannot be used: " + err.Error(),
		Hint: `pass a JSON schema such as {"type":"object","properties":{}}`, Err: err,
	}
}

// wrapper is the key under which an answer stands that is no object, because the arguments
// of tools are.
const wrapper = "answer"

// argumentsOf makes the schema of an answer one of a tool's arguments. ok is false where it
// refers to itself as a whole, which it could not any more.
func argumentsOf(schema json.RawMessage, kind string) (form json.RawMessage, wrapped, ok bool) {
	if kind == "object" {
		return schema, false, true
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(schema, &members); err != nil {
		// true, or false: a schema without members.
		members = nil
	}
	if bytes.Contains(schema, []byte(`"#"`)) || bytes.Contains(schema, []byte(`"#/properties`)) || bytes.Contains(schema, []byte(`"#/items`)) {
		return nil, false, false
	}
	outer := map[string]any{"type": "object", "required": []string{wrapper}, "additionalProperties": false}
	for _, defs := range []string{"$defs", "definitions"} {
		if raw, has := members[defs]; has {
			outer[defs] = raw
			delete(members, defs)
		}
	}
	inner := schema
	if members != nil {
		inner, _ = json.Marshal(members) //nolint:errchkjson // it was JSON before
	}
	outer["properties"] = map[string]json.RawMessage{wrapper: inner}
	form, err := json.Marshal(outer)
	return form, true, err == nil
}

// way finds how a model is asked. A provider is asked once what it takes.
func (x *answer) way(m Model, info *ModelInfo) answerWay {
	x.mu.Lock()
	way := x.ways[askedModel{info.Name, info.Output}]
	x.mu.Unlock()
	if way == 0 {
		way = x.best(info)
		if c := checkerOf(m); c != nil {
			_ = x.suits(c, info, ModelRequest{})
			return x.way(m, info)
		}
	}
	return way
}

// best is the first way of which a model can be asked by what it says of itself, and next is
// the one after it.
func (x *answer) best(info *ModelInfo) answerWay {
	if info.Output {
		return answerHeld
	}
	return x.next(answerHeld)
}

func (x *answer) next(way answerWay) answerWay {
	if x.tool == nil {
		return answerTold
	}
	return way + 1
}

// suits finds a way in which a model can be asked req and the answer's form, and notes it.
// The error is why there is none.
func (x *answer) suits(c ModelChecker, info *ModelInfo, req ModelRequest) error {
	if x == nil {
		return sound(c.Check(&req))
	}
	var cause error
	for way := x.best(info); ; way = x.next(way) {
		own := req
		x.put(&own, way, true)
		err := sound(c.Check(&own))
		if way != answerTold && errors.Is(err, event.ErrUnsupported) {
			if way != answerCalled && cause == nil {
				cause = err
			}
			continue
		}
		x.mu.Lock()
		if x.ways == nil {
			x.ways = make(map[askedModel]answerWay)
		}
		x.ways[askedModel{info.Name, info.Output}] = way
		x.mu.Unlock()
		if err == nil && way == answerTold && way != x.best(info) && holds(c, info, req) {
			err = inexpressible(cause)
		}
		return err
	}
}

// holds reports whether a model can be held to any schema at all, as text or as a tool's arguments.
func holds(c ModelChecker, info *ModelInfo, req ModelRequest) bool {
	text := req
	text.Output = &OutputSchema{Name: "answer", Schema: plainSchema}
	if info.Output && sound(c.Check(&text)) == nil {
		return true
	}
	req.Tools = append(slices.Clip(req.Tools), ToolSpec{Name: AnswerTool, Description: "Takes your final answer.", Schema: plainSchema, Strict: true})
	return sound(c.Check(&req)) == nil
}

// plainSchema is one that every provider takes that takes any.
var plainSchema = json.RawMessage(
	`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)

// inexpressible says that a model which can be held to schemas cannot be held to this one, nor be made to
// call a tool that takes the answer.
func inexpressible(cause error) error {
	e := &event.Error{
		Op: "answer schema", Kind: event.ErrUnsupported, Code: codeSchema,
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

// ask puts into a request what a model is to know of the answer's form. forced says that
// it has ended its turn without.
func (x *answer) ask(req *ModelRequest, m Model, info *ModelInfo, forced bool) {
	if x != nil {
		x.put(req, x.way(m, info), forced)
	}
}

func (x *answer) put(req *ModelRequest, way answerWay, forced bool) {
	switch way {
	case answerHeld:
		req.Output = x.output
	case answerCalled:
		req.Tools = append(slices.Clip(req.Tools), x.spec)
		if forced {
			req.ToolChoice = ToolChoice{Mode: ToolsOne, Tool: AnswerTool}
		}
	case answerStrict:
		spec := x.spec
		spec.Strict = true
		req.Tools = append(slices.Clip(req.Tools), spec)
		req.Instructions = strings.TrimLeft(req.Instructions+"\n\n"+callWords, "\n")
	case answerTold:
		req.Instructions = strings.TrimLeft(req.Instructions+"\n\n"+x.words, "\n")
	}
}

// retract takes out of a request what ask has put in, because another model is asked.
func (x *answer) retract(req *ModelRequest) {
	if x == nil {
		return
	}
	if req.Output == x.output {
		req.Output = nil
	}
	req.Tools = slices.DeleteFunc(req.Tools, func(t ToolSpec) bool { return t.Name == AnswerTool })
	if req.ToolChoice.Tool == AnswerTool {
		req.ToolChoice = ToolChoice{}
	}
	for _, words := range []string{x.words, callWords} {
		if own, ok := strings.CutSuffix(req.Instructions, words); ok {
			req.Instructions = strings.TrimRight(own, "\n")
		}
	}
}

// callWords ask for a call that nothing else can ask for.
const callWords = "Give your final answer by calling the tool " + AnswerTool + ". Its arguments are the answer; do not write it as text."

// clash says that an agent has a tool that is called as the answer's is.
func (x *answer) clash(agent string, o *offer) (optional string, err error) {
	if x == nil || x.tool == nil || o.find(AnswerTool) < 0 {
		return "", nil
	}
	if _, ok := o.tool(AnswerTool).(OptionalTool); ok {
		return AnswerTool, nil
	}
	return "", answerNamed(agent)
}

func answerNamed(agent string) error {
	return &event.Error{
		Op: "agent " + agent, Kind: event.ErrInvalid, Message: "a tool is called " + AnswerTool + ", as the one is that takes the agent's answer",
		Hint: "rename it",
	}
}

// takes reports whether a call of that name gives the answer.
func (x *answer) takes(tool string) bool { return x != nil && x.tool != nil && tool == AnswerTool }

// given is the answer of a scope as far as it has one: what the tool has taken, or else the
// text of the last message. The error says what is wrong with that. A check that takes long ends
// when stop closes.
func (x *answer) given(s *fold.Scope, stop <-chan struct{}) (json.RawMessage, error) {
	if r := s.LastResult(AnswerTool); r != nil && s.Fresh == event.WhyToolResults {
		if !r.IsError && len(r.Structured) > 0 {
			return r.Structured, nil
		}
		return nil, errors.New("is none that the tool has taken")
	}
	return x.read(event.TextOf(s.Words), stop)
}

// read reads an answer in words. Models like to put a fence around it.
func (x *answer) read(text string, stop <-chan struct{}) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if inside, ok := strings.CutPrefix(text, "```"); ok {
		_, inside, _ = strings.Cut(inside, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inside), "```"))
	}
	raw := json.RawMessage(text)
	if err := x.check(raw, stop); err != nil {
		return nil, err
	}
	return raw, nil
}

// check checks an answer against the schema, until stop closes. The error goes on from "the answer".
func (x *answer) check(raw json.RawMessage, stop <-chan struct{}) error {
	err := x.checked.Check(stop, raw)
	switch _, misfit := errors.AsType[*schemacheck.Misfit](err); {
	case err == nil:
		return nil
	case misfit:
		return &answerError{"does not keep to the schema that was asked for", err}
	case errors.Is(err, schemacheck.ErrBudget), errors.Is(err, schemacheck.ErrStopped):
		return &answerError{"could not be checked", err}
	default:
		return &answerError{"is no JSON", err}
	}
}

// answerError is what is wrong with an answer: what may be told to anybody, and what holds
// parts of it.
type answerError struct {
	what  string
	cause error
}

func (e *answerError) Error() string { return e.what + ": " + validText(cut(e.cause.Error())) }

func (e *answerError) Unwrap() error { return e.cause }

// uncheckable reports whether nobody can say if an answer is valid. Asking for another one would
// only cost as much again.
func uncheckable(problem error) bool { return errors.Is(problem, schemacheck.ErrBudget) }

// wanting is the error beside a run that has no answer in its form.
func wanting(problem error) *event.Error {
	what := "is not in the form that was asked for"
	if e, ok := errors.AsType[*answerError](problem); ok {
		what = e.what
	}
	kind, hint := event.ErrInvalid, "ask again, or make the schema easier to keep to"
	if uncheckable(problem) {
		kind, hint = event.ErrLimit, "make the schema simpler, with fewer references and alternatives, or ask for a shorter answer"
	}
	return &event.Error{Kind: kind, Message: "the answer " + what, Hint: hint, Err: problem}
}

// refused reports whether the scope's news is that the tool has not taken the answer.
func (x *answer) refused(s *fold.Scope) bool {
	if x == nil || s.Fresh != event.WhyToolResults {
		return false
	}
	r := s.LastResult(AnswerTool)
	return r != nil && r.IsError
}

// say writes what the loop says to the model itself. No client is shown it.
func (d *driver) say(s *fold.Scope, cmd command) {
	d.add(s, "", 0, &event.UserMessage{Content: []event.Block{&event.Text{Text: cmd.say}}, Why: cmd.Why})
	d.events[len(d.events)-1].Audience = event.Operator
}

// answerOf is what the answers of a scope are held to; nil for nothing.
func (d *driver) answerOf(s *fold.Scope) *answer {
	if s.Depth == 0 && d.want != nil {
		return d.want
	}
	if agent := d.agentOf(s.Agent); agent != nil {
		return agent.answer
	}
	return nil
}

// toolOf finds what a scope's agent calls by that name; nil for nothing.
func (d *driver) toolOf(s *fold.Scope, offered *offer, name string) Tool {
	if x := d.answerOf(s); x.takes(name) {
		return x.tool
	}
	return offered.tool(name)
}

// mend says to a model what to do about an answer that cannot be used.
func (x *answer) mend(m Model, problem error) string {
	info := m.Info()
	if way := x.way(m, &info); way == answerCalled || way == answerStrict {
		return "Now give that answer by calling the tool " + AnswerTool + ": its arguments are the answer, in the form that its schema says."
	}
	return "That answer cannot be used, because it " + problem.Error() +
		". Give the whole answer again, as JSON alone that keeps to the schema."
}

// answerTool takes an answer as its arguments, and ends the turn with it.
type answerTool struct {
	answer  *answer
	wrapped bool
}

func (t *answerTool) Spec() ToolSpec { return t.answer.spec }

// Traits: nothing happens, so that a driver that takes the run over makes the call again.
func (t *answerTool) Traits() Traits { return Traits{Effect: event.EffectPure} }

func (t *answerTool) Call(ctx context.Context, args json.RawMessage) (Output, error) {
	raw := bytes.TrimSpace(args)
	if t.wrapped {
		var in map[string]json.RawMessage
		if err := strictjson.Check(args, strictjson.DefaultDepth); err != nil {
			return Output{}, &tool.ArgumentsError{Err: err}
		}
		if err := json.Unmarshal(args, &in); err != nil || len(in[wrapper]) == 0 || len(in) != 1 {
			return Output{}, &tool.ArgumentsError{Err: errors.New(`the answer belongs under the key "` + wrapper + `", and nothing beside it`)}
		}
		raw = in[wrapper]
	}
	if err := t.answer.check(raw, ctx.Done()); err != nil {
		return Output{}, &tool.ArgumentsError{Err: errors.New("the answer " + err.Error() + "; call the tool again with the whole answer")}
	}
	EndTurn(ctx)
	return Output{Content: []event.Block{&event.Text{Text: "The answer was taken."}}, Structured: slices.Clone(raw)}, nil
}

// schemaName makes an agent's name one that providers take for a schema: at most 64
// letters, digits, "_" and "-".
func schemaName(agent string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, agent)
	if strings.Trim(name, "_-") == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}
