package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// oneCall runs one tool call and gives the result that the model was shown.
func oneCall(t *testing.T, args string, parts ...braid.Part) *event.ToolResult {
	t.Helper()
	var got *event.ToolResult
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if req.Cycle == 1 {
			return chunks(asksFor("tool", args))
		}
		if results := lastResults(req); len(results) == 1 {
			got = results[0]
		}
		return chunks(says("ok"))
	}}
	result, err := braid.New("a", m, parts...).Run(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if result.Text() != "ok" || got == nil {
		t.Fatalf("the run ended with %q and result %v", result.Text(), got)
	}
	return got
}

type nested struct {
	Name string   `json:"name"`
	Tags []string `json:"tags,omitempty"`
	In   struct {
		Deep int `json:"deep"`
	} `json:"in"`
	Opt *int `json:"opt,omitempty"`
}

func TestArgumentsAreHeldAgainstTheType(t *testing.T) {
	t.Parallel()
	tool := braid.Func("tool", "Takes a nested thing.", func(_ context.Context, in nested) (string, error) {
		return fmt.Sprintf("%s %v %d", in.Name, in.Tags, in.In.Deep), nil
	})
	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	for _, c := range []struct{ args, want string }{
		{`{"name":"n","in":{"deep":2}}`, "n [] 2"},
		{`{"name":"n","tags":["a","b"],"in":{"deep":2},"opt":null}`, "n [a b] 2"},
		{`{"in":{"deep":2}}`, "name is missing"},
		{`{"name":"n","in":{}}`, "in.deep is missing"},
		{`{"name":"n","in":{"deep":"2"}}`, "in.deep must be an integer of type int, not string"},
		{`{"name":"n","in":{"deep":2.5}}`, "in.deep must be an integer"},
		{`{"name":"n","in":{"deep":2,"x":1}}`, `in has no field "x"; it has deep`},
		{`{"name":"n","in":{"deep":null}}`, "in.deep must not be null"},
		{`{"name":"n","name":"m","in":{"deep":2}}`, `duplicate key "name"`},
		{`{"Name":"n","in":{"deep":2}}`, `has no field "Name"`},
		{`[1,2]`, "must be an object"},
		{`{"name":"n","in":{"deep":2}`, "no usable JSON"},
		{`{"name":"n","tags":[1],"in":{"deep":2}}`, "tags"},
		{deep, "no usable JSON"},
		{"{\"name\":\"\xff\",\"in\":{\"deep\":2}}", "no usable JSON"},
		{`{"name":"` + strings.Repeat("x", 10<<20) + `"}`, "the arguments are 10 MiB long, the limit is 1024 KiB"},
	} {
		got := oneCall(t, c.args, tool)
		text := event.TextOf(got.Content)
		if !strings.Contains(text, c.want) || got.IsError != strings.HasPrefix(text, "Error: ") {
			t.Errorf("%.60s: got %q (error %v), want %q", c.args, text, got.IsError, c.want)
		}
	}
}

func TestAToolThatFailsIsAResultForTheModel(t *testing.T) {
	t.Parallel()
	tool := func(fn func(context.Context) (any, error)) braid.Part {
		return braid.Func("tool", "Does it.", func(ctx context.Context, _ struct{}) (any, error) { return fn(ctx) })
	}
	for _, c := range []struct {
		name string
		part braid.Part
		want string
	}{
		{"error", tool(func(context.Context) (any, error) { return nil, errors.New("no luck") }), "Error: no luck"},
		{"panic", tool(func(context.Context) (any, error) { panic("boom") }), "Error: the tool panicked"},
		{"unknown", braid.Func("other", "Other.", add), `Error: there is no tool called "tool"; the tools are: other.`},
		{"a nil block", tool(func(context.Context) (any, error) { return []event.Block{nil}, nil }), "Error: the tool's result cannot be kept: one of its blocks is nil."},
		{
			"JSON that no log keeps", tool(func(context.Context) (any, error) { return json.RawMessage(`{"a":1,"a":2}`), nil }),
			"Error: the tool's result cannot be kept: duplicate key",
		},
		{"no JSON", tool(func(context.Context) (any, error) { return func() {}, nil }), "Error: the tool's result cannot be written as JSON"},
		{
			"too large", tool(func(context.Context) (any, error) { return strings.Repeat("x", 100<<20), nil }),
			"Error: the result is 100 MiB long, the limit is 8192 KiB. Ask for less.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := oneCall(t, `{}`, c.part)
			if text := event.TextOf(got.Content); !got.IsError || !strings.HasPrefix(text, c.want) {
				t.Errorf("got %.100q (error %v)", text, got.IsError)
			}
		})
	}
}

func TestInvalidUTF8FromAToolIsReplaced(t *testing.T) {
	t.Parallel()
	got := oneCall(t, ``, braid.Func("tool", "Does it.", func(context.Context, struct{}) (string, error) { return "a\xffb", nil }))
	if text := event.TextOf(got.Content); text != "a\uFFFDb" {
		t.Errorf("got %q", text)
	}
}

func TestAToolThatNeverReturnsIsLeftBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		opts  []tool.Option
		parts []braid.Part
		want  time.Duration
	}{
		{"by its own time-out", []tool.Option{tool.Timeout(time.Minute)}, nil, time.Minute + 2*time.Second},
		{"by the limit", nil, []braid.Part{braid.Limit(braid.Limits{ToolTime: time.Hour})}, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				tl := braid.Func("tool", "Hangs.", func(context.Context, struct{}) (string, error) {
					<-release
					return "late", nil
				}, c.opts...)
				begun := time.Now()
				got := oneCall(t, `{}`, append(c.parts, braid.Part(tl))...)
				if text := event.TextOf(got.Content); !strings.Contains(text, `"tool" did not return in time and was left behind`) {
					t.Errorf("got %q", text)
				}
				if took := time.Since(begun); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
			})
		})
	}
}

func TestATimeoutEndsTheToolsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tl := braid.Func("tool", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, tool.Timeout(time.Minute))
		if text := event.TextOf(oneCall(t, `{}`, tl).Content); text != "Error: the tool did not finish within 1m0s." {
			t.Errorf("got %q", text)
		}
	})
}

func TestCancellingLeavesAStragglerBehindAndNamesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var late atomic.Bool
		conv := braid.NewConversation()
		agent := braid.New("a", answers(asksFor("deaf", `{}`, "good", `{}`), says("never")),
			braid.Func("deaf", "Ignores its context.", func(ctx context.Context, _ struct{}) (string, error) {
				<-release
				_ = tool.State[any]("late").Set(ctx, true)
				tool.Progress(ctx, "still here")
				late.Store(true)
				return "late", nil
			}),
			braid.Func("good", "Stops.", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begun := time.Now()
		result, err := agent.Run(ctx, "go", braid.In(conv))
		if !errors.Is(err, event.ErrCancelled) || result.Stop != event.StopCancelled {
			t.Errorf("got %v, %s", err, result.Stop)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("it took %v, want a second and the grace period of two", took)
		}
		if n := result.Metrics.Stragglers; n != 1 {
			t.Errorf("%d stragglers are counted", n)
		}
		close(release)
		synctest.Wait()
		if !late.Load() {
			t.Error("the straggler did not come to its end")
		}
		outcomes := map[string]event.Outcome{}
		for e, err := range conv.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.StepEnded); ok && b.Result != nil {
				outcomes[b.Result.Name] = b.Outcome
			}
		}
		if outcomes["deaf"] != event.OutcomeStraggler || outcomes["good"] != event.OutcomeCancelled {
			t.Errorf("outcomes are %v", outcomes)
		}
		if state, _ := conv.State(t.Context()); len(state) != 0 {
			t.Errorf("the straggler changed the state: %v", state)
		}
		// The conversation stays usable.
		if _, err := braid.New("b", answers(says("hello"))).Run(t.Context(), "again", braid.In(conv)); err != nil {
			t.Error(err)
		}
	})
}

func TestResultsStandInRequestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []string
		m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if req.Cycle == 1 {
				return chunks(asksFor("sleep", `{"s":3}`, "sleep", `{"s":1}`, "sleep", `{"s":2}`))
			}
			for _, r := range lastResults(req) {
				got = append(got, r.Call+" "+event.TextOf(r.Content))
			}
			return chunks(says("ok"))
		}}
		type in struct {
			S int `json:"s"`
		}
		sleep := braid.Func("sleep", "Sleeps.", func(_ context.Context, in in) (int, error) {
			time.Sleep(time.Duration(in.S) * time.Second)
			return in.S, nil
		})
		for _, c := range []struct {
			parts []braid.Part
			want  time.Duration
		}{
			{[]braid.Part{sleep}, 3 * time.Second},
			{[]braid.Part{sleep, braid.Sequential()}, 6 * time.Second},
			{[]braid.Part{sleep, braid.Limit(braid.Limits{Parallel: 2})}, 3 * time.Second},
		} {
			got = nil
			begun := time.Now()
			if _, err := braid.New("a", m, c.parts...).Run(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != "[c0 3 c1 1 c2 2]" {
				t.Errorf("results are %v", got)
			}
			if took := time.Since(begun); took != c.want {
				t.Errorf("it took %v, want %v", took, c.want)
			}
		}
	})
}

type valueKey struct{}

func TestTheToolsContext(t *testing.T) {
	t.Parallel()
	conv := braid.NewConversation()
	ctx := context.WithValue(t.Context(), valueKey{}, "from the caller")
	keys := map[string]bool{}
	agent := braid.New("a", answers(asksFor("look", `{}`), asksFor("look", `{}`), says("ok")),
		braid.Func("look", "Looks around.", func(ctx context.Context, _ struct{}) (string, error) {
			c := tool.CallOf(ctx)
			if c == nil || c.ID != "c0" || c.Name != "look" || c.Agent != "a" || c.Attempt != 1 {
				return "", fmt.Errorf("the call is %+v", c)
			}
			if keys[c.Key()] {
				return "", errors.New("two calls have one key")
			}
			keys[c.Key()] = true
			if ctx.Value(valueKey{}) != "from the caller" {
				return "", errors.New("the caller's value is missing")
			}
			n, _, err := tool.State[int]("n").Get(ctx)
			if err != nil {
				return "", err
			}
			if err := tool.State[any]("n").Set(ctx, n+1); err != nil {
				return "", err
			}
			return "ok", tool.State[any](braid.StateTemp+"seen").Set(ctx, true)
		}))
	result, err := agent.Run(ctx, "go", braid.In(conv))
	if err != nil || result.Metrics.ToolErrors > 0 {
		messages, _ := conv.Messages(ctx)
		t.Fatalf("%v, %s", err, raw(messages))
	}
	if string(result.State["seen"]) != "true" || len(result.State) != 1 {
		t.Errorf("the run's state is %s", raw(result.State))
	}
	state, err := conv.State(ctx)
	if err != nil || len(state) != 1 || string(state["n"]) != "2" {
		t.Errorf("the conversation's state is %s: %v", raw(state), err)
	}
}

func TestEndTurnStopsAfterTheBatch(t *testing.T) {
	t.Parallel()
	model := answers(asksFor("add", `{"a":1,"b":2}`, "stop", `{}`), says("never"))
	result, err := braid.New("a", model, braid.Func("add", "Adds.", add),
		braid.Func("stop", "Stops.", func(ctx context.Context, _ struct{}) (string, error) {
			tool.EndTurn(ctx)
			return "stopped", nil
		})).Run(t.Context(), "go")
	if err != nil || result.Stop != event.StopToolUse || result.Why != event.WhyToolStop || model.calls.Load() != 1 {
		t.Errorf("got %v, %s, %s after %d calls", err, result.Stop, result.Why, model.calls.Load())
	}
}

// A tool may start goroutines that outlive it: what they do later changes nothing.
func TestWhatAToolLeavesRunningChangesNothing(t *testing.T) {
	t.Parallel()
	release, done := make(chan struct{}), make(chan error, 1)
	conv := braid.NewConversation()
	agent := braid.New("a", answers(asksFor("tool", `{}`), says("ok")),
		braid.Func("tool", "Leaves something running.", func(ctx context.Context, _ struct{}) (string, error) {
			go func() {
				<-release
				tool.EndTurn(ctx)
				tool.Progress(ctx, "late")
				_ = tool.State[any]("late").Set(ctx, true)
				_, err := braid.Ask[bool](ctx, "late?")
				done <- err
			}()
			return "started", nil
		}))
	result, err := agent.Run(t.Context(), "go", braid.In(conv))
	close(release)
	if late := <-done; err != nil || result.Text() != "ok" || !errors.Is(late, event.ErrInvalid) {
		t.Errorf("got %v, %q; the late question %v", err, result.Text(), late)
	}
	if state, _ := conv.State(t.Context()); len(state) != 0 {
		t.Errorf("the state was changed: %v", state)
	}
}
