package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
)

// FuncTool is a tool made from a Go function by [Func].
type FuncTool struct {
	spec   ToolSpec
	traits Traits
	call   func(ctx context.Context, args json.RawMessage) (Output, error)
	err    error
}

var (
	_ Tool = (*FuncTool)(nil)
	_ Part = (*FuncTool)(nil)
)

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
	name, description string, fn func(context.Context, In) (Out, error), opts ...ToolOption,
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
	name, description string, missing bool, run func(context.Context, In) (Output, error), opts []ToolOption,
) *FuncTool {
	t := &FuncTool{spec: ToolSpec{Name: name, Description: description}}
	in := reflect.TypeFor[In]()
	p, err := planOf(in)
	switch k := in.Kind(); {
	case err != nil:
		t.err = schemaError(name, in, err)
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
		t.spec.Schema = p.schema
	}
	t.traits.Effect = event.EffectUnsafe
	for _, o := range opts {
		if o != nil {
			o(&t.traits)
		}
	}
	t.call = func(ctx context.Context, args json.RawMessage) (Output, error) {
		var v In
		if err := p.decode(args, &v); err != nil {
			return Output{}, &argumentsError{err}
		}
		return run(ctx, v)
	}
	return t
}

// argumentsError is a call that the model can mend.
type argumentsError struct{ err error }

func (e *argumentsError) Error() string { return "invalid arguments: " + e.err.Error() }

// Spec implements [Tool].
func (t *FuncTool) Spec() ToolSpec { return t.spec }

// Traits tells the loop about the tool's effect and time-out.
func (t *FuncTool) Traits() Traits { return t.traits }

// Call implements [Tool]. Outside a run it may be called too, for a test of the tool.
func (t *FuncTool) Call(ctx context.Context, args json.RawMessage) (Output, error) {
	if t.err != nil {
		return Output{}, t.err
	}
	return t.call(ctx, args)
}

func (t *FuncTool) attach(a *Agent) error {
	if t.err != nil {
		return t.err
	}
	return a.draft.add(a.set.name, t, t.spec)
}

// ToolOption sets a trait of a [Func] tool.
type ToolOption func(*Traits)

// Pure says that the tool changes nothing: it may run again at any time.
func Pure() ToolOption { return func(t *Traits) { t.Effect = event.EffectPure } }

// Idempotent says that running it again with the same [Call.Key] is the same as
// running it once.
func Idempotent() ToolOption { return func(t *Traits) { t.Effect = event.EffectIdempotent } }

// Reconcile says that fn can tell what became of a call that was in flight when
// its driver died.
func Reconcile(fn func(ctx context.Context, args json.RawMessage) (out Output, known bool, err error)) ToolOption {
	return func(t *Traits) {
		t.Effect = event.EffectReconcilable
		t.Reconcile = fn
	}
}

// Timeout bounds one attempt of a call, from when it runs. Its context ends then, and the
// model is told.
func Timeout(d time.Duration) ToolOption { return func(t *Traits) { t.Timeout = d } }

// Parallel bounds the calls of the tool that run at once in one run. Those above it wait
// for their turn, which costs them nothing of their time-out.
func Parallel(n int) ToolOption { return func(t *Traits) { t.Parallel = n } }

// Polling says that asking again and again is what the tool is for: its calls never count
// as a loop, however often they bring the same.
func Polling() ToolOption { return func(t *Traits) { t.Polling = true } }

// RetryTool repeats a call that failed and may succeed later: Attempts in all, after waits
// that begin with Base (0 means 1 s), double, and are at most Max (0 means 30 s). It is for
// tools that are [Pure], [Idempotent] or can [Reconcile]; of the last, the outside is asked
// first what became of the failed attempt. With a tool of another effect the agent has an
// error ([Agent.Err]), because nobody knows what a repetition would do.
//
// Repeated is an error that says nothing of its kind, one whose kind may be repeated
// ([event.KindInfo]), and the tool's own time-out. Not repeated are wrong arguments, panics,
// an [Output] with IsError, and tools that were left behind.
func RetryTool(r Retry) ToolOption { return func(t *Traits) { t.Retry = r } }

// outputOf turns a function's result into an Output.
func outputOf(v any) (Output, error) {
	switch v := v.(type) {
	case nil:
		return TextOutput("done"), nil
	case string:
		return TextOutput(v), nil
	case Output:
		return v, nil
	case *Output:
		if v == nil {
			return TextOutput("done"), nil
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
		return TextOutput("done"), nil
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
	return Output{Content: []event.Block{&event.Text{Text: string(raw)}}, Structured: raw}
}
