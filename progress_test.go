package braid_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// newsReader is the reader of a run whose tools report: it knows which news it is done with.
type newsReader struct {
	mu   sync.Mutex
	done map[string]bool
}

// report has a tool report a text, and fails if Progress returns before the reader is done with it and nothing excuses that.
func (r *newsReader) report(t *testing.T, ctx context.Context, text string) { //nolint:revive // the test comes first
	tool.Progress(ctx, text)
	r.mu.Lock()
	done := r.done[text]
	r.mu.Unlock()
	if done || ctx.Err() != nil {
		return
	}
	// Cancelling a run reaches its call first, and then the context that has the tool's own time.
	time.Sleep(time.Nanosecond)
	if ctx.Err() == nil {
		t.Errorf("Progress returned before the reader was done with %q", text)
	}
}

// read reads a run with a pause at each news, and returns its error.
func (r *newsReader) read(ctx context.Context, a *braid.Agent, pause func(text string)) (failure error) {
	r.done = map[string]bool{}
	for e, err := range a.Stream(ctx, "go") {
		if err != nil {
			failure = err
			continue
		}
		if text, ok := progress(e); ok {
			pause(text)
			r.mu.Lock()
			r.done[text] = true
			r.mu.Unlock()
		}
	}
	return failure
}

// A tool does not get ahead of the reader of its run, wherever it runs and on whichever goroutine it reports.
func TestProgressWaitsForTheReader(t *testing.T) {
	t.Parallel()
	thrice := func(t *testing.T, r *newsReader, ctx context.Context, name string) {
		for i := range 3 {
			r.report(t, ctx, fmt.Sprint(name, " ", i))
		}
	}
	for name, make := range map[string]func(*testing.T, *newsReader) *braid.Agent{
		"a tool alone": func(t *testing.T, r *newsReader) *braid.Agent {
			return betweenQuickOnes(braid.Func("odd", "", func(ctx context.Context, _ nothing) (string, error) {
				thrice(t, r, ctx, "odd")
				return "", nil
			}))
		},
		"tools in parallel": func(t *testing.T, r *newsReader) *braid.Agent {
			reports := func(ctx context.Context, _ nothing) (string, error) {
				thrice(t, r, ctx, tool.CallOf(ctx).ID)
				return "", nil
			}
			return braid.New("a", answers(asksFor("odd", "{}", "odd", "{}", "odd", "{}"), says("done")), braid.Func("odd", "", reports))
		},
		"several goroutines of a tool": func(t *testing.T, r *newsReader) *braid.Agent {
			return betweenQuickOnes(braid.Func("odd", "", func(ctx context.Context, _ nothing) (string, error) {
				var all sync.WaitGroup
				for i := range 20 {
					all.Go(func() { thrice(t, r, ctx, fmt.Sprint("goroutine ", i)) })
				}
				all.Wait()
				return "", nil
			}))
		},
		"a tool with a time-out, and a hook after it": func(t *testing.T, r *newsReader) *braid.Agent {
			reports := func(ctx context.Context, _ nothing) (string, error) {
				thrice(t, r, ctx, "odd")
				return "", nil
			}
			after := func(ctx context.Context, e *hook.AfterTool) error {
				if e.Call.Name == "odd" {
					thrice(t, r, ctx, "hook")
				}
				return nil
			}
			return betweenQuickOnes(braid.Func("odd", "", reports, tool.Timeout(time.Hour)), braid.On(after))
		},
		"a tool of an agent that is a tool": func(t *testing.T, r *newsReader) *braid.Agent {
			inner := betweenQuickOnes(braid.Func("odd", "", func(ctx context.Context, _ nothing) (string, error) {
				thrice(t, r, ctx, "odd")
				return "", nil
			}))
			return braid.New("outer", answers(asksFor("a", `{"input":"go"}`), says("done")), braid.AsTool(inner, ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &newsReader{}
				if err := r.read(t.Context(), make(t, r), func(string) { time.Sleep(time.Second) }); err != nil {
					t.Fatal(err)
				}
				if len(r.done) < 3 {
					t.Errorf("the reader got %d news", len(r.done))
				}
			})
		})
	}
}

// A tool waits for a reader that does not go on. It is freed when the run is cancelled, when its own time is over, and
// when its call has ended.
func TestNothingKeepsAToolThatReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts []tool.Option
		// leaves says that the tool returns while a goroutine of it still reports.
		leaves bool
		cancel time.Duration
		freed  time.Duration
	}{
		"a cancelled run":           {cancel: time.Minute, freed: time.Minute},
		"a tool's time-out":         {opts: []tool.Option{tool.Timeout(time.Minute)}, cancel: time.Hour, freed: time.Minute},
		"a call that has ended":     {leaves: true, cancel: 2 * time.Hour, freed: time.Hour},
		"a reader that goes on now": {cancel: 3 * time.Hour, freed: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(c.cancel, cancel).Stop()
				begun, freed := time.Now(), make(chan time.Duration, 1)
				reports := func(ctx context.Context, _ nothing) (string, error) {
					report := func() {
						tool.Progress(ctx, "one")
						freed <- time.Since(begun)
					}
					if !c.leaves {
						report()
						return "", nil
					}
					go report()
					synctest.Wait()
					go tool.Progress(ctx, "two")
					synctest.Wait()
					return "", nil
				}
				r := &newsReader{}
				err := r.read(ctx, betweenQuickOnes(braid.Func("odd", "", reports, c.opts...)), func(string) { time.Sleep(time.Hour) })
				if err != nil && !errors.Is(err, event.ErrCancelled) {
					t.Error(err)
				}
				if took := <-freed; took != c.freed {
					t.Errorf("the tool was freed after %v, want %v", took, c.freed)
				}
				time.Sleep(3 * time.Hour)
			})
		})
	}
}

// News that is under way when its call ends, and that comes too late for its reader, keeps its goroutine no longer.
func TestLateNewsDoesNotWaitForTheNextStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, freed := time.Now(), make(chan time.Duration, 1)
		leaves := func(ctx context.Context, _ nothing) (string, error) {
			go func() {
				tool.Progress(ctx, "news")
				freed <- time.Since(begun)
			}()
			synctest.Wait()
			return "left", nil
		}
		slow := func(_ context.Context, text string) (string, error) {
			if text == "news" {
				time.Sleep(time.Second)
			}
			return text, nil
		}
		m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if req.Cycle == 1 {
				return chunks(asksFor("odd", "{}"))
			}
			time.Sleep(time.Hour)
			return chunks(says("done"))
		}}
		if _, err := braid.New("a", m, braid.Func("odd", "", leaves), braid.Guard("slow", slow, braid.GuardResult)).Run(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if took := <-freed; took != time.Second {
			t.Errorf("the tool's goroutine was freed after %v", took)
		}
	})
}

// A goroutine that a tool has left behind may use the tool's context for ever, whatever hooks do meanwhile.
func TestAToolMayLeaveAGoroutineThatReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Bool
		leaves := func(ctx context.Context, _ nothing) (string, error) {
			go func() {
				for !over.Load() {
					tool.Progress(ctx, "late")
					_ = ctx.Err()
					time.Sleep(time.Millisecond)
				}
			}()
			time.Sleep(5 * time.Millisecond)
			return "left", nil
		}
		slow := func(ctx context.Context, _ *hook.AfterTool) error {
			tool.Progress(ctx, "after")
			time.Sleep(5 * time.Millisecond)
			return nil
		}
		res, err := betweenQuickOnes(braid.Func("odd", "", leaves), braid.On(slow)).Run(t.Context(), "go")
		if err != nil || res.Text() != "done" {
			t.Errorf("%q, %v", res.Text(), err)
		}
		over.Store(true)
		time.Sleep(time.Second)
	})
}

// Whatever tools report, in parallel or alone, from other goroutines or after they have returned, to a reader that is
// slow, leaves, panics or cancels: the run ends, and no tool stays behind in Progress.
func TestToolsThatReportNeverHang(t *testing.T) {
	t.Parallel()
	cases := uint64(400)
	if testing.Short() {
		cases = 50
	}
	for seed := range cases {
		synctest.Test(t, func(t *testing.T) { playReports(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// playReports runs three batches of tools that report.
func playReports(t *testing.T, seed uint64) {
	t.Helper()
	var reporting atomic.Int64
	r := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex // tools draw at once
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
	reader := &newsReader{}
	reports := func(ctx context.Context, _ nothing) (string, error) {
		var all sync.WaitGroup
		wait := draw(3) > 0
		c := tool.CallOf(ctx)
		for g := range 1 + draw(3) {
			all.Go(func() {
				for i := range draw(12) {
					reporting.Add(1)
					text := fmt.Sprint(c.Step, " ", c.Attempt, " ", g, " ", i)
					if wait {
						reader.report(t, ctx, text)
					} else {
						tool.Progress(ctx, text) // its call may end meanwhile
					}
					reporting.Add(-1)
					time.Sleep(time.Duration(draw(3)) * time.Millisecond)
				}
			})
		}
		if wait {
			all.Wait()
		}
		if draw(4) == 0 {
			panic("enough")
		}
		return "done", nil
	}
	var opts []tool.Option
	if draw(3) == 0 {
		opts = append(opts, tool.Timeout(time.Duration(1+draw(20))*time.Millisecond))
	}
	batch := func() (calls []string) {
		for range 1 + draw(4)*draw(2) {
			calls = append(calls, "odd", "{}")
		}
		return calls
	}
	parts := []braid.Part{braid.Func("odd", "", reports, opts...)}
	if draw(3) == 0 {
		parts = append(parts, braid.On(func(ctx context.Context, _ *hook.AfterTool) error { tool.Progress(ctx, "after"); return nil }))
	}
	if draw(3) == 0 {
		parts = append(parts, braid.Sequential())
	}
	a := braid.New("a", answers(asksFor(batch()...), asksFor(batch()...), asksFor(batch()...), says("done")), parts...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end, left := draw(6), draw(30)
	func() {
		defer func() { _ = recover() }()
		reader.done = map[string]bool{}
		for e, err := range a.Stream(ctx, "go") {
			if err != nil {
				break
			}
			text, ok := progress(e)
			if !ok {
				continue
			}
			if left--; left == 0 {
				switch end {
				case 0:
					return
				case 1:
					reader.mu.Lock()
					reader.done[text] = true
					reader.mu.Unlock()
					panic("the reader has enough")
				case 2:
					cancel()
				case 3:
					time.AfterFunc(3*time.Millisecond, cancel)
					time.Sleep(time.Second)
				}
			}
			time.Sleep(time.Duration(draw(3)) * time.Millisecond)
			reader.mu.Lock()
			reader.done[text] = true
			reader.mu.Unlock()
		}
	}()
	synctest.Wait()
	if n := reporting.Load(); n != 0 {
		t.Errorf("%d goroutines are in Progress after the run", n)
	}
	time.Sleep(time.Hour) // what tools have left behind ends
}
