package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// panicText is what panics say: it may stand in no event.
const panicText = "CANARY-4111"

// odd is a tool that is not made with Func.
type odd struct{ call func() (tool.Output, error) }

func (odd) Spec() model.ToolSpec {
	return model.ToolSpec{Name: "odd", Description: "Odd.", Schema: json.RawMessage(`{"type":"object"}`)}
}
func (o odd) Call(context.Context, json.RawMessage) (tool.Output, error) { return o.call() }
func (odd) Traits() tool.Traits                                          { return tool.Traits{Effect: event.EffectPure} }

// nameless is a model whose Info panics.
type nameless struct{ *script }

func (nameless) Info() model.Info { panic(panicText) }

// A nil pointer where a value belongs is refused before anything runs.
func TestNilValuesAreRefused(t *testing.T) {
	t.Parallel()
	agent := braid.New("a", answers(says("hello")))
	text, image := (*event.Text)(nil), (*event.Image)(nil)
	for name, input := range map[string]any{
		"a block":    text,
		"blocks":     []event.Block{&event.Text{Text: "look"}, image},
		"a message":  event.Message{Role: event.RoleUser, Content: []event.Block{image}},
		"a history":  []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "look"}, text}}},
		"no message": event.Message{},
	} {
		said, more := given(input)
		if _, err := agent.Run(t.Context(), said, more); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("run with %s: %v", name, err)
		}
		if _, err := agent.Send(t.Context(), braid.NewConversation(), said, more); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("send %s: %v", name, err)
		}
	}
	for name, agent := range map[string]*braid.Agent{
		"model":           braid.New("a", (*script)(nil)),
		"tool":            braid.New("a", answers(says("hello")), braid.Tools((*odd)(nil))),
		"function":        braid.New("a", answers(says("hello")), braid.Tools((*braid.FuncTool)(nil))),
		"adjusted":        braid.New("a", answers(says("hello")), braid.Tools(tool.Adjust((*odd)(nil)))),
		"fallback":        braid.New("a", answers(says("hello")), braid.Fallback([]event.ErrorKind{event.ErrModel}, (*script)(nil))),
		"agent":           braid.New("a", answers(says("hello")), braid.AsTool(nil, "")),
		"a tool's spec":   braid.New("a", answers(says("hello")), braid.Tools(mute{})),
		"a model's name":  braid.New("a", nameless{}),
		"the made hook's": braid.New("a", answers(says("hello")), braid.On(func(context.Context, *braid.Made) error { panic(panicText) })),
	} {
		err := agent.Err()
		if err == nil || strings.Contains(err.Error(), panicText) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := agent.Run(t.Context(), "go"); err == nil {
			t.Errorf("%s: it runs", name)
		}
	}
	if err := braid.New("a", answers(says("hello")), nil, (*braid.FuncTool)(nil)).Err(); err != nil {
		t.Errorf("parts that are nil are left out: %v", err)
	}
	if r, err := agent.Run(t.Context(), "go", nil, braid.In(nil), braid.Into(nil)); err != nil || r.Text() != "hello" {
		t.Errorf("options that are nil are left out: %v", err)
	}
}

// mute is a tool that cannot say what it is.
type mute struct{ odd }

func (mute) Spec() model.ToolSpec { panic(panicText) }

// What panicked can be found in the program itself, by the cause.
func TestThePanicIsTheCause(t *testing.T) {
	t.Parallel()
	m := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] { panic(panicText) }}
	_, err := braid.New("a", m).Run(t.Context(), "go")
	cause, ok := errors.AsType[*event.PanicError](err)
	if !ok || cause.Value != panicText || !strings.Contains(string(cause.Stack), "foreign_test.go") || strings.Contains(err.Error(), panicText) {
		t.Errorf("%v, caused by %+v", err, cause)
	}
}

// What a plain error of a model says is for the program and its log, and stands in no event.
func TestAModelsPlainErrorIsTheCause(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial tcp 10.0.0.7: key sk-123")
	conv := braid.NewConversation()
	_, err := braid.New("a", &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
		return failing(secret)
	}}).Run(t.Context(), "go", braid.In(conv))
	if !errors.Is(err, secret) || !errors.Is(err, event.ErrModel) {
		t.Errorf("%v", err)
	}
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(e); strings.Contains(string(text), "sk-123") {
			t.Errorf("the log says %s", text)
		}
	}
}

// loop wraps itself, so that errors.Is would look at it for ever.
type loop struct{}

func (loop) Error() string   { return "loop" }
func (l loop) Unwrap() error { return l }

// unreadable is an error that cannot say anything.
type unreadable struct{}

func (unreadable) Error() string { panic(panicText) }
func (unreadable) Is(error) bool { panic(panicText) }

// An error of a tool that cannot be read is the result of its call, as any other error: the run goes on.
func TestErrorsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]error{
		"a nil":        (*event.Error)(nil),
		"wraps a nil":  fmt.Errorf("calling: %w", (*event.Error)(nil)),
		"joins a nil":  errors.Join(errors.New("calling"), (*event.Error)(nil)),
		"wraps itself": fmt.Errorf("calling: %w", loop{}),
		"has no text":  unreadable{},
		"wraps such":   &event.Error{Kind: event.ErrInvalid, Message: "calling", Err: unreadable{}},
	} {
		fn := func(context.Context, struct{}) (string, error) { return "", bad }
		for kind, tl := range map[string]braid.Tool{
			"tool":     odd{func() (tool.Output, error) { return tool.Output{}, bad }},
			"function": braid.Func("odd", "Odd.", fn),
			"stream": braid.StreamFunc("odd", "Odd.", func(context.Context, struct{}) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) { yield("", bad) }
			}),
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				var shown string
				m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
					if req.Cycle == 1 {
						return chunks(asksFor("odd", `{}`))
					}
					for _, r := range lastResults(req) {
						shown = event.TextOf(r.Content)
					}
					return chunks(says("done"))
				}}
				r, err := braid.New("a", m, braid.Tools(tl)).Run(t.Context(), "go")
				if err != nil || r.Text() != "done" || !strings.HasPrefix(shown, "Error: the error") || strings.Contains(shown, panicText) {
					t.Errorf("%v, and the model was shown %q", err, shown)
				}
			})
		}
	}
}
