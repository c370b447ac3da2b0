package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// betweenQuickOnes is an agent that calls a tool that returns at once, one that behaves in some way, and the first one again.
func betweenQuickOnes(odd braid.Part, parts ...braid.Part) *braid.Agent {
	m := answers(asksFor("add", `{"a":1,"b":2}`), asksFor("odd", `{}`), asksFor("add", `{"a":3,"b":4}`), says("done"))
	return braid.New("a", m, append(parts, braid.Func("add", "Adds.", add), odd)...)
}

// results are the texts of the tools' results in a conversation.
func results(t *testing.T, conv *braid.Conversation) (list []string) {
	t.Helper()
	for e, err := range conv.Events(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if end, ok := e.Body.(*event.StepEnded); ok && end.Result != nil {
			list = append(list, event.TextOf(end.Result.Content))
		}
	}
	return list
}

// A tool that runs alone drives the run on when it returns. However it ends, the next step finds the run as it should be.
func TestAToolAloneEndsInAnyWay(t *testing.T) {
	t.Parallel()
	type none struct{}
	for name, c := range map[string]struct {
		tool func(context.Context, none) (string, error)
		opts []tool.Option
		want string
		took time.Duration
	}{
		"returns":            {tool: func(context.Context, none) (string, error) { return "fine", nil }, want: "fine"},
		"panics":             {tool: func(context.Context, none) (string, error) { panic("oops") }, want: "panicked"},
		"ends its goroutine": {tool: func(context.Context, none) (string, error) { runtime.Goexit(); return "", nil }, want: "ended the goroutine"},
		"is slow":            {tool: func(context.Context, none) (string, error) { time.Sleep(time.Hour / 10); return "late", nil }, want: "late", took: time.Hour / 10},
		"is a little slow": {
			tool: func(context.Context, none) (string, error) { time.Sleep(time.Millisecond); return "late", nil }, want: "late", took: time.Millisecond,
		},
		"is slow and panics": {tool: func(context.Context, none) (string, error) { time.Sleep(time.Second); panic("oops") }, want: "panicked", took: time.Second},
		"is slow and ends its goroutine": {
			tool: func(context.Context, none) (string, error) { time.Sleep(time.Second); runtime.Goexit(); return "", nil },
			want: "ended the goroutine", took: time.Second,
		},
		"has news": {
			tool: func(ctx context.Context, _ none) (string, error) { tool.Progress(ctx, "half"); return "whole", nil }, want: "whole",
		},
		"has news and ends its goroutine": {
			tool: func(ctx context.Context, _ none) (string, error) {
				tool.Progress(ctx, "half")
				runtime.Goexit()
				return "", nil
			},
			want: "ended the goroutine",
		},
		"minds its time-out": {
			tool: func(ctx context.Context, _ none) (string, error) { <-ctx.Done(); return "", ctx.Err() },
			opts: []tool.Option{tool.Timeout(time.Second)}, want: "did not finish within 1s", took: time.Second,
		},
		"ignores its time-out": {
			tool: func(context.Context, none) (string, error) { time.Sleep(time.Minute); return "too late", nil },
			opts: []tool.Option{tool.Timeout(time.Second)}, want: "left behind", took: 3 * time.Second,
		},
		"ignores the limit of tools": {
			tool: func(context.Context, none) (string, error) { time.Sleep(time.Hour); return "too late", nil }, want: "left behind", took: 10 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conv := braid.NewConversation()
				begun, news := time.Now(), 0
				for e, err := range betweenQuickOnes(braid.Func("odd", "Odd.", c.tool, c.opts...)).Stream(t.Context(), "go", braid.In(conv)) {
					if err != nil {
						t.Fatal(err)
					}
					if _, ok := progress(e); ok {
						news++
					}
				}
				took, list := time.Since(begun), results(t, conv)
				if len(list) != 3 || list[0] != "3" || !strings.Contains(list[1], c.want) || list[2] != "7" || took != c.took {
					t.Errorf("after %v: %q", took, list)
				}
				if strings.HasPrefix(name, "has news") != (news == 1) {
					t.Errorf("news came %d times", news)
				}
				time.Sleep(2 * time.Hour) // stragglers end
			})
		})
	}
}

// A run that is cancelled while a tool runs alone ends on time although the tool does not, also in its first moments,
// before anybody has seen that it takes long.
func TestCancellingDoesNotWaitForAToolAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ after, took time.Duration }{
		"at once": {0, 2 * time.Second}, "before the driver looks": {time.Microsecond, 2*time.Second + time.Microsecond},
		"later": {time.Minute, time.Minute + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				conv := braid.NewConversation()
				deaf := braid.Func("odd", "Ignores its context.", func(context.Context, struct{}) (string, error) {
					if c.after == 0 {
						cancel()
					} else {
						time.AfterFunc(c.after, cancel)
					}
					time.Sleep(time.Hour)
					return "too late", nil
				})
				begun := time.Now()
				r, err := betweenQuickOnes(deaf).Run(ctx, "go", braid.In(conv))
				if took := time.Since(begun); !errors.Is(err, event.ErrCancelled) || took != c.took || r.Metrics.Stragglers != 1 {
					t.Errorf("%v after %v, %+v", err, took, r)
				}
				if list := results(t, conv); len(list) != 2 || list[0] != "3" || strings.Contains(list[1], "too late") {
					t.Errorf("%q", list)
				}
				time.Sleep(2 * time.Hour)
				r, err = braid.New("a", answers(says("hello"))).Run(t.Context(), "again", braid.In(conv))
				if err != nil || r.Text() != "hello" {
					t.Errorf("the next turn: %+v, %v", r, err)
				}
			})
		})
	}
}

// Mail for a run is read while a tool runs alone: somebody else may cancel it.
func TestMailReachesARunWhoseToolRunsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemory(journal.MemoryOptions{Term: 3 * time.Second}) // renewed each second
		slow := braid.Func("odd", "Is slow.", func(ctx context.Context, _ struct{}) (string, error) {
			if err := braid.Open(store, "c").Cancel(context.Background()); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return "", ctx.Err()
		})
		begun := time.Now()
		_, err := betweenQuickOnes(slow).Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
		if took := time.Since(begun); !errors.Is(err, event.ErrCancelled) || took > time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// A tool that asks while it runs alone parks the run, and runs again with the answer.
func TestAToolAloneAsks(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			conv := braid.NewConversation()
			agent := betweenQuickOnes(braid.Func("odd", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
				time.Sleep(wait)
				return braid.Ask[string](ctx, "Which one?")
			}))
			r, err := agent.Run(t.Context(), "go", braid.In(conv))
			if err != nil || len(r.Questions) != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			r, err = agent.Resume(t.Context(), conv, braid.Answers(braid.Answer{Token: r.Questions[0].Token, Value: "this"}))
			if list := results(t, conv); err != nil || r.Text() != "done" || !slices.Equal(list, []string{"3", "this", "7"}) {
				t.Errorf("%+v, %v, %q", r, err, list)
			}
		})
	}
}

// A body of a stream leaves the loop in any way also after a tool, when it no longer runs on the loop's own goroutine.
func TestBodiesLeaveAStreamAfterATool(t *testing.T) {
	t.Parallel()
	agent := betweenQuickOnes(braid.Func("odd", "Is quick.", func(context.Context, struct{}) (string, error) { return "fine", nil }))
	at := func(body func()) {
		n := 0
		for e := range agent.Stream(t.Context(), "go") { //nolint:errcheck // none is looked at
			if b, ok := e.Body.(*event.StepEnded); ok && b.Result != nil {
				if n++; n == 2 {
					body()
				}
			}
		}
	}
	oops := errors.New("oops")
	func() {
		defer func() {
			if v := recover(); v != oops {
				t.Errorf("the panic is %v", v)
			}
		}()
		at(func() { panic(oops) })
	}()
	done, went := make(chan struct{}), false
	go func() {
		defer close(done)
		at(runtime.Goexit)
		went = true
	}()
	if <-done; went {
		t.Error("the loop went on where its body ended the goroutine")
	}
	conv := braid.NewConversation()
	for e := range agent.Stream(t.Context(), "go", braid.In(conv)) { //nolint:errcheck // none is looked at
		if b, ok := e.Body.(*event.StepEnded); ok && b.Result != nil {
			break
		}
	}
	if list := results(t, conv); len(list) != 1 {
		t.Errorf("after a break: %q", list)
	}
	next, stop := iter.Pull2(agent.Stream(t.Context(), "go"))
	defer stop()
	n := 0
	for _, err, ok := next(); ok; _, err, ok = next() {
		if n++; err != nil {
			t.Error(err)
		}
	}
	if n < 20 {
		t.Errorf("%d events were pulled", n)
	}
}

// A model that ends its goroutine, or ignores its context, does to a run that a tool has driven on what it does to any.
func TestAModelAfterAToolAlone(t *testing.T) {
	t.Parallel()
	after := func(second iter.Seq2[model.Chunk, error]) *braid.Agent {
		return braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if req.Cycle == 1 {
				return chunks(asksFor("add", `{"a":1,"b":2}`))
			}
			return second
		}}, braid.Func("add", "Adds.", add))
	}
	_, err := after(func(func(model.Chunk, error) bool) { runtime.Goexit() }).Run(t.Context(), "go")
	if err == nil || !strings.Contains(err.Error(), "ended the goroutine") {
		t.Errorf("a model that ends its goroutine: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		r, err := after(func(yield func(model.Chunk, error) bool) {
			yield(model.Chunk{Kind: model.ChunkText, Text: "I am "}, nil)
			time.AfterFunc(time.Second, cancel)
			time.Sleep(time.Hour)
			yield(model.Chunk{Kind: model.ChunkText, Text: "still here"}, nil)
		}).Run(ctx, "go")
		if took := time.Since(begun); !errors.Is(err, event.ErrCancelled) || took != 3*time.Second || event.TextOf(r.Partial) != "I am " {
			t.Errorf("a model that ignores its context: %v after %v, %+v", err, took, r)
		}
		time.Sleep(2 * time.Hour)
	})
}

// Tools that take about as long as the driver waits for them, and runs that are cancelled at any time: whoever drives, each
// log has each step once and an end.
func TestWhoeverDrivesTheLogIsWhole(t *testing.T) {
	t.Parallel()
	list := make([][]model.Chunk, 0, 9)
	for range 8 {
		list = append(list, asksFor("nap", `{}`))
	}
	list = append(list, says("done"))
	nap := braid.Func("nap", "Sleeps.", func(ctx context.Context, _ struct{}) (string, error) {
		if rand.IntN(4) == 0 {
			tool.Progress(ctx, "zzz")
		}
		time.Sleep(rand.N(3 * time.Millisecond))
		return strconv.Itoa(rand.Int()), nil // the same again and again would count as a loop
	})
	for i := range 64 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%2 == 0 {
				time.AfterFunc(rand.N(15*time.Millisecond), cancel)
			}
			conv := braid.NewConversation()
			inside := 0
			for _, err := range braid.New("a", answers(list...), nap).Stream(ctx, "go", braid.In(conv)) {
				if inside++; inside != 1 || err != nil && !errors.Is(err, event.ErrCancelled) {
					t.Errorf("%d bodies at once, %v", inside, err)
				}
				inside--
			}
			open, ended := map[string]int{}, 0
			for e, err := range conv.Events(context.Background(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch e.Body.(type) {
				case *event.StepEnded, *event.AssistantMessage:
					if e.Attempt == 0 {
						continue // the end of a call that never began
					}
					if open[e.Step]--; open[e.Step] != 0 {
						t.Errorf("step %s has %d open attempts after one ended", e.Step, open[e.Step])
					}
				case *event.StepBegun:
					open[e.Step]++
				case *event.RunEnded:
					ended++
				}
			}
			for step, n := range open {
				if n != 0 {
					t.Errorf("step %s is open", step)
				}
			}
			if len(open) == 0 && i%2 == 0 && ended == 0 {
				return // it was cancelled before it began
			}
			if n := len(results(t, conv)); ended != 1 || i%2 == 1 && n != 8 {
				t.Errorf("%d ends, %d results", ended, n)
			}
		})
	}
}
