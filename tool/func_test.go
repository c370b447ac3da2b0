package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

type in struct {
	A int `json:"a"`
}

func TestArgumentsThatAreWrong(t *testing.T) {
	t.Parallel()
	ran := 0
	one := tool.Func("one", "One.", func(context.Context, in) (string, error) { ran++; return "", nil })
	_, err := one.Call(t.Context(), json.RawMessage(`{"b":1}`))
	if _, ok := errors.AsType[*tool.ArgumentsError](err); !ok || err.Error() != `invalid arguments: the arguments object has no field "b"; it has a` || ran > 0 {
		t.Errorf("%v, ran %d times", err, ran)
	}
}

func TestWhatAFunctionReturns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out  any
		text string
		json string
	}{
		{nil, "done", ""},
		{"a", "a", ""},
		{tool.Text("b"), "b", ""},
		{&tool.Output{Structured: json.RawMessage(`1`)}, "", "1"},
		{(*tool.Output)(nil), "done", ""},
		{&event.Text{Text: "c"}, "c", ""},
		{[]event.Block{&event.Text{Text: "d"}}, "d", ""},
		{-7, "-7", "-7"},
		{true, "true", "true"},
		{struct{}{}, "done", ""},
		{map[string]string{"k": "<&>"}, `{"k":"<&>"}`, `{"k":"<&>"}`},
	} {
		one := tool.Func("one", "One.", func(context.Context, struct{}) (any, error) { return c.out, nil })
		got, err := one.Call(t.Context(), json.RawMessage(`{}`))
		if err != nil || event.TextOf(got.Content) != c.text || string(got.Structured) != c.json {
			t.Errorf("%#v: %q, %s, %v", c.out, event.TextOf(got.Content), got.Structured, err)
		}
	}
	one := tool.Func("one", "One.", func(context.Context, struct{}) (any, error) { return func() {}, nil })
	if _, err := one.Call(t.Context(), json.RawMessage(`{}`)); err == nil {
		t.Error("a function became a result")
	}
}

func TestToolsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]tool.Tool{
		"no function":  tool.Func[in, string]("x", "", nil),
		"no object":    tool.Func("x", "", func(context.Context, int) (string, error) { return "", nil }),
		"no schema":    tool.Func("x", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil }),
		"adjusted":     tool.Adjust(tool.Func[in, string]("x", "", nil), tool.Pure()),
		"no generator": tool.StreamFunc[in, string]("x", "", nil),
	} {
		err := tool.ErrOf(one)
		if _, called := one.Call(t.Context(), json.RawMessage(`{}`)); !errors.Is(err, event.ErrInvalid) || called == nil {
			t.Errorf("%s: %v, called: %v", name, err, called)
		}
	}
	if err := tool.ErrOf(tool.Func("x", "", func(context.Context, in) (string, error) { return "", nil })); err != nil {
		t.Error(err)
	}
	if _, err := tool.SchemaOf[chan int](); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("the schema of a channel: %v", err)
	}
	if schema, err := tool.SchemaOf[in](); err != nil || !json.Valid(schema) {
		t.Errorf("%s, %v", schema, err)
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	one := tool.Func("x", "", func(context.Context, in) (string, error) { return "ran", nil },
		nil, tool.Timeout(time.Second), tool.Polling(), tool.Retries(tool.Retry{Attempts: 3}))
	if tr := tool.TraitsOf(one); tr.Effect != event.EffectUnsafe || tr.Repeats() || tr.Timeout != time.Second || !tr.Polling || tr.Retry.Attempts != 3 {
		t.Errorf("%+v", tr)
	}
	adjusted := tool.Adjust(tool.Adjust(one, tool.Parallel(2)), tool.Idempotent())
	if tr := tool.TraitsOf(adjusted); tr.Effect != event.EffectIdempotent || !tr.Repeats() || tr.Parallel != 2 || tr.Timeout != time.Second {
		t.Errorf("adjusted: %+v", tr)
	}
	if tool.TraitsOf(one).Parallel != 0 || adjusted.Spec().Name != "x" {
		t.Error("Adjust changed the tool that it was given")
	}
	if out, err := adjusted.Call(t.Context(), json.RawMessage(`{"a":1}`)); err != nil || event.TextOf(out.Content) != "ran" {
		t.Errorf("%v, %v", out, err)
	}
	if tool.Adjust(nil) != nil || tool.Adjust((*tool.FuncTool)(nil)) != nil {
		t.Error("Adjust made a tool of none")
	}
	for effect, want := range map[event.Effect]bool{event.EffectPure: true, event.EffectReconcilable: false} {
		if tr := (tool.Traits{Effect: effect}); tr.Repeats() != want {
			t.Errorf("%s repeats: %v", effect, !want)
		}
	}
	back := tool.Traits{}
	tool.Reconcile(func(context.Context, json.RawMessage) (out tool.Output, known bool, err error) { return out, true, nil })(&back)
	if !back.Repeats() {
		t.Error("a tool that can tell what became of its calls is not repeated")
	}
}
