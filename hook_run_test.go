package braid_test

import (
	"context"
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
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// repeats is a model that says what it heard last.
func repeats() *script {
	return &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		return chunks(says(req.Messages[len(req.Messages)-1].Text()))
	}}
}

func TestHooksAroundARun(t *testing.T) {
	t.Parallel()
	before := func(f func(*hook.BeforeRun) error) braid.Part {
		return braid.On(func(_ context.Context, e *hook.BeforeRun) error { return f(e) })
	}
	after := func(f func(*hook.AfterRun) error) braid.Part {
		return braid.On(func(_ context.Context, e *hook.AfterRun) error { return f(e) })
	}
	for _, c := range []struct {
		name   string
		part   braid.Part
		want   string
		failed bool
		calls  int64
	}{
		{"input", before(func(e *hook.BeforeRun) error {
			e.Input = append(e.Input, event.Message{Role: event.RoleUser, Content: text("more")})
			return nil
		}), "go\nmore", false, 1},
		{"less input", before(func(e *hook.BeforeRun) error { e.Input[0].Content = text("less"); return nil }), "less", false, 1},
		{"bad input", before(func(e *hook.BeforeRun) error { e.Input[0].Content = []event.Block{nil}; return nil }), "is nil", true, 0},
		{"a result that nobody asked for", before(func(e *hook.BeforeRun) error {
			e.Input = append([]event.Message{{Role: event.RoleUser, Content: []event.Block{&event.ToolResult{Call: "c1", Name: "look"}}}}, e.Input...)
			return nil
		}), "go", false, 1},
		{"two results of one call", before(func(e *hook.BeforeRun) error {
			e.Input = []event.Message{
				{Role: event.RoleUser, Content: text("look")},
				{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: "c1", Name: "look"}}},
				{Role: event.RoleUser, Content: append([]event.Block{&event.ToolResult{Call: "c1", Content: text("a")}, &event.ToolResult{Call: "c1", Content: text("b")}}, text("so?")...)},
			}
			return nil
		}), "so?", false, 1},
		{"a call of the user's", before(func(e *hook.BeforeRun) error {
			e.Input[0].Content = []event.Block{&event.ToolCall{ID: "c1", Name: "look"}}
			return nil
		}), "nothing in it", true, 0},
		{"a call and its result", before(func(e *hook.BeforeRun) error {
			e.Input = []event.Message{
				{Role: event.RoleUser, Content: text("look")},
				{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: "c1", Name: "look"}}},
				{Role: event.RoleUser, Content: append([]event.Block{&event.ToolResult{Call: "c1", Content: text("seen")}}, text("and now?")...)},
			}
			return nil
		}), "and now?", false, 1},
		{"a call without a result", before(func(e *hook.BeforeRun) error {
			e.Input = []event.Message{
				{Role: event.RoleUser, Content: text("look")},
				{Role: event.RoleAssistant, Content: []event.Block{&event.ToolCall{ID: "c1", Name: "look"}}},
				{Role: event.RoleUser, Content: text("and now?")},
			}
			return nil
		}), "and now?", false, 1},
		{"cancel", before(func(e *hook.BeforeRun) error { e.Cancel = "closed today"; return nil }), "closed today", false, 0},
		{"fail before", before(func(*hook.BeforeRun) error { return errors.New("no") }), "no", true, 0},
		{"panic before", before(func(*hook.BeforeRun) error { panic("oh") }), "a hook panicked", true, 0},
		{"go on", after(func(e *hook.AfterRun) error {
			if e.Rounds < 2 {
				e.GoOn = text(fmt.Sprint(e.Message.Text(), e.Rounds))
			}
			return nil
		}), "go01", false, 3},
		{"go on without end", after(func(e *hook.AfterRun) error { e.GoOn = text("again"); return nil }), "again", false, 17},
		{"go on with nothing", after(func(e *hook.AfterRun) error { e.GoOn = []event.Block{nil}; return nil }), "is nil", true, 1},
		{"fail after", after(func(*hook.AfterRun) error { return errors.New("no") }), "no", true, 1},
		{"panic after", after(func(*hook.AfterRun) error { panic("oh") }), "a hook panicked", true, 1},
		{"after a failure before", braid.Parts(
			before(func(*hook.BeforeRun) error { return errors.New("first") }),
			after(func(e *hook.AfterRun) error {
				e.GoOn = text("on")
				if e.Status != event.RunFailed || e.Err == nil {
					panic("it does not know")
				}
				return errors.New("second")
			})), "first", true, 0},
		{"a message that is not wanted", braid.On(func(_ context.Context, e *hook.MessageAdded) error {
			if e.Message.Role == event.RoleAssistant {
				return errors.New("not this")
			}
			return nil
		}), "not this", true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			model := repeats()
			result, err := braid.New("a", model, c.part).Run(t.Context(), "go")
			if c.failed {
				if err == nil || !strings.Contains(err.Error(), c.want) || result.Status != event.RunFailed {
					t.Errorf("failed with %v, %+v, want %q", err, result, c.want)
				}
			} else if err != nil || result.Text() != c.want || result.Status != event.RunCompleted {
				t.Errorf("got %q, %v, want %q", result.Text(), err, c.want)
			}
			if model.calls.Load() != c.calls {
				t.Errorf("%d model calls, want %d", model.calls.Load(), c.calls)
			}
		})
	}
}

// Every kind of hook is told, in the order of what happens.
func TestHooksAreToldInTheOrderOfARun(t *testing.T) {
	t.Parallel()
	var said []string
	say := func(f string, args ...any) { said = append(said, fmt.Sprintf(f, args...)) }
	agent := braid.New("a", answers(asksFor("add", `{"a":1,"b":2}`), says("3")), braid.Func("add", "Adds.", add),
		braid.On(func(context.Context, *hook.BeforeRun) error { say("run"); return nil }),
		braid.On(func(context.Context, *hook.BeforeModel) error { say("model"); return nil }),
		braid.On(func(context.Context, *hook.BeforeTools) error { say("tools"); return nil }),
		braid.On(func(context.Context, *hook.BeforeTool) error { say("tool"); return nil }),
		braid.On(func(context.Context, *hook.AfterTool) error { say("/tool"); return nil }),
		braid.On(func(context.Context, *hook.AfterTools) error { say("/tools"); return nil }),
		braid.On(func(context.Context, *hook.AfterModel) error { say("/model"); return nil }),
		braid.On(func(context.Context, *hook.AfterRun) error { say("/run"); return nil }),
		braid.On(func(_ context.Context, e *hook.MessageAdded) error {
			say("+%s %s", e.Message.Role, e.Message.Content[0].BlockKind())
			return nil
		}))
	if _, err := agent.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	want := "run, +user text, model, /model, +assistant tool_call, tools, tool, /tool, +user tool_result, /tools, " +
		"model, /model, +assistant text, /run"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A question is told when it can be answered already, and the run parks and goes on in
// another process, which adds no input a second time that a hook has changed.
func TestAQuestionIsToldBeforeTheRunParks(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	var told, begun, ended atomic.Int64
	made := func() *braid.Agent {
		return braid.New("a", answers(asksFor("ask", `{}`), says("ok")),
			braid.Func("ask", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
				return braid.Ask[string](ctx, "what?")
			}),
			braid.On(func(_ context.Context, e *hook.BeforeRun) error {
				begun.Add(1)
				e.Input = e.Input[:1]
				return nil
			}),
			braid.On(func(context.Context, *hook.AfterRun) error { ended.Add(1); return nil }),
			braid.On(func(ctx context.Context, e *hook.QuestionAsked) error {
				told.Add(1)
				open, err := braid.Open(store, "c").Questions(ctx)
				if err == nil && (len(open) != 1 || open[0].Token != e.Question.Token) {
					err = fmt.Errorf("%d open questions", len(open))
				}
				return err
			}))
	}
	result, err := made().Run(t.Context(), "two", braid.History(event.UserText("one")), braid.In(braid.Open(store, "c")))
	if err == nil && result.Status == event.RunWaiting {
		conv := braid.Open(store, "c")
		if err := conv.Answer(t.Context(), result.Questions[0].Token, "this"); err != nil {
			t.Fatal(err)
		}
		result, err = made().Resume(t.Context(), braid.Open(store, "c"))
	}
	if err != nil || result.Text() != "ok" || told.Load() != 1 || begun.Load() != 1 || ended.Load() != 1 {
		t.Fatalf("%+v, %v: told %d, begun %d, ended %d", result, err, told.Load(), begun.Load(), ended.Load())
	}
	if got := resultOf(t, result.Conversation, "ask"); got != "this" {
		t.Errorf("the answer is %q", got)
	}
	messages, err := result.Conversation.Messages(t.Context())
	if err != nil || len(messages) != 4 || messages[0].Text() != "one" {
		t.Errorf("%d messages, the first %q, %v", len(messages), messages[0].Text(), err)
	}
}

// After hooks run on a cancel, with time left, and a hook cannot make the run go on then.
func TestHooksAfterACancelledRun(t *testing.T) {
	t.Parallel()
	for _, straggler := range []string{"none", "tool", "hook"} {
		t.Run(straggler, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				alive, batches := "", 0
				release := make(chan struct{})
				begun := time.Now()
				result, err := braid.New("a", answers(asksFor("wait", `{}`)),
					braid.Func("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
						cancel()
						<-ctx.Done()
						if straggler == "tool" {
							<-release
						}
						return "", ctx.Err()
					}),
					braid.On(func(context.Context, *hook.AfterTools) error { batches++; return nil }),
					braid.On(func(ctx context.Context, e *hook.AfterRun) error {
						alive = fmt.Sprint(ctx.Err(), " ", e.Status)
						e.GoOn = text("on")
						if straggler == "hook" {
							<-release
						}
						return nil
					})).Run(ctx, "go")
				if took := time.Since(begun); took > 2*time.Second+100*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				close(release)
				synctest.Wait()
				if result == nil || result.Status != event.RunCancelled || alive != "<nil> cancelled" || batches != 1 {
					t.Errorf("%+v, %v, %s, %d", result, err, alive, batches)
				}
			})
		})
	}
}

// narrow is a model that is shown few tokens.
type narrow struct{ *script }

func (narrow) Info() model.Info {
	return model.Info{Name: "test:narrow", ContextWindow: 1000}
}

// Whatever is cancelled, the hooks after it are called, each once, and with a context that lives.
func TestEveryHookAfterWhatIsCancelled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ where, want string }{
		{"a tool", "model tool tools run drive"},
		{"a model call", "model run drive"},
		{"a summary", "compaction run drive"},
		{"a hook before a tool", "model tools run drive"},
	} {
		t.Run(c.where, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stops := func(ctx context.Context) error {
					cancel()
					<-ctx.Done()
					return ctx.Err()
				}
				var told []string
				note := func(ctx context.Context, what string) error {
					if ctx.Err() != nil {
						what += " (too late)"
					}
					told = append(told, what)
					return nil
				}
				m := narrow{&script{next: func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
					summary := isSummary(req)
					switch {
					case summary && c.where == "a summary", !summary && c.where == "a model call":
						return failing(stops(ctx))
					case c.where == "a summary":
						return chunks(counted("yes", 900))
					default:
						return chunks(asksFor("wait", `{}`))
					}
				}}}
				conv := braid.NewConversation()
				if c.where == "a summary" {
					full := &recorder{answer: func(int, *model.Request) iter.Seq2[model.Chunk, error] { return chunks(counted("yes", 900)) }}
					conv = chat(t, braid.New("a", full), 3)
				}
				agent := braid.New("a", m, braid.Manage(braid.Management{By: braid.Summarize{Recent: 1}}),
					braid.Func("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) { return "", stops(ctx) }),
					braid.On(func(ctx context.Context, _ *hook.BeforeTool) error {
						if c.where == "a hook before a tool" {
							return stops(ctx)
						}
						return nil
					}),
					braid.On(func(ctx context.Context, _ *hook.AfterModel) error { return note(ctx, "model") }),
					braid.On(func(ctx context.Context, _ *hook.AfterTool) error { return note(ctx, "tool") }),
					braid.On(func(ctx context.Context, _ *hook.AfterTools) error { return note(ctx, "tools") }),
					braid.On(func(ctx context.Context, _ *hook.AfterCompaction) error { return note(ctx, "compaction") }),
					braid.On(func(ctx context.Context, _ *hook.AfterRun) error { return note(ctx, "run") }),
					braid.On(func(ctx context.Context, _ *hook.AfterDrive) error { return note(ctx, "drive") }))
				result, err := agent.Run(ctx, "go", braid.In(conv))
				if result == nil || result.Status != event.RunCancelled {
					t.Fatalf("%+v, %v", result, err)
				}
				if got := strings.Join(told, " "); got != c.want {
					t.Errorf("told after %s: %s, want %s", c.where, got, c.want)
				}
			})
		})
	}
}

// The error of a hook that only listens ends the run: what runs is cancelled, and a question
// is not left open.
func TestAHookThatListensAndFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		result, err := braid.New("a", answers(asksFor("quick", `{}`, "wait", `{}`), says("ok")),
			braid.Func("quick", "Is quick.", func(context.Context, struct{}) (string, error) { return "done", nil }),
			braid.Func("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				stopped = true
				return "", ctx.Err()
			}),
			braid.On(func(_ context.Context, e *hook.MessageAdded) error {
				if e.Message.Content[0].BlockKind() == event.BlockToolResult {
					return errors.New("not this")
				}
				return nil
			})).Run(t.Context(), "go")
		if err == nil || !strings.Contains(err.Error(), "not this") || result.Status != event.RunFailed || !stopped {
			t.Errorf("%+v, %v, stopped %v", result, err, stopped)
		}
	})
	result, err := braid.New("a", answers(asksFor("ask", `{}`), says("ok")),
		braid.Func("ask", "Asks.", func(ctx context.Context, _ struct{}) (string, error) { return braid.Ask[string](ctx, "what?") }),
		braid.On(func(context.Context, *hook.QuestionAsked) error { return errors.New("nobody is there") })).Run(t.Context(), "go")
	if err == nil || !strings.Contains(err.Error(), "nobody is there") || result.Status != event.RunFailed {
		t.Errorf("%+v, %v", result, err)
	}
}

// A run that failed or reached a limit does not go on.
func TestAHookCannotLetAFailedRunGoOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		model  *script
		part   braid.Part
		status event.RunStatus
		why    event.Why
	}{
		{"failed", &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return failing(&event.Error{Kind: event.ErrInvalid, Message: "bad"})
		}}, nil, event.RunFailed, event.WhyFailed},
		{"limit", answers(asksFor("add", `{"a":1,"b":2}`)), braid.Limit(braid.Limits{Cycles: 1}), event.RunCompleted, event.WhyLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rounds := 0
			result, err := braid.New("a", c.model, braid.Func("add", "Adds.", add), c.part,
				braid.On(func(_ context.Context, e *hook.AfterRun) error {
					rounds++
					e.GoOn = text("on")
					return nil
				})).Run(t.Context(), "go")
			if result == nil || result.Status != c.status || result.Why != c.why || rounds != 1 {
				t.Errorf("%+v, %v, after %d", result, err, rounds)
			}
		})
	}
}
