package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

func echo(calls *atomic.Int64) *braid.FuncTool {
	return braid.Func("tool", "Says it again.", func(_ context.Context, in struct {
		Say string `json:"say"`
	},
	) (string, error) {
		calls.Add(1)
		if in.Say == "fail" {
			return "", errors.New("it failed")
		}
		return "said " + in.Say, nil
	})
}

type beforeTool = func(context.Context, *hook.BeforeTool) error

type afterTool = func(context.Context, *hook.AfterTool) error

func TestAHookBeforeATool(t *testing.T) {
	t.Parallel()
	other := braid.Func("other", "Another one.", func(_ context.Context, in struct {
		Say string `json:"say"`
	},
	) (string, error) {
		return "other " + in.Say, nil
	})
	for _, c := range []struct {
		name, want string
		ran        int64
		isError    bool
		hook       beforeTool
	}{
		{"does nothing", "said a", 1, false, func(context.Context, *hook.BeforeTool) error { return nil }},
		{"cancels", "not today", 0, true, func(_ context.Context, e *hook.BeforeTool) error {
			e.Cancel = "not today"
			return nil
		}},
		{"changes the arguments", "said b", 1, false, func(_ context.Context, e *hook.BeforeTool) error {
			e.Args = json.RawMessage(`{"say":"b"}`)
			return nil
		}},
		{"spoils the arguments", "no usable JSON", 0, true, func(_ context.Context, e *hook.BeforeTool) error {
			e.Args = json.RawMessage(`{"say":`)
			return nil
		}},
		{"swaps the tool", "other a", 0, false, func(_ context.Context, e *hook.BeforeTool) error {
			e.Tool = other
			return nil
		}},
		{"fails", "it is closed", 0, true, func(context.Context, *hook.BeforeTool) error { return errors.New("it is closed") }},
		{"panics", "a hook panicked", 0, true, func(context.Context, *hook.BeforeTool) error { panic("oh") }},
		{"writes what is not writable", "said a", 1, false, func(_ context.Context, e *hook.BeforeTool) error {
			e.Args = slices.Clone(e.Args)
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var ran, after atomic.Int64
			got := oneCall(t, `{"say":"a"}`, echo(&ran), other, braid.On(c.hook),
				braid.On(func(_ context.Context, e *hook.AfterTool) error {
					after.Add(1)
					if (e.Err != nil) != c.isError || e.Result.IsError != c.isError {
						t.Errorf("after the tool the error is %v, the result %+v", e.Err, e.Result)
					}
					return nil
				}))
			if text := event.TextOf(got.Content); !strings.Contains(text, c.want) || got.IsError != c.isError || got.Name != "tool" {
				t.Errorf("got %q (error %v) of %s, want %q", text, got.IsError, got.Name, c.want)
			}
			if ran.Load() != c.ran || after.Load() != 1 {
				t.Errorf("the tool ran %d times and the hook after it %d times", ran.Load(), after.Load())
			}
		})
	}
}

func TestAHookAfterATool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, args, want string
		isError          bool
		ran              int64
		hook             afterTool
	}{
		{"changes the result", "a", "secret gone", false, 1, func(_ context.Context, e *hook.AfterTool) error {
			e.Result.Content = []event.Block{&event.Text{Text: "secret gone"}}
			return nil
		}},
		{"puts another in place", "a", "new", false, 1, func(_ context.Context, e *hook.AfterTool) error {
			e.Result = &event.ToolResult{Call: "wrong", Content: []event.Block{&event.Text{Text: "new"}}}
			return nil
		}},
		{"takes the result away", "a", "done", false, 1, func(_ context.Context, e *hook.AfterTool) error {
			e.Result = nil
			return nil
		}},
		{"mends an error", "fail", "mended", false, 1, func(_ context.Context, e *hook.AfterTool) error {
			if e.Err == nil || !strings.Contains(e.Err.Error(), "it failed") {
				return fmt.Errorf("the error is %w", e.Err)
			}
			e.Result.IsError = false
			e.Result.Content = []event.Block{&event.Text{Text: "mended"}}
			return nil
		}},
		{"makes what cannot be kept", "a", "cannot be kept", true, 1, func(_ context.Context, e *hook.AfterTool) error {
			e.Result.Structured = json.RawMessage(`{"a":`)
			return nil
		}},
		{"retries", "a", "said a", false, 3, func(_ context.Context, e *hook.AfterTool) error {
			e.Retry = e.Call.Attempt < 3
			return nil
		}},
		{"retries without end", "a", "said a", false, 20, func(_ context.Context, e *hook.AfterTool) error {
			e.Retry = true
			return nil
		}},
		{"fails", "a", "no room. The tool itself had ended", true, 1, func(context.Context, *hook.AfterTool) error {
			return errors.New("no room")
		}},
		{"panics", "a", "a hook panicked", true, 1, func(context.Context, *hook.AfterTool) error { panic("oh") }},
		{"asks", "a", "cannot ask", true, 1, func(ctx context.Context, _ *hook.AfterTool) error {
			_, err := braid.Ask[bool](ctx, "may it?")
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			got := oneCall(t, `{"say":"`+c.args+`"}`, echo(&ran), braid.On(c.hook))
			if text := event.TextOf(got.Content); !strings.Contains(text, c.want) || got.IsError != c.isError || got.Call != "c0" {
				t.Errorf("got %q (error %v) of %s, want %q", text, got.IsError, got.Call, c.want)
			}
			if ran.Load() != c.ran {
				t.Errorf("the tool ran %d times, want %d", ran.Load(), c.ran)
			}
		})
	}
}

func TestHooksAreCalledInOrder(t *testing.T) {
	t.Parallel()
	var said []string
	say := func(s string) func() { return func() { said = append(said, s) } }
	pair := func(name string, opts ...braid.HookOption) braid.Part {
		return braid.Parts(
			braid.On(func(context.Context, *hook.BeforeTools) error { say("tools>" + name)(); return nil }, opts...),
			braid.On(func(context.Context, *hook.BeforeTool) error { say(">" + name)(); return nil }, opts...),
			nil,
			braid.On(func(context.Context, *hook.AfterTool) error { say("<" + name)(); return errors.New(name) }, opts...),
			braid.On(func(context.Context, *hook.AfterTools) error { say("tools<" + name)(); return nil }, opts...),
		)
	}
	var ran atomic.Int64
	got := oneCall(t, `{"say":"a"}`, pair("a"), echo(&ran), pair("b"), pair("first", braid.Order(-1)), pair("last", braid.Order(1)))
	want := "tools>first tools>a tools>b tools>last >first >a >b >last <first <b <a <last tools<first tools<b tools<a tools<last"
	if s := strings.Join(said, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if text := event.TextOf(got.Content); !strings.Contains(text, "first") {
		t.Errorf("the first error counts, got %q", text)
	}
}

func TestAHookIsToldOnceThatTheAgentIsMade(t *testing.T) {
	t.Parallel()
	tools, calls := 0, 0
	a := braid.New("a", answers(says("hi")), braid.On(func(_ context.Context, e *braid.Made) error {
		calls++
		tools = len(e.Agent.Tools())
		return nil
	}), braid.Func("add", "Adds.", add)).Use(braid.Instructions("x"))
	if a.Err() != nil || tools != 1 || calls != 1 {
		t.Errorf("%d calls with %d tools, and %v", calls, tools, a.Err())
	}
	bad := braid.New("a", answers(says("hi")), braid.On(func(context.Context, *braid.Made) error { panic("oh") }))
	if err := bad.Err(); !errors.Is(err, event.ErrInternal) {
		t.Errorf("a panic gives %v", err)
	}
	if err := braid.New("a", answers(says("hi")), braid.On[braid.Made](nil)).Err(); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a nil hook gives %v", err)
	}
}

func TestHooksAroundABatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		part      braid.Part
		ran       int64
		status    event.RunStatus
		why       event.Why
		text      string
		modelCall int64
	}{
		{"cancel", braid.On(func(_ context.Context, e *hook.BeforeTools) error {
			e.Cancel = fmt.Sprintf("none of %d", len(e.Calls))
			return nil
		}), 0, event.RunCompleted, event.WhyEndTurn, "none of 2|none of 2", 2},
		{
			"fail before", braid.On(func(context.Context, *hook.BeforeTools) error { return errors.New("closed") }),
			0, event.RunCompleted, event.WhyEndTurn, "a hook failed: closed|a hook failed: closed", 2,
		},
		{"end the turn", braid.On(func(_ context.Context, e *hook.AfterTools) error {
			e.EndTurn = len(e.Results) == 2
			return nil
		}), 2, event.RunCompleted, event.WhyToolStop, "said a|said b", 1},
		{
			"fail after", braid.On(func(context.Context, *hook.AfterTools) error { return errors.New("broken") }),
			2, event.RunFailed, event.WhyFailed, "said a|said b", 1,
		},
		{
			"panic after", braid.On(func(context.Context, *hook.AfterTools) error { panic("oh") }),
			2, event.RunFailed, event.WhyFailed, "said a|said b", 1,
		},
		{"end the turn in a hook of one", braid.On(func(ctx context.Context, _ *hook.BeforeTool) error {
			tool.EndTurn(ctx)
			return nil
		}), 2, event.RunCompleted, event.WhyToolStop, "said a|said b", 1},
	} {
		for _, sequential := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, sequential), func(t *testing.T) {
				t.Parallel()
				var ran atomic.Int64
				model := answers(asksFor("tool", `{"say":"a"}`, "tool", `{"say":"b"}`), says("ok"))
				parts := []braid.Part{echo(&ran), c.part}
				if sequential {
					parts = append(parts, braid.Sequential())
				}
				var ended *event.RunEnded
				var texts []string
				for e, err := range braid.New("a", model, parts...).Stream(t.Context(), "go") {
					if e.Body == nil {
						t.Log(err) // how the run failed
						continue
					}
					switch b := e.Body.(type) {
					case *event.RunEnded:
						ended = b
					case *event.StepEnded:
						if b.Result != nil {
							texts = append(texts, strings.TrimPrefix(event.TextOf(b.Result.Content), "Error: "))
						}
					}
				}
				slices.Sort(texts)
				if ended == nil || ended.Status != c.status || ended.Why != c.why {
					t.Fatalf("ended with %+v", ended)
				}
				if ran.Load() != c.ran || model.calls.Load() != c.modelCall || strings.Join(texts, "|") != c.text {
					t.Errorf("%d tools, %d model calls, results %q", ran.Load(), model.calls.Load(), texts)
				}
			})
		}
	}
}

// A hook asks, the run parks, and another process finds the answer: null is one.
func TestAHookAsksAPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
		ran   int64
	}{{true, "said a", 1}, {false, "refused by ann", 0}, {nil, "refused by ann", 0}} {
		t.Run(fmt.Sprint(c.value), func(t *testing.T) {
			t.Parallel()
			var ran, hooks atomic.Int64
			made := func() (*braid.Agent, *script) {
				model := answers(asksFor("tool", `{"say":"a"}`, "free", `{}`), says("ok"))
				return braid.New("a", model, echo(&ran), braid.Func("free", "Free.", func(context.Context, struct{}) (string, error) {
					ran.Add(100)
					return "free", nil
				}), braid.On(func(ctx context.Context, e *hook.BeforeTool) error {
					if e.Call.Name == "free" {
						return nil
					}
					hooks.Add(1)
					yes, err := braid.Ask[*bool](ctx, "may it?")
					if err == nil && (yes == nil || !*yes) {
						e.Cancel = "refused by " + tool.AnsweredBy(ctx, 0)
					}
					return err
				})), model
			}
			store := journal.NewMemory(journal.MemoryOptions{})
			first, _ := made()
			result, err := first.Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
			if err != nil || result.Status != event.RunWaiting || len(result.Questions) != 1 || ran.Load() != 100 {
				t.Fatalf("%+v, %v; ran %d", result, err, ran.Load())
			}
			q := result.Questions[0]
			if q.Tool != "tool" || string(q.Args) != `{"say":"a"}` {
				t.Errorf("the question is %+v", q)
			}
			conv := braid.Open(store, "c")
			if err := conv.AnswerAs(t.Context(), "ann", q.Token, c.value); err != nil {
				t.Fatal(err)
			}
			second, model := made()
			result, err = second.Resume(t.Context(), conv)
			if err != nil || result.Text() != "ok" || model.calls.Load() != 1 || hooks.Load() != 2 || ran.Load() != 100+c.ran {
				t.Fatalf("%+v, %v; %d model calls, %d hooks, ran %d", result, err, model.calls.Load(), hooks.Load(), ran.Load())
			}
			if got := resultOf(t, conv, "tool"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestHooksStandAroundAnAgentAsATool(t *testing.T) {
	t.Parallel()
	var heard, after string
	child := braid.New("child", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		heard = event.TextOf(req.Messages[0].Content)
		return chunks(says("child says"))
	}})
	got := ""
	parent := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if req.Cycle == 1 {
			return chunks(asksFor("child", `{"input":"a"}`))
		}
		got = event.TextOf(lastResults(req)[0].Content)
		return chunks(says("ok"))
	}}
	agent := braid.New("a", parent, braid.AsTool(child, "Helps."),
		braid.On(func(_ context.Context, e *hook.BeforeTool) error {
			e.Args = json.RawMessage(`{"input":"b"}`)
			return nil
		}),
		braid.On(func(_ context.Context, e *hook.AfterTool) error {
			after = event.TextOf(e.Result.Content)
			e.Result.Content = append(e.Result.Content, &event.Text{Text: "!"})
			return nil
		}))
	if _, err := agent.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if heard != "b" || after != "child says" || !strings.Contains(got, "child says") || !strings.HasSuffix(got, "!") {
		t.Errorf("heard %q, after %q, got %q", heard, after, got)
	}
}

// What a hook decided stands in the log: the driver that takes over after a crash in the
// tool repeats it without asking the hook again.
func TestWhatAHookDecidedOutlivesACrash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		effect event.Effect
		known  bool
		want   string
		hooks  int64
	}{
		{event.EffectIdempotent, true, "other b", 1},
		{event.EffectIdempotent, false, "In doubt", 1},
		{event.EffectUnsafe, true, "In doubt", 1},
	} {
		t.Run(fmt.Sprint(c.effect, c.known), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ran, hooks atomic.Int64
				var crashed atomic.Bool
				store := journal.NewMemory(journal.MemoryOptions{})
				made := func(known bool, stop func()) *braid.Agent {
					other := braid.Func("other", "Another one.", func(ctx context.Context, in struct {
						Say string `json:"say"`
					},
					) (string, error) {
						if !crashed.Swap(true) {
							stop()
							<-ctx.Done()
							return "", ctx.Err()
						}
						return "other " + in.Say, nil
					}, func(tr *tool.Traits) { tr.Effect = c.effect })
					model := answers(asksFor("tool", `{"say":"a"}`), says("ok"))
					parts := []braid.Part{echo(&ran), braid.On(func(_ context.Context, e *hook.BeforeTool) error {
						hooks.Add(1)
						e.Args, e.Tool = json.RawMessage(`{"say":"b"}`), other
						return nil
					})}
					if known {
						parts = append(parts, other)
					}
					return braid.New("a", model, parts...)
				}
				ctx, stop := context.WithCancelCause(t.Context())
				_, err := made(true, func() { stop(&event.Error{Kind: event.ErrUnavailable, Message: "the process ends"}) }).
					Run(ctx, "go", braid.In(braid.Open(store, "c")))
				_ = err
				time.Sleep(time.Minute)
				result, err := made(c.known, nil).Resume(t.Context(), braid.Open(store, "c"))
				if err != nil {
					t.Fatal(err)
				}
				got := resultOf(t, result.Conversation, "tool")
				if !strings.HasPrefix(got, c.want) || hooks.Load() != c.hooks || ran.Load() != 0 {
					t.Errorf("got %q, %d hooks, %d runs of the other tool", got, hooks.Load(), ran.Load())
				}
			})
		})
	}
}

// A hook that does not stop when the run is cancelled is left behind; one that does
// leaves its call undone, and hooks after a cancelled tool are called with time left.
func TestHooksAndCancelling(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"before, stops", "before, straggles", "tool", "after, straggles"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				release := make(chan struct{})
				var ran atomic.Int64
				alive := ""
				agent := braid.New("a", answers(asksFor("tool", `{}`), says("ok")),
					braid.Func("tool", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
						ran.Add(1)
						if where == "tool" {
							cancel()
							<-ctx.Done()
							return "", ctx.Err()
						}
						return "done", nil
					}),
					braid.On(func(ctx context.Context, _ *hook.BeforeTool) error {
						switch where {
						case "before, stops":
							cancel()
							<-ctx.Done()
							return ctx.Err()
						case "before, straggles":
							cancel()
							<-release
						}
						return nil
					}),
					braid.On(func(ctx context.Context, e *hook.AfterTool) error {
						alive = fmt.Sprint(ctx.Err(), " ", errors.Is(e.Err, event.ErrCancelled))
						if where == "after, straggles" {
							cancel()
							<-release
						}
						return nil
					}))
				begun := time.Now()
				result, err := agent.Run(ctx, "go")
				if result == nil || result.Status != event.RunCancelled {
					t.Fatalf("%+v, %v", result, err)
				}
				if took := time.Since(begun); took > 2*time.Second+100*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				if want := int64(0); strings.HasPrefix(where, "before") && ran.Load() != want {
					t.Errorf("the tool ran")
				}
				if got := resultOf(t, result.Conversation, "tool"); strings.HasPrefix(where, "before") && !strings.Contains(got, "never begun") {
					t.Errorf("the call's result is %q", got)
				}
				if where == "tool" && alive != "<nil> true" {
					t.Errorf("after the tool: %s", alive)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// resultOf is what the model was last shown of a tool.
func resultOf(t *testing.T, conv *braid.Conversation, tool string) (text string) {
	t.Helper()
	messages, err := conv.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		for _, b := range m.Content {
			if r, ok := b.(*event.ToolResult); ok && r.Name == tool {
				text = event.TextOf(r.Content)
			}
		}
	}
	return text
}

// What has ended is in the store before a hook is asked what comes next.
func TestHooksAreAskedWhenAllThatEndedIsWritten(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	var ran atomic.Int64
	last := func(want event.Kind) {
		var kind event.Kind
		for e, err := range braid.Open(store, "c").Events(t.Context(), 0) {
			if err != nil {
				t.Error(err)
				return
			}
			kind = e.Body.Kind()
		}
		if kind != want {
			t.Errorf("the last event in the store is %s, want %s", kind, want)
		}
	}
	agent := braid.New("a", answers(asksFor("tool", `{"say":"a"}`), says("ok")), echo(&ran),
		braid.On(func(context.Context, *hook.BeforeTool) error { last(event.KindAssistantMessage); return nil }),
		braid.On(func(context.Context, *hook.AfterTool) error { last(event.KindStepBegun); return nil }),
		braid.On(func(context.Context, *hook.AfterTools) error { last(event.KindStepEnded); return nil }))
	if _, err := agent.Run(t.Context(), "go", braid.In(braid.Open(store, "c"))); err != nil {
		t.Fatal(err)
	}
}
