package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/argtype"
)

// FuncTool is a tool made from a Go function by [Func] or [StreamFunc].
type FuncTool struct {
	spec   Spec
	traits Traits
	call   func(ctx context.Context, args json.RawMessage) (Output, error)
	err    error
}

var _ Tool = (*FuncTool)(nil)

// Func makes a tool from a function. What it does for you:
//
//   - the schema comes from In, a struct, by its json and jsonschema tags; a
//     field without omitempty is required. It is made once for each type.
//   - the arguments are decoded into In, and decoding is the validation:
//     missing and unknown fields, nulls and wrong types are told to the model as an
//     error result, and fn is not called.
//   - Out becomes the result: a string is text; an [Output], or blocks of
//     package event, are taken as they are; anything else is JSON.
//   - an error or a panic of fn becomes an error result for the model.
//
// fn gets the call's context; see [CallOf]. Nothing is assumed about repeating
// a call: without [Pure], [Idempotent] or [Reconcile] it is unsafe, and never
// run a second time after a crash.
func Func[In, Out any](
	name, description string, fn func(context.Context, In) (Out, error), opts ...Option,
) *FuncTool {
	return newFunc(name, description, fn == nil, func(ctx context.Context, in In) (Output, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return Output{}, err
		}
		return outputOf(any(out))
	}, opts)
}

// newFunc makes a tool from what runs its decoded arguments; missing says that there is
// nothing to run.
func newFunc[In any](
	name, description string, missing bool, run func(context.Context, In) (Output, error), opts []Option,
) *FuncTool {
	t := &FuncTool{spec: Spec{Name: name, Description: description}}
	in := reflect.TypeFor[In]()
	p, err := argtype.Of(in)
	switch k := in.Kind(); {
	case err != nil:
		t.err = argtype.NoSchema(name, in, err)
	case missing:
		t.err = &event.Error{
			Op: "tool " + name, Kind: event.ErrInvalid, Message: "the function is nil", Hint: "pass a function",
		}
	case k != reflect.Struct && k != reflect.Map && (k != reflect.Pointer || in.Elem().Kind() != reflect.Struct):
		t.err = &event.Error{
			Op: "tool " + name, Kind: event.ErrInvalid,
			Message: fmt.Sprintf("the arguments are of type %s, which is no JSON object", in),
			Hint:    "take a struct",
		}
	default:
		t.spec.Schema = p.Schema
	}
	t.traits.Effect = event.EffectUnsafe
	t.traits.set(opts)
	t.call = func(ctx context.Context, args json.RawMessage) (Output, error) {
		var v In
		if err := p.Decode(args, &v); err != nil {
			return Output{}, &ArgumentsError{err}
		}
		return run(ctx, v)
	}
	return t
}

// ArgumentsError is the error of a call whose arguments are wrong: the model can mend it, and it is not repeated.
type ArgumentsError struct{ Err error }

// Error implements error.
func (e *ArgumentsError) Error() string { return "invalid arguments: " + e.Err.Error() }

// Spec implements [Tool].
func (t *FuncTool) Spec() Spec { return t.spec }

// Traits returns what the options of the tool have set.
func (t *FuncTool) Traits() Traits { return t.traits }

// Err returns why the tool cannot be used: its function is nil, or its arguments have no schema.
func (t *FuncTool) Err() error { return t.err }

// Call implements [Tool]. Outside a run it may be called too, for a test of the tool.
func (t *FuncTool) Call(ctx context.Context, args json.RawMessage) (Output, error) {
	if t.err != nil {
		return Output{}, t.err
	}
	return t.call(ctx, args)
}

// SchemaOf returns the JSON schema that a Go type is shown to models with. It is
// made from json and jsonschema struct tags, once for each type.
func SchemaOf[T any]() (json.RawMessage, error) {
	p, err := argtype.Of(reflect.TypeFor[T]())
	if err != nil {
		return nil, argtype.NoSchema("", reflect.TypeFor[T](), err)
	}
	return p.Schema, nil
}

// outputOf turns a function's result into an Output.
func outputOf(v any) (Output, error) {
	switch v := v.(type) {
	case nil:
		return Text("done"), nil
	case string:
		return Text(v), nil
	case Output:
		return v, nil
	case *Output:
		if v == nil {
			return Text("done"), nil
		}
		return *v, nil
	case event.Block:
		return Output{Content: []event.Block{v}}, nil
	case []event.Block:
		return Output{Content: v}, nil
	case int:
		return jsonOutput(strconv.AppendInt(nil, int64(v), 10)), nil
	case bool:
		return jsonOutput(strconv.AppendBool(nil, v)), nil
	case struct{}:
		return Text("done"), nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Output{}, fmt.Errorf("the tool's result cannot be written as JSON: %w", err)
	}
	return jsonOutput(bytes.TrimSpace(buf.Bytes())), nil
}

func jsonOutput(raw json.RawMessage) Output {
	out := Text(string(raw))
	out.Structured = raw
	return out
}
