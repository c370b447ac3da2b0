package task_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/task"
	"github.com/braidrun/braid/wire/native"
)

// behind is a call in the background.
func behind(c map[string]any) map[string]any { c["run_in_background"] = true; return c }

// after is a model that answers as another one does, after a while.
func after(wait time.Duration, b *brain) *brain {
	think := b.think
	return &brain{name: b.name, price: b.price, think: func(ctx context.Context, req *model.Request) ([]model.Chunk, error) {
		select {
		case <-time.After(wait):
			return think(ctx, req)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// parent asks for calls first. It answers each later message with "meanwhile", and what it was told in the end.
func parent(calls ...map[string]any) *brain {
	return &brain{name: "m:lead", price: 7, think: func(_ context.Context, req *model.Request) ([]model.Chunk, error) {
		if req.Cycle == 1 {
			return asks(req.Scope, calls...), nil
		}
		last := req.Messages[len(req.Messages)-1]
		if list := results(req); list != nil {
			return says("meanwhile: " + strings.Join(list, " | ")), nil
		}
		return says("told: " + last.Text()), nil
	}}
}

// background is an agent with one type.
func background(m *brain, how task.Background, calls ...map[string]any) *braid.Agent {
	return braid.New("lead", parent(calls...), braid.Tools(task.New(task.Options{},
		task.Type{Agent: braid.New("slow", m), Background: how}, task.Type{Agent: braid.New("quick", echo("m:quick", 2))})))
}

const receipt = `The agent "slow" works in the background. Its answer comes as a message, with the id of this call: call_a.`

// A call in the background returns a receipt. The model goes on and gets the answer later. The run waits for it.
func TestBackground(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model *brain
		how   task.Background
		calls []map[string]any
		// answers are those of the main agent.
		answers []string
		status  event.RunStatus
	}{
		"told later": {
			model: after(time.Second, echo("m:slow", 3)), how: task.AwaitBackground, calls: []map[string]any{behind(call("slow", "dig"))},
			answers: []string{
				"meanwhile: " + receipt,
				`told: [The agent "slow", which works in the background for the call call_a, has ended.]` + "\n\nm:slow: dig",
			},
			status: event.RunCompleted,
		},
		"told of a failure": {
			model: &brain{name: "m:slow", think: func(context.Context, *model.Request) ([]model.Chunk, error) {
				time.Sleep(time.Second)
				return nil, &event.Error{Kind: event.ErrModelAuth, Message: "the key is wrong"}
			}},
			how: task.AwaitBackground, calls: []map[string]any{behind(call("slow", "dig"))},
			answers: []string{
				"meanwhile: " + receipt,
				`told: [The agent "slow", which works in the background for the call call_a, has ended.]` + "\n\n" +
					`Error: agent "slow": the key is wrong.`,
			},
			status: event.RunFailed,
		},
		"cancelled with the run": {
			model: after(time.Hour, echo("m:slow", 3)), how: task.StopBackground, calls: []map[string]any{behind(call("slow", "dig"))},
			answers: []string{"meanwhile: " + receipt}, status: event.RunCancelled,
		},
		"not allowed": {
			model: echo("m:slow", 3), calls: []map[string]any{behind(call("slow", "dig"))},
			answers: []string{`meanwhile: Error: agents of the type "slow" do not work in the background; leave run_in_background out.`},
		},
		"beside a call that waits": {
			model: after(time.Second, echo("m:slow", 3)), how: task.AwaitBackground, calls: []map[string]any{behind(call("slow", "dig")), call("quick", "run")},
			answers: []string{
				"meanwhile: " + receipt + " | m:quick: run",
				`told: [The agent "slow", which works in the background for the call call_a, has ended.]` + "\n\nm:slow: dig",
			},
			status: event.RunCompleted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conv := braid.NewConversation()
				r, err := background(c.model, c.how, c.calls...).Run(t.Context(), "go", braid.In(conv))
				if err != nil || r.Status != event.RunCompleted {
					t.Fatalf("%v, %v", r, err)
				}
				var answers []string
				for _, f := range frames(t, conv) {
					switch f := f.(type) {
					case *native.Message:
						if f.Parent == "" && f.Text != "" {
							answers = append(answers, f.Text)
						}
					case *native.SubagentEnd:
						if f.SubagentType == "slow" && (f.Status != c.status || (f.Result != "") != (c.status == event.RunCompleted)) {
							t.Errorf("the agent ended as %+v", f)
						}
						if c.status == event.RunCompleted && f.SubagentType == "slow" && f.DurationMS != 1000 {
							t.Errorf("the agent worked %d ms", f.DurationMS)
						}
					case *native.Result:
						if c.status != "" && (f.Main == nil || len(f.Subagents) != len(c.calls)) {
							t.Errorf("the result is %+v", f)
						}
					case *native.UserMessage:
						if f.Text != "go" {
							t.Errorf("a client is shown %q", f.Text)
						}
					}
				}
				if got := strings.Join(answers, "\n"); got != strings.Join(c.answers, "\n") || r.Text() != c.answers[len(c.answers)-1] {
					t.Errorf("the answers are\n%s\nwant\n%s", got, strings.Join(c.answers, "\n"))
				}
			})
		})
	}
}

// A run that is cancelled, fails or reaches a limit does not wait for agents in the background.
func TestBackgroundEndsWithTheRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits braid.Limits
		fails  bool
		cancel bool
		want   event.RunStatus
	}{
		"cancelled": {cancel: true, want: event.RunCancelled},
		"limit":     {limits: braid.Limits{Cycles: 1}, want: event.RunCompleted},
		"failed":    {fails: true, want: event.RunFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				agent := background(after(time.Hour, echo("m:slow", 3)), task.AwaitBackground, behind(call("slow", "dig"))).Use(braid.Limit(c.limits))
				if c.fails {
					m := parent(behind(call("slow", "dig")))
					failing := &brain{name: "m:lead", think: func(ctx context.Context, req *model.Request) ([]model.Chunk, error) {
						if req.Cycle > 1 {
							return nil, &event.Error{Kind: event.ErrModelAuth, Message: "no"}
						}
						return m.think(ctx, req)
					}}
					agent = braid.New("lead", failing, braid.Tools(task.New(task.Options{},
						task.Type{Agent: braid.New("slow", after(time.Hour, echo("m:slow", 3))), Background: task.AwaitBackground})))
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel {
					time.AfterFunc(time.Second, cancel)
				}
				conv := braid.NewConversation()
				_, _ = agent.Run(ctx, "go", braid.In(conv))
				closed, ended := 0, false
				for e, err := range conv.Events(t.Context(), 0) {
					if err != nil {
						t.Fatal(err)
					}
					switch b := e.Body.(type) {
					case *event.ScopeClosed:
						closed++
						if b.Why != event.WhyCancelled || ended {
							t.Errorf("the agent ended as %+v", b)
						}
					case *event.RunEnded:
						ended = true
						if b.Status != c.want || len(b.Agents) != 2 {
							t.Errorf("the run ended as %+v", b)
						}
					}
				}
				if closed != 1 || !ended || time.Since(begin) > time.Minute {
					t.Errorf("%d agents ended, after %v", closed, time.Since(begin))
				}
			})
		})
	}
}

// An agent below the run's own waits for what it has put in the background, even where the run would not.
func TestNestedBackground(t *testing.T) {
	t.Parallel()
	for _, how := range []task.Background{task.AwaitBackground, task.StopBackground} {
		synctest.Test(t, func(t *testing.T) {
			deep := braid.New("deep", after(time.Second, echo("m:deep", 3)))
			middle := braid.New("middle", parent(behind(call("deep", "dig"))), braid.Tools(task.New(task.Options{}, task.Type{Agent: deep, Background: how})))
			agent := braid.New("lead", lead(call("middle", "x")), braid.Tools(task.New(task.Options{}, task.Type{Agent: middle})))
			r, err := agent.Run(t.Context(), "go")
			if how == task.AwaitBackground && (err != nil || !strings.HasPrefix(r.Text(), "told: ") || !strings.HasSuffix(r.Text(), "m:deep: dig")) {
				t.Errorf("%q, %v", r.Text(), err)
			}
			if err != nil || r.Status != event.RunCompleted {
				t.Errorf("%q, %v", r.Text(), err)
			}
		})
	}
}

// Wherever a driver dies, the next one goes on with the agents in the background, and the model is told once of each.
func TestBackgroundGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := func() *braid.Agent {
			return background(after(time.Second, echo("m:slow", 3)), task.AwaitBackground, behind(call("slow", "dig")), call("quick", "run"))
		}
		store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
		want, err := made().Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < len(store.log); n++ {
			conv := cut(t, store.log, n)
			r, err := made().Resume(t.Context(), conv)
			told := 0
			for e, err := range conv.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(*event.UserMessage); ok && b.Why == event.WhyTask {
					told++
				}
			}
			if err != nil || r.Text() != want.Text() || told != 1 {
				t.Errorf("after %d events: %q, told %d times, %v", n, r.Text(), told, err)
			}
		}
	})
}

// A message of a user reaches the model while the run waits for an agent in the background.
func TestMessagesWhileTasksWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conv := braid.NewConversation()
		agent := background(after(time.Minute, echo("m:slow", 3)), task.AwaitBackground, behind(call("slow", "dig")))
		time.AfterFunc(10*time.Second, func() {
			if _, err := agent.Send(t.Context(), conv, "hurry", braid.During(braid.Steer)); err != nil {
				t.Error(err)
			}
		})
		if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
		var answers []string
		for _, f := range frames(t, conv) {
			if f, ok := f.(*native.Message); ok && f.Parent == "" && f.Text != "" {
				answers = append(answers, f.Text)
			}
		}
		if len(answers) != 3 || answers[1] != "told: hurry" {
			t.Errorf("the answers are %q", answers)
		}
	})
}
