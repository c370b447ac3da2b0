package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
)

// messages says what a conversation's model sees, in short words.
func messages(t *testing.T, conv *braid.Conversation) (lines []string) {
	t.Helper()
	msgs, err := conv.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range msgs {
		line := string(m.Role) + ":"
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				line += " " + b.Text
			case *event.ToolCall:
				line += fmt.Sprintf(" %s%s", b.Name, b.Args)
			case *event.ToolResult:
				line += " =" + event.TextOf(b.Content)
			default:
				line += " " + string(b.BlockKind())
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestADirectCallIsRecorded(t *testing.T) {
	t.Parallel()
	model := answers(says("five, I see"))
	agent := braid.New("clerk", model, braid.Func("add", "Adds.", add, tool.Pure()),
		braid.OutputSchema(json.RawMessage(`{"type":"object"}`)))
	conv := braid.NewConversation()
	var r braid.Result
	got, err := agent.Call(t.Context(), "add", addIn{A: 2, B: 3}, braid.In(conv), braid.Into(&r))
	if err != nil || event.TextOf(got.Content) != "5" || string(got.Structured) != "5" {
		t.Fatalf("%v, %+v", err, got)
	}
	if r.Status != event.RunCompleted || r.Why != event.WhyDirectCall || r.Stop != event.StopEndTurn || model.calls.Load() != 0 {
		t.Errorf("%+v, %d model calls", r, model.calls.Load())
	}
	if r.Metrics.ToolCalls != 1 || r.Metrics.ModelCalls != 0 || *r.CostNanoUSD != 0 {
		t.Errorf("%+v", r.Metrics)
	}
	want := []string{
		`user: [The program itself calls the tool "add".]`, `assistant: add{"a":2,"b":3}`, "user: =5",
		`assistant: ["add" was called by the program itself.]`,
	}
	if d := cmp.Diff(want, messages(t, conv)); d != "" {
		t.Error(d)
	}
	// A second one has an id of its own, and a turn after it sees both.
	if _, err := agent.Call(t.Context(), "add", map[string]int{"a": 1, "b": 1}, braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Run(t.Context(), "What was that?", braid.In(conv)); err == nil {
		t.Error("the answer is no JSON, and nobody said so")
	}
	lines := messages(t, conv)
	if len(lines) < 10 || lines[8] != "user: What was that?" || lines[9] != "assistant: five, I see" {
		t.Errorf("%q", lines)
	}
	msgs, err := conv.Messages(t.Context())
	if err != nil || msgs[1].Calls()[0].ID == msgs[5].Calls()[0].ID {
		t.Errorf("%v, two calls of one id", err)
	}
}

func TestADirectCallLeavesNothing(t *testing.T) {
	t.Parallel()
	hooked := 0
	agent := braid.New("clerk", answers(says("hi")), braid.Func("add", "Adds.", add),
		braid.On(func(_ context.Context, e *hook.BeforeTool) error {
			hooked++
			e.Args = json.RawMessage(`{"a":40,"b":2}`)
			return nil
		}))
	got, err := agent.Call(t.Context(), "add", addIn{A: 2, B: 3})
	if err != nil || event.TextOf(got.Content) != "42" || hooked != 1 {
		t.Errorf("%v, %+v, %d hooks", err, got, hooked)
	}
}

func TestDirectCallsThatFail(t *testing.T) {
	t.Parallel()
	broken := errors.New("it broke")
	agent := func(parts ...braid.Part) *braid.Agent {
		return braid.New("clerk", answers(says("hi")), append(parts,
			braid.Func("add", "Adds.", add),
			braid.Func("fail", "Fails.", func(context.Context, nothing) (string, error) { return "", broken }),
			braid.Func("panic", "Panics.", func(context.Context, nothing) (string, error) { panic("no") }),
			braid.Func("mild", "Says that it failed.", func(context.Context, nothing) (tool.Output, error) {
				return tool.Output{Content: text("try another"), IsError: true}, nil
			}))...)
	}
	deny := braid.On(func(_ context.Context, e *hook.BeforeTool) error { e.Cancel = "not you"; return nil })
	stop := braid.On(func(_ context.Context, e *hook.BeforeRun) error { e.Cancel = "closed"; return nil })
	for _, c := range []struct {
		name   string
		agent  *braid.Agent
		tool   string
		args   any
		opts   []braid.RunOption
		kind   event.ErrorKind
		words  string
		result string
	}{
		{"no such tool", agent(), "addd", nil, nil, event.ErrNotFound, `did you mean "add"?`, ""},
		{"no tool at all like it", agent(), "zzzzzz", nil, nil, event.ErrNotFound, "add, fail, panic, mild", ""},
		{"no object", agent(), "add", 3, nil, event.ErrInvalid, "no JSON object", ""},
		{"no JSON", agent(), "add", func() {}, nil, event.ErrInvalid, "no JSON object", ""},
		{"doubled names", agent(), "add", json.RawMessage(`{"a":1,"a":2}`), nil, event.ErrInvalid, "no JSON object", ""},
		{"wrong arguments", agent(), "add", map[string]any{"a": "x"}, nil, event.ErrInvalid, "invalid arguments", "Error: invalid arguments"},
		{"the tool fails", agent(), "fail", nil, nil, event.ErrInternal, "it broke", "Error: it broke"},
		{"the tool panics", agent(), "panic", nil, nil, event.ErrInternal, "panicked", "Error: "},
		{"the tool says so", agent(), "mild", nil, nil, "", "", "try another"},
		{"a hook refuses", agent(deny), "add", addIn{}, nil, event.ErrPermission, "not you", "not you"},
		{"a hook answers", agent(stop), "add", addIn{}, nil, event.ErrPermission, "closed", ""},
		{"the agent is wrong", agent(braid.Tools(nil)), "add", addIn{}, nil, event.ErrInvalid, "a tool is nil", ""},
		{"steering", agent(), "add", addIn{}, []braid.RunOption{braid.During(braid.Steer)}, event.ErrUnsupported, "cannot join", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conv := braid.NewConversation()
			got, err := c.agent.Call(t.Context(), c.tool, c.args, append(c.opts, braid.In(conv))...)
			if (err != nil) != (c.kind != "") || c.kind != "" && !errors.Is(err, c.kind) || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v", err)
			}
			if c.name == "the tool fails" && !errors.Is(err, broken) {
				t.Errorf("the tool's own error is lost: %v", err)
			}
			said := ""
			if got != nil {
				said = event.TextOf(got.Content)
			}
			if !strings.HasPrefix(said, c.result) || (said == "") != (c.result == "") {
				t.Errorf("result %q", said)
			}
			// Whatever came of it, the conversation is as good as before.
			if r, err := agent().Run(t.Context(), "hello", braid.In(conv)); err != nil || r.Text() != "hi" {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestADirectCallThatAsks(t *testing.T) {
	t.Parallel()
	agent := braid.New("clerk", answers(says("hi")), braid.Func("send", "Sends.", func(ctx context.Context, _ nothing) (string, error) {
		ok, err := braid.Ask[bool](ctx, "Send it?")
		return fmt.Sprint("sent: ", ok), err
	}))
	var r braid.Result
	if _, err := agent.Call(t.Context(), "send", nil, braid.Into(&r)); !errors.Is(err, event.ErrConflict) || len(r.Questions) != 1 {
		t.Fatalf("%v, %+v", err, r.Questions)
	}
	conv := r.Conversation
	if _, err := agent.Call(t.Context(), "send", nil, braid.In(conv)); !errors.Is(err, event.ErrConflict) {
		t.Errorf("a call in a conversation that waits: %v", err)
	}
	if err := conv.Answer(t.Context(), r.Questions[0].Token, true); err != nil {
		t.Fatal(err)
	}
	done, err := agent.Resume(t.Context(), conv)
	if err != nil || done.Why != event.WhyDirectCall || done.Metrics.ModelCalls != 0 {
		t.Errorf("%v, %+v", err, done)
	}
	if lines := messages(t, conv); len(lines) != 4 || lines[2] != "user: =sent: true" {
		t.Errorf("%q", lines)
	}
}

func TestADirectCallSetsState(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	agent := braid.New("clerk", answers(says("hi")), braid.Func("count", "Counts.", func(ctx context.Context, _ nothing) (int, error) {
		n, _, err := tool.State[int]("n").Get(ctx)
		if err != nil {
			return 0, err
		}
		return n + 1, tool.State[any]("n").Set(ctx, n+1)
	}))
	for want := 1; want <= 2; want++ {
		got, err := agent.Call(t.Context(), "count", nil, braid.In(conv))
		if err != nil || event.TextOf(got.Content) != fmt.Sprint(want) {
			t.Errorf("%v, %+v", err, got)
		}
	}
	state, err := conv.State(t.Context())
	if err != nil || string(state["n"]) != "2" {
		t.Errorf("%v, %s", err, state)
	}
}

// The same key is the same call; another call under it is refused.
func TestADirectCallWithAKey(t *testing.T) {
	t.Parallel()
	runs := 0
	conv := braid.NewConversation()
	agent := braid.New("clerk", answers(says("hi")), braid.Func("add", "Adds.", func(ctx context.Context, in addIn) (int, error) {
		runs++
		return add(ctx, in)
	}))
	for range 2 {
		got, err := agent.Call(t.Context(), "add", addIn{A: 1, B: 2}, braid.In(conv), braid.Key("k"))
		if err != nil || event.TextOf(got.Content) != "3" {
			t.Errorf("%v, %+v", err, got)
		}
	}
	if _, err := agent.Call(t.Context(), "add", addIn{A: 1, B: 3}, braid.In(conv), braid.Key("k")); !errors.Is(err, event.ErrConflict) || runs != 1 {
		t.Errorf("%v, %d runs", err, runs)
	}
}

// An agent that is used as a tool can be called too, and a tool can call another one.
func TestDirectCallsInside(t *testing.T) {
	t.Parallel()
	helper := braid.New("helper", answers(says("helped")))
	conv := braid.NewConversation()
	var agent *braid.Agent
	agent = braid.New("clerk", answers(asksFor("twice", `{"a":3,"b":4}`), says("done")), braid.AsTool(helper, "Helps."),
		braid.Func("add", "Adds.", add),
		braid.Func("twice", "Adds, and doubles.", func(ctx context.Context, in addIn) (string, error) {
			if _, err := agent.Call(ctx, "add", in, braid.In(conv)); !errors.Is(err, event.ErrLocked) {
				t.Errorf("a call that would be recorded in the busy conversation: %v", err)
			}
			got, err := agent.Call(ctx, "add", in)
			if err != nil {
				return "", err
			}
			return "2 × " + event.TextOf(got.Content), nil
		}))
	got, err := agent.Call(t.Context(), "helper", map[string]string{"input": "help"})
	if err != nil || event.TextOf(got.Content) != "helped" {
		t.Errorf("%v, %+v", err, got)
	}
	if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	if got := allResults(t, conv); !slices.Equal(got, []string{"2 × 7"}) {
		t.Errorf("%q", got)
	}
}
