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
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// asksBefore is an agent one of whose hooks asks before a model call or a batch of tools. It
// goes on for "yes", and answers or cancels in place of it for anything else.
func asksBefore(where string, ran *atomic.Int64) (*braid.Agent, *script) {
	model := answers(asksFor("tool", `{"say":"a"}`, "tool", `{"say":"b"}`), says("ok"))
	ask := func(ctx context.Context) (cancel string, err error) {
		first, err := braid.Ask[string](ctx, "go on?", tool.AskName("first"))
		if err != nil {
			return "", err
		}
		second, err := braid.Ask[*bool](ctx, "sure?", tool.AskName("second"))
		if err != nil || first == "yes" && (second == nil || *second) {
			return "", err
		}
		return "refused by " + tool.AnsweredBy(ctx, 0) + " and " + tool.AnsweredBy(ctx, 1) + tool.AnsweredBy(ctx, 2), nil
	}
	asks := braid.On(func(ctx context.Context, e *hook.BeforeTools) (err error) {
		e.Cancel, err = ask(ctx)
		return err
	})
	if where != "tools" {
		asks = braid.On(func(ctx context.Context, e *hook.BeforeModel) (err error) {
			if fmt.Sprint("model ", e.Request.Cycle) == where {
				e.Cancel, err = ask(ctx)
			}
			return err
		})
	}
	return braid.New("a", model, echo(ran), asks), model
}

// A hook asks before a model call or a batch, twice one after another; each answer comes
// days later in another process, and nothing is called in between.
func TestAHookAsksBeforeItsStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		where, first string
		second       any
		text, result string
		ran          int64
		// before and after count the model calls of the process that asked, and of that
		// which got the last answer.
		before, after int64
	}{
		{"model 1", "yes", nil, "ok", "said b", 2, 0, 2},
		{"model 1", "no", true, "refused by ann and bob", "", 0, 0, 0},
		{"tools", "yes", true, "ok", "said b", 2, 1, 1},
		{"tools", "yes", false, "ok", "refused by ann and bob", 0, 1, 1},
		{"model 2", "yes", true, "ok", "said b", 2, 1, 1},
		{"model 2", "no", nil, "refused by ann and bob", "said b", 2, 1, 0},
	} {
		t.Run(fmt.Sprint(c.where, c.first, c.second), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ran atomic.Int64
				store := journal.NewMemory(journal.MemoryOptions{})
				agent, model := asksBefore(c.where, &ran)
				result, err := agent.Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
				for i, answer := range []any{c.first, c.second} {
					if err != nil || result.Status != event.RunWaiting || result.Stop != event.StopQuestion || len(result.Questions) != 1 {
						t.Fatalf("question %d: %+v, %v", i, result, err)
					}
					q := result.Questions[0]
					if q.Index != i || q.Tool != "" || q.Call != "" || q.Step != "" || q.Args != nil || len(q.Token) < 20 {
						t.Errorf("the question is %+v", q)
					}
					if i == 0 && model.calls.Load() != c.before {
						t.Errorf("%d model calls before the question", model.calls.Load())
					}
					time.Sleep(72 * time.Hour)
					agent, model = asksBefore(c.where, &ran)
					conv := braid.Open(store, "c")
					if again, err := agent.Resume(t.Context(), conv); err != nil || again.Stop != event.StopQuestion {
						t.Fatalf("without an answer: %+v, %v", again, err)
					}
					if err := conv.AnswerAs(t.Context(), []string{"ann", "bob"}[i], q.Token, answer); err != nil {
						t.Fatal(err)
					}
					if err := conv.Answer(t.Context(), q.Token, answer); err != nil {
						t.Errorf("the same answer again, before it was read, gave %v", err)
					}
					if err := conv.Answer(t.Context(), q.Token, []any{"other", nil}[i]); answer != nil && !errors.Is(err, event.ErrConflict) {
						t.Errorf("another answer gave %v", err)
					}
					result, err = agent.Resume(t.Context(), conv)
					if err := conv.Answer(t.Context(), q.Token, answer); !errors.Is(err, event.ErrNotFound) {
						t.Errorf("a second answer gave %v", err)
					}
				}
				if err != nil || result.Text() != c.text || ran.Load() != c.ran || model.calls.Load() != c.after {
					t.Fatalf("%q, %v: %d tools, %d model calls", result.Text(), err, ran.Load(), model.calls.Load())
				}
				if got := resultOf(t, result.Conversation, "tool"); got != c.result {
					t.Errorf("the result is %q, want %q", got, c.result)
				}
				if open, err := result.Conversation.Questions(t.Context()); err != nil || len(open) != 0 {
					t.Errorf("open are %v, %v", open, err)
				}
			})
		})
	}
}

// The answer holds for every attempt of the model call before which it was asked for.
func TestAnAnswerHoldsForEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := answers(says("ok"))
		var tries atomic.Int64
		next := m.next
		m.next = func(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if tries.Add(1) < 3 {
				return failing(&event.Error{Kind: event.ErrOverloaded, Message: "busy"})
			}
			return next(ctx, req)
		}
		var hooks atomic.Int64
		agent := braid.New("a", m, braid.On(func(ctx context.Context, _ *hook.BeforeModel) error {
			hooks.Add(1)
			_, err := braid.Ask[bool](ctx, "May it cost money?")
			return err
		}))
		result, err := agent.Run(t.Context(), "go")
		if err != nil || len(result.Questions) != 1 {
			t.Fatal(result, err)
		}
		result, err = agent.Resume(t.Context(), result.Conversation, braid.Answers(braid.Answer{Token: result.Questions[0].Token, Value: true}))
		if err != nil || result.Text() != "ok" || tries.Load() != 3 || hooks.Load() != 4 || result.Metrics.ModelCalls != 3 {
			t.Errorf("%q, %v: %d attempts, %d hooks, %+v", result.Text(), err, tries.Load(), hooks.Load(), result.Metrics)
		}
	})
}

// An answer holds for the step that it was asked for, and for no later one.
func TestAHookAsksAtEachStep(t *testing.T) {
	t.Parallel()
	ask := func(ctx context.Context) error { _, err := braid.Ask[bool](ctx, "go on?"); return err }
	model := braid.On(func(ctx context.Context, _ *hook.BeforeModel) error { return ask(ctx) })
	tools := braid.On(func(ctx context.Context, _ *hook.BeforeTools) error { return ask(ctx) })
	for want, asks := range map[int]braid.Part{3: model, 2: tools, 5: braid.Parts(model, tools)} {
		var ran atomic.Int64
		agent := braid.New("a", answers(asksFor("tool", `{"say":"a"}`), asksFor("tool", `{"say":"b"}`), says("ok")), echo(&ran), asks)
		result, err := agent.Run(t.Context(), "go")
		asked := 0
		for ; err == nil && result.Stop == event.StopQuestion; asked++ {
			result, err = agent.Resume(t.Context(), result.Conversation, braid.Answers(braid.Answer{Token: result.Questions[0].Token, Value: true}))
		}
		if err != nil || asked != want || ran.Load() != 2 {
			t.Errorf("%d questions, want %d; %d tools, %v", asked, want, ran.Load(), err)
		}
	}
}

// An agent that is used as a tool has hooks that ask, too; another tool goes on meanwhile, and
// cancelling takes the question away.
func TestAHookOfAnAgentAsAToolAsks(t *testing.T) {
	t.Parallel()
	for _, cancels := range []bool{false, true} {
		var ran atomic.Int64
		child := braid.New("child", answers(says("child says")), braid.On(func(ctx context.Context, _ *hook.BeforeModel) error {
			_, err := braid.Ask[bool](ctx, "May the child speak?")
			return err
		}))
		agent := braid.New("a", answers(asksFor("child", `{"input":"x"}`, "tool", `{"say":"a"}`), says("ok")),
			braid.AsTool(child, "Helps."), echo(&ran))
		result, err := agent.Run(t.Context(), "go")
		if err != nil || len(result.Questions) != 1 || result.Questions[0].Scope != "t1.0" || ran.Load() != 1 {
			t.Fatalf("%+v, %v", result, err)
		}
		if cancels {
			if err := result.Conversation.Cancel(t.Context()); err != nil {
				t.Fatal(err)
			}
			result, err = agent.Resume(t.Context(), result.Conversation)
			if !errors.Is(err, event.ErrCancelled) || len(result.Questions) != 0 {
				t.Errorf("%+v, %v", result, err)
			}
			continue
		}
		result, err = agent.Resume(t.Context(), result.Conversation, braid.Answers(braid.Answer{Token: result.Questions[0].Token, Value: true}))
		if err != nil || result.Text() != "ok" || ran.Load() != 1 {
			t.Errorf("%q, %v", result.Text(), err)
		}
	}
}

// Where nobody can be asked, Ask says so.
func TestAskingInTheWrongPlace(t *testing.T) {
	t.Parallel()
	var late context.Context
	ask := func(ctx context.Context) error {
		_, err := braid.Ask[bool](ctx, "may it?")
		if !errors.Is(err, event.ErrInvalid) {
			t.Errorf("it gave %v", err)
		}
		return nil
	}
	agent := braid.New("a", answers(says("ok")),
		braid.On(func(ctx context.Context, _ *hook.BeforeRun) error { return ask(ctx) }),
		braid.On(func(ctx context.Context, _ *hook.BeforeModel) error { late = ctx; return nil }), //nolint:fatcontext // it is to be too late
		braid.On(func(ctx context.Context, _ *hook.AfterModel) error { return errors.Join(ask(ctx), ask(late)) }),
		braid.On(func(ctx context.Context, _ *hook.AfterRun) error { return ask(ctx) }))
	if result, err := agent.Run(t.Context(), "go"); err != nil || result.Text() != "ok" {
		t.Error(result, err)
	}
	if tool.AnsweredBy(t.Context(), 0) != "" {
		t.Error("somebody has answered nothing")
	}
}

// What is answered is held against the question when it is answered, and the question
// stays open where it does not fit.
func TestAnswersAreHeldAgainstTheQuestion(t *testing.T) {
	t.Parallel()
	type size struct {
		Name string `json:"name"`
		Wide int    `json:"wide,omitempty"`
	}
	long := map[string]any{"approved": true, "reason": "fine", "payload": []int{1}, "args": map[string]any{}}
	for _, c := range []struct {
		ask  func(context.Context) (any, error)
		name string
		bad  []any
		good any
		want string
	}{
		{asking[string], "string", []any{1, true, map[string]any{}}, "x", `"x"`},
		{asking[string], "string, null", nil, nil, `""`},
		{asking[int], "int", []any{"many", 1.5}, 3, `3`},
		{asking[bool], "bool", []any{"yes", 1, map[string]any{}, map[string]any{"approved": "yes"}, map[string]any{"approvd": true}}, true, `true`},
		{asking[bool], "bool, in full", nil, map[string]any{"approved": false, "reason": "no"}, `false`},
		{asking[bool], "bool, null", nil, nil, `false`},
		{asking[*bool], "pointer", []any{"no"}, nil, `null`},
		{approving[*bool], "pointer, in full", []any{"no", 1}, long, `true`},
		{approving[*bool], "pointer as an approval, null", nil, nil, `null`},
		{
			asking[event.Approval], "approval",
			[]any{"yes", map[string]any{"reason": "x"}, map[string]any{"approved": true, "more": 1}},
			long, `{"approved":true,"args":{},"reason":"fine","payload":[1]}`,
		},
		{asking[event.Approval], "approval, null", nil, nil, `false`},
		{asking[event.Approval], "approval, short", nil, true, `true`},
		{asking[size], "struct", []any{"XL", map[string]any{}, map[string]any{"name": 1}, map[string]any{"name": "XL", "high": 1}}, size{Name: "XL"}, `{"name":"XL"}`},
		{asking[[]string], "list", []any{"a", []int{1}}, []string{"a"}, `["a"]`},
		{asking[any], "anything", nil, map[string]any{"a": 1}, `{"a":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			agent := braid.New("a", answers(asksFor("ask", `{}`), says("ok")),
				braid.Func("ask", "Asks.", func(ctx context.Context, _ struct{}) (any, error) { return c.ask(ctx) }))
			result, err := agent.Run(t.Context(), "go")
			if err != nil || len(result.Questions) != 1 {
				t.Fatal(result, err)
			}
			q, conv := result.Questions[0], result.Conversation
			for _, bad := range c.bad {
				err := conv.Answer(t.Context(), q.Token, bad)
				var e *event.Error
				if !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Code != "ANSWER_INVALID" || e.Hint == "" {
					t.Errorf("%v gave %v", bad, err)
				}
			}
			if err := conv.Answer(t.Context(), q.Token, c.good); err != nil {
				t.Fatal(err)
			}
			if _, err := agent.Resume(t.Context(), conv); err != nil {
				t.Fatal(err)
			}
			if got := resultOf(t, conv, "ask"); got != strings.Trim(c.want, `"`) && got != c.want {
				t.Errorf("the tool got %s, want %s", got, c.want)
			}
		})
	}
}

// approving is asking for an approval.
func approving[T any](ctx context.Context) (any, error) {
	v, err := braid.Ask[T](ctx, "what?", tool.AskFor(event.AskApproval))
	if err != nil {
		return nil, err
	}
	return raw(v), nil
}

// asking asks for a T and gives it as JSON.
func asking[T any](ctx context.Context) (any, error) {
	v, err := braid.Ask[T](ctx, "what?")
	if err != nil {
		return nil, err
	}
	return raw(v), nil
}

// A question whose schema is none, or that has none, takes any answer.
func TestAQuestionWithoutAUsableSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{``, `{"$ref":"https://schemas.invalid/x"}`, `{"type":7}`} {
		agent := braid.New("a", answers(asksFor("ask", `{}`), says("ok")),
			braid.Func("ask", "Asks.", func(ctx context.Context, _ struct{}) (any, error) {
				return braid.Ask[any](ctx, "what?", func(q *event.Asked) error {
					q.Schema = json.RawMessage(schema)
					return nil
				})
			}))
		result, err := agent.Run(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		if err := result.Conversation.Answer(t.Context(), result.Questions[0].Token, "x"); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestNamesOfQuestionsThatAreTaken(t *testing.T) {
	t.Parallel()
	got := oneCall(t, `{}`, braid.Func("tool", "Asks.", func(ctx context.Context, _ struct{}) (bool, error) {
		return braid.Ask[bool](ctx, "what?", tool.AskName("braid.permission"))
	}))
	if text := event.TextOf(got.Content); !got.IsError || !strings.Contains(text, "taken") {
		t.Errorf("got %q", text)
	}
}

// cutting is a store whose driver is lost before its nth commit from now.
type cutting struct {
	journal.Store
	left atomic.Int64
}

func (c *cutting) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if c.left.Add(-1) < 0 {
		return &event.Error{Kind: event.ErrLeaseLost, Message: "the process is gone"}
	}
	return c.Store.Commit(ctx, l, b)
}

// survives runs an agent that is killed before each of its commits in turn, answers what is
// open, and gives the ends to look at.
func survives(t *testing.T, made func() *braid.Agent, answer func(braid.Question) any, end func(t *testing.T, r *braid.Result)) {
	t.Helper()
	for n := int64(0); ; n++ {
		whole := false
		synctest.Test(t, func(t *testing.T) {
			store := &cutting{Store: journal.NewMemory(journal.MemoryOptions{})}
			store.left.Store(n)
			result, err := made().Run(t.Context(), "go", braid.In(braid.Open(store, "c")), braid.Key("k"))
			for tries := 0; ; tries++ {
				if tries > 30 {
					t.Fatalf("cut %d: it does not end: %+v, %v", n, result, err)
				}
				lost := errors.Is(err, event.ErrLeaseLost)
				if err != nil && !lost {
					t.Fatalf("cut %d: %v", n, err)
				}
				if err == nil && result.Status == event.RunCompleted {
					break
				}
				if lost {
					store.left.Store(1 << 40)
				}
				time.Sleep(time.Hour)
				conv := braid.Open(store, "c")
				open, err2 := conv.Questions(t.Context())
				if err2 != nil {
					t.Fatal(err2)
				}
				for _, q := range open {
					if err := conv.Answer(t.Context(), q.Token, answer(q)); err != nil {
						t.Fatalf("cut %d: %v", n, err)
					}
				}
				result, err = made().Run(t.Context(), "go", braid.In(conv), braid.Key("k"))
			}
			end(t, result)
			whole = store.left.Load() > 0 && store.left.Load() < 1<<39
		})
		if whole {
			return
		}
	}
}

// A driver that dies anywhere around a hook that asks leaves a run that comes to the same end.
func TestQuestionsOfHooksOutliveACrash(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"model 1", "tools", "model 2"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			survives(t, func() *braid.Agent { a, _ := asksBefore(where, &ran); return a }, func(q braid.Question) any {
				if q.Name == "first" {
					return "yes"
				}
				return nil
			}, func(t *testing.T, r *braid.Result) {
				t.Helper()
				if got := resultOf(t, r.Conversation, "tool"); r.Text() != "ok" || got != "said b" && !strings.HasPrefix(got, "In doubt") {
					t.Errorf("%q with %q", r.Text(), got)
				}
				answered := 0
				for e, err := range r.Conversation.Events(t.Context(), 0) {
					if err != nil {
						t.Fatal(err)
					}
					if _, ok := e.Body.(*event.Answered); ok {
						answered++
					}
				}
				if answered != 2 {
					t.Errorf("%d answers", answered)
				}
			})
		})
	}
}
