package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/tool"
)

func TestAToolThatReturnsDirectly(t *testing.T) {
	t.Parallel()
	returning := func(name string, out any, err error) braid.Part {
		return braid.Func(name, "", func(ctx context.Context, _ nothing) (any, error) {
			tool.ReturnDirect(ctx)
			return out, err
		})
	}
	plain := braid.Func("plain", "", func(context.Context, nothing) (string, error) { return "plain", nil })
	byHook := braid.On(func(ctx context.Context, e *hook.AfterTool) error {
		if e.Call.Name == "plain" {
			tool.ReturnDirect(ctx)
		}
		return nil
	})
	for _, c := range []struct {
		name  string
		calls []string
		parts []braid.Part
		text  string
		why   event.Why
		want  []string
	}{
		{
			"text",
			[]string{"t", "{}"},
			[]braid.Part{returning("t", "the answer", nil)},
			"the answer", event.WhyReturned,
			[]string{"user: go", "assistant: t{}", "user: =the answer", "assistant: the answer"},
		},
		{
			"JSON",
			[]string{"t", "{}"},
			[]braid.Part{returning("t", tool.Output{Structured: json.RawMessage(`{"n":1}`)}, nil)},
			`{"n":1}`,
			event.WhyReturned,
			[]string{"user: go", "assistant: t{}", `user: ={"n":1}`, `assistant: {"n":1}`},
		},
		{
			"the first of two, beside another",
			[]string{"plain", "{}", "u", "{}", "t", "{}"},
			[]braid.Part{plain, returning("t", "second", nil), returning("u", "first", nil)},
			"first", event.WhyReturned,
			[]string{"user: go", "assistant: plain{} u{} t{}", "user: =plain =first =second", "assistant: first"},
		},
		{
			"a failure goes to the model",
			[]string{"t", "{}"},
			[]braid.Part{returning("t", nil, errors.New("broken"))},
			"summed up",
			event.WhyEndTurn,
			[]string{"user: go", "assistant: t{}", "user: =Error: broken", "assistant: summed up"},
		},
		{
			"a picture alone",
			[]string{"t", "{}"},
			[]braid.Part{returning("t", &event.Image{MIME: "image/png", Data: []byte("x")}, nil)},
			"", event.WhyReturned,
			[]string{"user: go", "assistant: t{}", "user: ="},
		},
		{
			"a hook for somebody else's tool",
			[]string{"plain", "{}"},
			[]braid.Part{plain, byHook},
			"plain", event.WhyReturned,
			[]string{"user: go", "assistant: plain{}", "user: =plain", "assistant: plain"},
		},
		{
			"an agent, by a hook",
			[]string{"plain", `{"input":"do"}`},
			[]braid.Part{braid.AsTool(braid.New("plain", answers(says("from below"))), ""), byHook},
			"from below", event.WhyReturned,
			[]string{"user: go", `assistant: plain{"input":"do"}`, "user: =from below", "assistant: from below"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conv := braid.NewConversation()
			model := answers(asksFor(c.calls...), says("summed up"))
			agent := braid.New("a", model, c.parts...)
			r, err := agent.Run(t.Context(), "go", braid.In(conv))
			if err != nil || r.Text() != c.text || r.Why != c.why || r.Stop != event.StopEndTurn {
				t.Errorf("%v, %q, %s %s", err, r.Text(), r.Why, r.Stop)
			}
			if n := model.calls.Load(); c.why == event.WhyReturned && (n != 1 || r.Metrics.Cycles != 1) {
				t.Errorf("%d model calls, %+v, %+v", n, r.Metrics, r.Usage)
			}
			if d := cmp.Diff(c.want, messages(t, conv)); d != "" {
				t.Error(d)
			}
			// The next turn is an ordinary one.
			if r, err := agent.Run(t.Context(), "and now?", braid.In(conv)); err != nil || r.Status != event.RunCompleted {
				t.Errorf("%v", err)
			}
		})
	}
}

// What a sub-agent's tool returns directly is the sub-agent's answer, and no more.
func TestAToolOfAnAgentBelowReturnsDirectly(t *testing.T) {
	t.Parallel()
	below := answers(asksFor("t", "{}"))
	helper := braid.New("helper", below, braid.Func("t", "", func(ctx context.Context, _ nothing) (string, error) {
		tool.ReturnDirect(ctx)
		return "found it", nil
	}))
	conv := braid.NewConversation()
	agent := braid.New("a", answers(asksFor("helper", `{"input":"look"}`), says("thanks")), braid.AsTool(helper, ""))
	r, err := agent.Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Text() != "thanks" || below.calls.Load() != 1 {
		t.Errorf("%v, %q, %d calls below", err, r.Text(), below.calls.Load())
	}
	want := []string{"user: go", `assistant: helper{"input":"look"}`, "user: =found it", "assistant: thanks"}
	if d := cmp.Diff(want, messages(t, conv)); d != "" {
		t.Error(d)
	}
}

// A result that is too large for the model is the whole answer for people.
func TestALargeResultReturnsWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 500)
	conv := braid.NewConversation()
	agent := braid.New("a", answers(asksFor("t", "{}")), braid.Offload(braid.Offloading{Over: 1000, Preview: 300}),
		braid.Func("t", "", func(ctx context.Context, _ nothing) (string, error) {
			tool.ReturnDirect(ctx)
			return long, nil
		}))
	r, err := agent.Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Text() != long || r.Why != event.WhyReturned {
		t.Errorf("%v, %d bytes, %s", err, len(r.Text()), r.Why)
	}
	if got := allResults(t, conv); len(got) != 1 || len(got[0]) > 1000 {
		t.Errorf("the model is shown %d bytes", len(got[0]))
	}
	result, err := agent.Call(t.Context(), "t", nil)
	if err != nil || event.TextOf(result.Content) != long {
		t.Errorf("%v", err)
	}
}
