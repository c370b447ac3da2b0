package tool

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/braidrun/braid/event"
)

// Tool is something that a model may call.
//
// Call runs with a context that is also the call's [Call]; see [CallOf]. An
// error is shown to the model as the call's result and never ends the run; a
// panic counts as an error. Call is safe for concurrent use and stops when its
// context is cancelled: one that does not is left behind after a grace period.
//
// A tool may also have the methods Traits() [Traits] and Err() error; see [TraitsOf] and [ErrOf].
type Tool interface {
	// Spec describes the tool. It never changes.
	Spec() Spec
	// Call runs the tool. args is a JSON value as the model sent it, or "{}".
	Call(ctx context.Context, args json.RawMessage) (Output, error)
}

// Spec is [event.ToolSpec]: the description of a tool for a model.
type Spec = event.ToolSpec

// Output is what a tool returns.
type Output struct {
	// Content is what the model reads.
	Content []event.Block
	// Structured is the same as JSON. If Content is empty, the model reads it as text.
	Structured json.RawMessage
	// IsError marks a result as a failure that the model may mend.
	IsError bool
}

// Text returns an output of one text block.
func Text(s string) Output {
	one := &struct { // one piece of memory for the text and its list
		text event.Text
		list [1]event.Block
	}{}
	one.text.Text, one.list[0] = s, &one.text
	return Output{Content: one.list[:]}
}

// Traits are what the loop needs to know of a tool beyond its [Spec].
type Traits struct {
	// Effect is what repeating a call would do; empty counts as unsafe.
	Effect event.Effect
	// Timeout bounds one attempt of a call, from when it runs; 0 means the agent's limit for tools.
	Timeout time.Duration
	// Parallel bounds the calls of this tool that run at once in one run. Calls above it wait in the order in which the
	// model asked. 0 means the agent's limit alone.
	Parallel int
	// Retry repeats a call that failed; the zero value does not. See [Retries].
	Retry Retry
	// Polling says that asking again and again is what the tool is for: its calls never count as a loop.
	Polling bool
	// Reconcile goes with EffectReconcilable: it asks the outside what became
	// of a call that was in flight when its driver died. known false means
	// that it never happened and may run.
	Reconcile func(ctx context.Context, args json.RawMessage) (out Output, known bool, err error)
}

// TraitsOf returns the traits that t declares by a method Traits() Traits. A tool that declares no effect counts as
// unsafe.
func TraitsOf(t Tool) Traits {
	tr := Traits{}
	if d, ok := t.(interface{ Traits() Traits }); ok {
		tr = d.Traits()
	}
	if tr.Effect == "" {
		tr.Effect = event.EffectUnsafe
	}
	return tr
}

// ErrOf returns why t cannot be used, which it says by a method Err() error; nil for a tool without one. An agent refuses a
// tool with an error.
func ErrOf(t Tool) error {
	if d, ok := t.(interface{ Err() error }); ok {
		return d.Err()
	}
	return nil
}

// Adjust returns a tool with other traits than t declares itself: traits that opts do not set
// stay. It is for tools that are made elsewhere, such as those of an MCP server:
//
//	braid.Tools(tool.Adjust(search, tool.Pure(), tool.Parallel(2)))
//
// A nil tool stays nil.
func Adjust(t Tool, opts ...Option) Tool {
	if t == nil || reflect.ValueOf(t).Kind() == reflect.Pointer && reflect.ValueOf(t).IsNil() {
		return nil
	}
	tr := TraitsOf(t)
	tr.set(opts)
	if a, ok := t.(*adjusted); ok {
		t = a.Tool
	}
	return &adjusted{t, tr}
}

type adjusted struct {
	Tool
	traits Traits
}

// Traits returns the traits after the options.
func (t *adjusted) Traits() Traits { return t.traits }

// Err returns the error of the tool itself.
func (t *adjusted) Err() error { return ErrOf(t.Tool) }
