package braid

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Tool is something that a model may call.
//
// Call runs with a context that is also the call's [Call]; see [CallOf]. An
// error is shown to the model as the call's result and never ends the run; a
// panic counts as an error. Call is safe for concurrent use and stops when its
// context is cancelled: one that does not is left behind after a grace period.
type Tool interface {
	// Spec describes the tool. It never changes.
	Spec() ToolSpec
	// Call runs the tool. args is a JSON value as the model sent it, or "{}".
	Call(ctx context.Context, args json.RawMessage) (Output, error)
}

// Output is what a tool gives back.
type Output struct {
	// Content is what the model reads. Structured is the same as JSON; where
	// Content is empty, the model reads Structured as text.
	Content    []event.Block
	Structured json.RawMessage
	// IsError marks a result as a failure that the model may mend.
	IsError bool
}

// TextOutput is an output of one text block.
func TextOutput(s string) Output {
	return Output{Content: []event.Block{&event.Text{Text: s}}}
}

// Traits are what the loop needs to know of a tool beyond its [ToolSpec].
type Traits struct {
	// Effect is what repeating a call would do; empty counts as unsafe.
	Effect event.Effect
	// Timeout bounds one attempt of a call, from when it runs; 0 means [Limits].ToolTime.
	Timeout time.Duration
	// Parallel bounds the calls of this tool that run at once in one run; 0 means
	// [Limits].Parallel alone. Those above it wait for their turn in the order of asking.
	Parallel int
	// Retry repeats a call that failed; the zero value does not. See [RetryTool].
	Retry Retry
	// Polling says that asking again and again is what the tool is for, so that its
	// calls never count as a loop ([Limits].Repeats).
	Polling bool
	// Reconcile goes with EffectReconcilable: it asks the outside what became
	// of a call that was in flight when its driver died. known false means
	// that it never happened and may run.
	Reconcile func(ctx context.Context, args json.RawMessage) (out Output, known bool, err error)
}

// traited is the optional side of a Tool.
type traited interface{ Traits() Traits }

// TraitsOf gives the traits that t declares by a method Traits() Traits; one
// that declares none counts as unsafe.
func TraitsOf(t Tool) Traits {
	tr := Traits{}
	if d, ok := t.(traited); ok {
		tr = d.Traits()
	}
	if tr.Effect == "" {
		tr.Effect = event.EffectUnsafe
	}
	return tr
}

// traitsOf is [TraitsOf] without a copy where the tool is one of ours; those of no tool are zero.
func traitsOf(t Tool) *Traits {
	switch t := t.(type) {
	case nil:
		return &Traits{}
	case *FuncTool:
		if t.traits.Effect != "" {
			return &t.traits
		}
	case *adjusted:
		if t.traits.Effect != "" {
			return &t.traits
		}
	}
	tr := TraitsOf(t)
	return &tr
}

// Adjust gives a tool with other traits than it declares itself: all that opts do not set
// stay. It is for tools that are made elsewhere, such as those of an MCP server:
//
//	braid.Tools(braid.Adjust(search, braid.Pure(), braid.Parallel(2)))
func Adjust(t Tool, opts ...ToolOption) Tool {
	if isNil(t) {
		return nil // Tools says so
	}
	tr := TraitsOf(t)
	for _, o := range opts {
		if o != nil {
			o(&tr)
		}
	}
	if f, ok := t.(*FuncTool); ok {
		own := *f
		own.traits = tr
		return &own
	}
	return &adjusted{t, tr}
}

type adjusted struct {
	Tool
	traits Traits
}

// Traits implements the optional side of a [Tool].
func (t *adjusted) Traits() Traits { return t.traits }
