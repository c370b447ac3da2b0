package models

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// called is a model whose calls are made by a function.
type called struct {
	name string
	call func(ctx context.Context, req *model.Request, yield func(model.Chunk, error) bool)
}

func (m *called) Info() model.Info { return model.Info{Name: m.name} }

func (m *called) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { m.call(ctx, req, yield) }
}

// answers is a model that takes a time and tells a usage.
func answers(name string, takes time.Duration, usage *event.Usage) *called {
	return &called{name, func(ctx context.Context, _ *model.Request, yield func(model.Chunk, error) bool) {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			yield(model.Chunk{}, &event.Error{Kind: event.ErrCancelled, Err: ctx.Err()})
			return
		}
		if usage != nil && !yield(model.Chunk{Kind: model.ChunkUsage, Usage: usage}, nil) {
			return
		}
		yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}}
}

func limiter(t *testing.T, limits Limits) *Limiter {
	t.Helper()
	l, err := NewLimiter(limits)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ask calls a model to its end and gives its error.
func ask(ctx context.Context, m model.Model, req *model.Request) error {
	if req == nil {
		req = &model.Request{}
	}
	for _, err := range m.Stream(ctx, req) {
		if err != nil {
			return err
		}
	}
	return nil
}

// says is a request of about so many tokens.
func says(tokens int) *model.Request {
	return &model.Request{Instructions: string(make([]byte, 4*(tokens-1)))}
}

func TestRequestsAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		l := limiter(t, Limits{Requests: 3})
		// Two models of one key share it.
		models := []model.Model{l.Wrap(answers("a:x", 0, nil)), l.Wrap(answers("a:y", 0, nil))}
		for i, want := range []int{0, 0, 0, 20, 40, 60} {
			if err := ask(t.Context(), models[i%2], nil); err != nil {
				t.Fatal(err)
			}
			if got := int(time.Since(start).Round(time.Second).Seconds()); got != want {
				t.Errorf("call %d went after %ds, want %ds", i, got, want)
			}
		}
		time.Sleep(10 * time.Minute) // no more than a minute's worth is kept
		start = time.Now()
		for range 4 {
			if err := ask(t.Context(), models[0], nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(start).Round(time.Second); got != 20*time.Second {
			t.Errorf("the fourth call after a rest went after %v", got)
		}
	})
}

func TestTokensAreEstimatedAndPutRight(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, model string
		usage       *event.Usage
		err         *event.Error
		// next is when a call of 1,000 tokens goes after one of 1,000, of 1,000 a minute.
		next time.Duration
	}{
		{name: "no usage is told", model: "openai:x", next: time.Minute},
		{name: "as estimated", model: "openai:x", usage: &event.Usage{Input: 900, Output: 100}, next: time.Minute},
		{name: "less", model: "openai:x", usage: &event.Usage{Input: 100}, next: 6 * time.Second},
		{name: "more", model: "openai:x", usage: &event.Usage{Input: 1000, Output: 1000}, next: 2 * time.Minute},
		{name: "a cache", model: "openai:x", usage: &event.Usage{CacheRead: 1000}, next: time.Minute},
		{name: "a cache of Anthropic", model: "anthropic:x", usage: &event.Usage{CacheRead: 1000, CacheWrite: 500}, next: 30 * time.Second},
		{name: "a cache on Bedrock", model: "bedrock:x", usage: &event.Usage{CacheRead: 1000}, next: 0},
		{name: "refused", model: "openai:x", err: &event.Error{Kind: event.ErrInvalid}, next: 0},
		{name: "a usage that cannot be", model: "openai:x", usage: &event.Usage{Input: -5000, Output: 1000}, next: time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limiter(t, Limits{Tokens: 1000})
				first := answers(tc.model, 0, tc.usage)
				if tc.err != nil {
					first.call = func(_ context.Context, _ *model.Request, yield func(model.Chunk, error) bool) {
						yield(model.Chunk{}, tc.err)
					}
				}
				_ = ask(t.Context(), l.Wrap(first), says(1000))
				start := time.Now()
				if err := ask(t.Context(), l.Wrap(answers("openai:y", 0, nil)), says(1000)); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start).Round(time.Second); got != tc.next {
					t.Errorf("the next call went after %v, want %v", got, tc.next)
				}
			})
		})
	}
}

// A request that is larger than a minute's worth goes when nothing is owed, and
// holds the next ones back for all that it took.
func TestARequestLargerThanTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := limiter(t, Limits{Tokens: 100})
		for _, want := range []time.Duration{0, 3 * time.Minute} {
			if err := ask(t.Context(), m.Wrap(answers("a:x", 0, nil)), says(300)); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(start).Round(time.Second); got != want {
				t.Errorf("went after %v, want %v", got, want)
			}
		}
	})
}

// A small call does not overtake a large one that came before it.
func TestNobodyOvertakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, Limits{Tokens: 100})
		_ = ask(t.Context(), l.Wrap(answers("a:x", 0, nil)), says(90))
		start := time.Now()
		var wg sync.WaitGroup
		for _, tokens := range []int{100, 1} {
			wg.Go(func() {
				_ = ask(t.Context(), l.Wrap(answers("a:x", 0, nil)), says(tokens))
				if got := time.Since(start).Round(time.Second); got < 54*time.Second {
					t.Errorf("%d tokens went after %v", tokens, got)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
	})
}

// What is given back is not kept beyond a minute's worth.
func TestWhatIsGivenBackIsNotKeptForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, Limits{Tokens: 100})
		_ = ask(t.Context(), l.Wrap(answers("a:x", time.Minute, &event.Usage{Input: 1})), says(100))
		start := time.Now()
		for range 2 {
			_ = ask(t.Context(), l.Wrap(answers("a:x", 0, nil)), says(100))
		}
		if got := time.Since(start).Round(time.Second); got != time.Minute {
			t.Errorf("two minutes' worth went in %v", got)
		}
	})
}

// What one call gives back lets the next one go at once.
func TestTokensGivenBackWakeTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		l := limiter(t, Limits{Tokens: 100})
		var wg sync.WaitGroup
		wg.Go(func() { _ = ask(t.Context(), l.Wrap(answers("a:x", time.Second, &event.Usage{Input: 1})), says(100)) })
		synctest.Wait()
		if err := ask(t.Context(), l.Wrap(answers("a:x", 0, nil)), says(99)); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start).Round(time.Second); got != time.Second {
			t.Errorf("went after %v", got)
		}
		wg.Wait()
	})
}

func TestAtOnceAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, Limits{Concurrency: 2})
		var mu sync.Mutex
		var order []int
		running, most := 0, 0
		var wg sync.WaitGroup
		for i := range 8 {
			m := l.Wrap(&called{"a:x", func(_ context.Context, _ *model.Request, yield func(model.Chunk, error) bool) {
				mu.Lock()
				order = append(order, i)
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Duration(i+1) * time.Second)
				mu.Lock()
				running--
				mu.Unlock()
				yield(model.Chunk{Kind: model.ChunkStop}, nil)
			}})
			wg.Go(func() { _ = ask(t.Context(), m, nil) })
			synctest.Wait() // each stands in the line before the next one comes
		}
		wg.Wait()
		if most != 2 || !slices.IsSorted(order) || len(order) != 8 {
			t.Errorf("%d at once, in the order %v", most, order)
		}
	})
}

// A call leaves the line at once when it is cancelled, and holds nobody up.
func TestCancelledInTheLine(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]Limits{
		"at the door for requests": {Requests: 1}, "at the door for tokens": {Tokens: 10}, "at the door for a slot": {Concurrency: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limiter(t, limits)
				slow := l.Wrap(answers("a:x", time.Minute, nil))
				var wg sync.WaitGroup
				wg.Go(func() { _ = ask(t.Context(), slow, says(10)) })
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				start := time.Now()
				for range 3 { // one at the door, two behind it
					wg.Go(func() {
						err := ask(ctx, slow, says(10))
						if !errors.Is(err, event.ErrCancelled) || time.Since(start) != time.Second {
							t.Errorf("%v after %v", err, time.Since(start))
						}
					})
					synctest.Wait()
				}
				wg.Go(func() { _ = ask(t.Context(), slow, says(10)) }) // behind all of them
				time.Sleep(time.Second)
				cancel()
				wg.Wait()
				if got := time.Since(start); got < 2*time.Minute || got > 2*time.Minute+time.Second {
					t.Errorf("the last one ended after %v", got)
				}
				deadline, stop := context.WithTimeout(t.Context(), 0)
				defer stop()
				if err := ask(deadline, slow, nil); !errors.Is(err, event.ErrTimeout) {
					t.Errorf("a time that is over: %v", err)
				}
			})
		})
	}
}

// A slot is free again however a call ends.
func TestNoEndHoldsASlot(t *testing.T) {
	t.Parallel()
	end := func(call func(context.Context, *model.Request, func(model.Chunk, error) bool)) *called {
		return &called{"a:x", call}
	}
	for name, m := range map[string]*called{
		"an error": end(func(_ context.Context, _ *model.Request, yield func(model.Chunk, error) bool) {
			yield(model.Chunk{}, errors.New("odd"))
		}),
		"an error in the middle": end(func(_ context.Context, _ *model.Request, yield func(model.Chunk, error) bool) {
			_ = yield(model.Chunk{Kind: model.ChunkText}, nil) && yield(model.Chunk{}, &event.Error{Kind: event.ErrStreamCut})
		}),
		"nothing": end(func(context.Context, *model.Request, func(model.Chunk, error) bool) {}),
		"a panic": end(func(context.Context, *model.Request, func(model.Chunk, error) bool) { panic("odd") }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limiter(t, Limits{Concurrency: 1})
				for range 3 {
					func() {
						defer func() { _ = recover() }()
						_ = ask(t.Context(), l.Wrap(m), nil)
					}()
				}
				for _, err := range l.Wrap(answers("a:x", 0, &event.Usage{})).Stream(t.Context(), &model.Request{}) {
					if err != nil {
						t.Error(err)
					}
					break // the reader leaves
				}
				if err := ask(t.Context(), l.Wrap(answers("a:x", 0, nil)), nil); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// Who is asked to wait holds the others back; who is asked to wait for long is told.
func TestRetryAfterIsForAll(t *testing.T) {
	t.Parallel()
	refuses := func(kind event.ErrorKind, after time.Duration) *called {
		return &called{"a:x", func(_ context.Context, _ *model.Request, yield func(model.Chunk, error) bool) {
			yield(model.Chunk{}, &event.Error{Kind: kind, RetryAfter: after})
		}}
	}
	for _, tc := range []struct {
		kind   event.ErrorKind
		after  time.Duration
		waits  time.Duration
		failed time.Duration
	}{
		{event.ErrThrottled, 20 * time.Second, 20 * time.Second, 0},
		{event.ErrOverloaded, 5 * time.Second, 5 * time.Second, 0},
		{event.ErrThrottled, 0, 0, 0},
		{event.ErrUnavailable, 20 * time.Second, 0, 0},
		{event.ErrThrottled, time.Hour, 0, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, Limits{Concurrency: 4})
			start := time.Now()
			_ = ask(t.Context(), l.Wrap(refuses(tc.kind, tc.after)), nil)
			l.refused(&event.Error{Kind: tc.kind, RetryAfter: tc.after / 2}) // does not shorten it
			err := ask(t.Context(), l.Wrap(answers("a:y", 0, nil)), nil)
			var e *event.Error
			if tc.failed > 0 && (!errors.As(err, &e) || e.Kind != event.ErrThrottled || e.RetryAfter != tc.failed || e.Hint == "") || tc.failed == 0 && err != nil {
				t.Errorf("%s, %v: %v", tc.kind, tc.after, err)
			}
			if got := time.Since(start).Round(time.Second); got != tc.waits {
				t.Errorf("%s, %v: went after %v", tc.kind, tc.after, got)
			}
			time.Sleep(tc.after)
			if err := ask(t.Context(), l.Wrap(answers("a:y", 0, nil)), nil); err != nil {
				t.Errorf("when that time is over: %v", err)
			}
		})
	}
}

// A Retry-After reaches who waits already.
func TestRetryAfterReachesTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, Limits{Requests: 60})
		for range 60 {
			_ = ask(t.Context(), l.Wrap(answers("a:x", 0, nil)), nil)
		}
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { _ = ask(t.Context(), l.Wrap(answers("a:x", 0, nil)), nil) }) // a second from now
		synctest.Wait()
		l.refused(&event.Error{Kind: event.ErrThrottled, RetryAfter: 10 * time.Second})
		wg.Wait()
		if got := time.Since(start).Round(time.Second); got != 10*time.Second {
			t.Errorf("went after %v", got)
		}
	})
}

func TestLimitsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, limits := range []Limits{{Requests: -1}, {Tokens: -1}, {Concurrency: -1}} {
		if l, err := NewLimiter(limits); l != nil || !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	l := limiter(t, Limits{})
	m := l.Wrap(answers("a:x", 0, nil))
	for range 1000 {
		if err := ask(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
	}
	if w, ok := m.(interface{ Unwrap() model.Model }); !ok || w.Unwrap().Info().Name != "a:x" || m.Info().Name != "a:x" {
		t.Error("the model inside is not found")
	}
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	req := &model.Request{
		Instructions: "12345678",
		Tools:        []model.ToolSpec{{Name: "1234", Description: "1234", Schema: []byte("12345678")}},
		Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{
			&event.Text{Text: "1234"}, &event.Image{Data: make([]byte, 1<<20)}, &event.Thinking{Text: "1234", Signature: "1234"},
			&event.ToolCall{Name: "1234", Args: []byte("1234")},
			&event.ToolResult{Content: []event.Block{&event.Text{Text: "1234"}, &event.Document{Data: []byte("x")}}},
		}}},
	}
	if n := estimate(req); n != 2+4+6+2*tokensOfMedia+1 {
		t.Errorf("%d", n)
	}
}

// Whatever comes, whenever, and whoever is cancelled: never more at once than
// allowed, in no minute more than two minutes' worth of requests, everybody ends,
// and those who wait go in the order in which they came.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limits := Limits{
			Requests: rapid.IntRange(0, 20).Draw(rt, "requests"), Tokens: rapid.Int64Range(0, 2000).Draw(rt, "tokens"),
			Concurrency: rapid.IntRange(0, 3).Draw(rt, "concurrency"),
		}
		type caller struct {
			at, takes, gives time.Duration // gives: gives up; 0 never
			tokens           int
			fails            bool
		}
		callers := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) caller {
			second := func(most int, name string) time.Duration {
				return time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * 100 * time.Millisecond
			}
			return caller{
				at: second(50, "at"), takes: second(40, "takes"), gives: second(300, "gives"),
				tokens: rapid.IntRange(1, 500).Draw(rt, "size"), fails: rapid.Bool().Draw(rt, "fails"),
			}
		}), 1, 25).Draw(rt, "callers")
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, limits)
			var mu sync.Mutex
			var began []time.Time
			running, most, ends := 0, 0, 0
			var wg sync.WaitGroup
			for _, c := range callers {
				wg.Go(func() {
					time.Sleep(c.at)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if c.gives > 0 {
						time.AfterFunc(c.gives, cancel)
					}
					m := l.Wrap(&called{"openai:x", func(ctx context.Context, _ *model.Request, yield func(model.Chunk, error) bool) {
						mu.Lock()
						began = append(began, time.Now())
						running++
						most = max(most, running)
						mu.Unlock()
						select {
						case <-time.After(c.takes):
						case <-ctx.Done():
						}
						mu.Lock()
						running--
						mu.Unlock()
						if c.fails {
							yield(model.Chunk{}, &event.Error{Kind: event.ErrThrottled, RetryAfter: time.Second})
							return
						}
						_ = yield(model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: int64(c.tokens) * 2}}, nil) &&
							yield(model.Chunk{Kind: model.ChunkStop}, nil)
					}})
					_ = ask(ctx, m, says(c.tokens))
					mu.Lock()
					ends++
					mu.Unlock()
				})
			}
			wg.Wait()
			if limits.Concurrency > 0 && most > limits.Concurrency {
				rt.Fatalf("%d at once, of %d", most, limits.Concurrency)
			}
			if limits.Requests > 0 {
				for i := range began {
					n := 0
					for _, b := range began[i:] {
						if b.Sub(began[i]) < time.Minute {
							n++
						}
					}
					if n > 2*limits.Requests {
						rt.Fatalf("%d requests in a minute, of %d", n, limits.Requests)
					}
				}
			}
			if l.slots != nil && !l.slots.TryAcquire(int64(limits.Concurrency)) || !l.door.TryAcquire(1) || running != 0 || ends != len(callers) {
				rt.Fatalf("something is held: %d running, %d of %d ended", running, ends, len(callers))
			}
		})
	})
}
