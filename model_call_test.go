package braid_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// deafModel says something, ignores its context until it is released, and then gives its answer
// as if nothing had been.
type deafModel struct {
	*script

	release chan struct{}
	// late is what it heard when it went on; back is closed when it is done.
	late bool
	back chan struct{}
}

func newDeafModel() *deafModel {
	m := &deafModel{release: make(chan struct{}), back: make(chan struct{})}
	m.script = &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			defer close(m.back)
			if !yield(model.Chunk{Kind: model.ChunkText, Text: "I am "}, nil) {
				<-m.release // it does not even mind that nobody reads
				return
			}
			<-m.release
			for _, c := range says("still here") {
				if !yield(c, nil) {
					return
				}
				m.late = true
			}
		}
	}}
	return m
}

// A model that does not stop when the run is to is left behind on time, whoever stopped the run, and
// is named; what it says later changes nothing, and the conversation goes on.
func TestAModelThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	t.Parallel()
	type setting struct {
		ctx   context.Context
		conv  *braid.Conversation
		store journal.Store
	}
	type row struct {
		name string
		part braid.Part
		// stop makes the run one that is to stop after a second.
		stop func(t *testing.T, s *setting)
		kind event.ErrorKind
		end  event.StopReason
	}
	after := func(f func()) { time.AfterFunc(time.Second, f) }
	for _, c := range []row{
		{"its context", nil, func(_ *testing.T, s *setting) {
			ctx, cancel := context.WithCancel(s.ctx)
			s.ctx = ctx
			after(cancel)
		}, event.ErrCancelled, event.StopCancelled},
		{"a deadline", nil, func(t *testing.T, s *setting) {
			t.Helper()
			ctx, cancel := context.WithTimeout(s.ctx, time.Second)
			t.Cleanup(cancel)
			s.ctx = ctx
		}, event.ErrTimeout, event.StopTimeout},
		{"a limit of time", braid.Limit(braid.Limits{Active: time.Second}), func(*testing.T, *setting) {}, event.ErrTimeout, event.StopTimeout},
		{
			"a limit of the conversation's time", braid.Limit(braid.Limits{Conversation: braid.Budget{Active: time.Second}}),
			func(*testing.T, *setting) {}, event.ErrTimeout, event.StopTimeout,
		},
		{"the run's handle", nil, func(t *testing.T, s *setting) {
			t.Helper()
			after(func() {
				if err := s.conv.Cancel(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}, event.ErrCancelled, event.StopCancelled},
		{"another process", nil, func(t *testing.T, s *setting) {
			t.Helper()
			s.store = journal.NewMemory(journal.MemoryOptions{Term: 3 * time.Second}) // renewed each second
			s.conv = braid.Open(s.store, "c")
			elsewhere := braid.Open(s.store, "c")
			time.AfterFunc(time.Millisecond, func() {
				if err := elsewhere.Cancel(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}, event.ErrCancelled, event.StopCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &setting{ctx: context.Background(), conv: braid.NewConversation()}
				c.stop(t, s)
				model := newDeafModel()
				begun := time.Now()
				result, err := braid.New("a", model, c.part).Run(s.ctx, "go", braid.In(s.conv))
				if !errors.Is(err, c.kind) || result.Stop != c.end || result.Status != event.RunCancelled {
					t.Errorf("got %v, %s, %s", err, result.Stop, result.Status)
				}
				if took := time.Since(begun); took != 3*time.Second {
					t.Errorf("it took %v, want a second and the grace period of two", took)
				}
				if result.Metrics.Stragglers != 1 {
					t.Errorf("%d stragglers are counted", result.Metrics.Stragglers)
				}
				if text := event.TextOf(result.Partial); text != "I am " {
					t.Errorf("what it had said is %q", text)
				}
				before := modelStragglers(t, s.conv)
				close(model.release)
				<-model.back
				synctest.Wait()
				if model.late {
					t.Error("somebody listened to it afterwards")
				}
				if after := modelStragglers(t, s.conv); before != 1 || after != 1 {
					t.Errorf("%d stragglers are named in the log, %d later", before, after)
				}
				r, err := braid.New("a", answers(says("hello"))).Run(context.Background(), "again", braid.In(s.conv))
				if err != nil || r.Text() != "hello" {
					t.Errorf("the next turn gives %v, %v", r, err)
				}
			})
		})
	}
}

// modelStragglers counts the model calls of which the log says that they were left behind.
func modelStragglers(t *testing.T, conv *braid.Conversation) (n int) {
	t.Helper()
	for e, err := range conv.Events(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.StepEnded:
			if b.Step == event.StepModel && b.Outcome == event.OutcomeStraggler && strings.Contains(b.Err.Message, "left behind") &&
				b.UsageUnknown && b.Duration == 3*time.Second {
				n++
			}
		case *event.AssistantMessage:
			if strings.Contains(event.TextOf(b.Content), "still") {
				t.Error("the log has what a straggler said")
			}
		}
	}
	return n
}

// A process that ends does not wait for such a model either: the run is handed back as it is.
func TestARunIsHandedBackWhileAModelIgnoresItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemory(journal.MemoryOptions{})
		run, err := store.Admit(t.Context(), journal.Run{
			ID: "r", Conversation: "c", Agent: "a", Input: []event.Message{{Role: event.RoleUser, Content: text("go")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(&event.Error{Kind: event.ErrUnavailable, Message: "the process ends"}) })
		model := newDeafModel()
		begun := time.Now()
		r, err := braid.New("a", model).Drive(ctx, braid.Open(store, "c"), run.ID, braid.Work{})
		if took := time.Since(begun); err != nil || r.Status != event.RunRunning || took != 3*time.Second {
			t.Errorf("%+v, %v after %v", r, err, took)
		}
		r, err = braid.New("a", answers(says("hello"))).Drive(t.Context(), braid.Open(store, "c"), run.ID, braid.Work{})
		if err != nil || r.Text() != "hello" {
			t.Errorf("the next driver: %+v, %v", r, err)
		}
		close(model.release)
		<-model.back
	})
}

// A reader that leaves its loop has it ended on time, too.
func TestAReaderThatLeavesDoesNotWaitForADeafModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := newDeafModel()
		begun := time.Now()
		for e, err := range braid.New("a", model).Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Body.(*event.TextDelta); ok {
				break
			}
		}
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		close(model.release)
		<-model.back
	})
}

// Who has a piece of the answer is waited for: a body is never called while another one is.
func TestAReaderIsNeverOvertaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := newDeafModel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begun, inside := time.Now(), 0
		for e := range braid.New("a", model).Stream(ctx, "go") { //nolint:errcheck // the last one is the run's
			if inside++; inside > 1 {
				t.Error("two bodies at once")
			}
			if _, ok := e.Body.(*event.TextDelta); ok {
				cancel()
				time.Sleep(time.Minute)
			}
			inside--
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it took %v", took)
		}
		close(model.release)
		<-model.back
	})
}

// Wherever a piece of an answer is read: what a body does to its goroutine, it does to the loop's.
func TestBodiesOfAStreamLeaveAnyWay(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cancellable", "private"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if how == "private" {
				ctx = context.Background()
			}
			agent := braid.New("a", answers(says("hello")))
			pieces := func(body func()) {
				for e := range agent.Stream(ctx, "go") { //nolint:errcheck // none is looked at
					if _, ok := e.Body.(*event.TextDelta); ok {
						body()
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
				pieces(func() { panic(oops) })
			}()
			done, went := make(chan struct{}), false
			go func() {
				defer close(done)
				pieces(runtime.Goexit)
				went = true
			}()
			if <-done; went {
				t.Error("the loop went on where its body ended the goroutine")
			}
			var deferred []string
			func() {
				for e, err := range agent.Stream(ctx, "go") {
					if err != nil {
						t.Error(err)
					}
					if d, ok := e.Body.(*event.TextDelta); ok {
						defer func() { deferred = append(deferred, d.Text) }()
					}
				}
			}()
			if len(deferred) != 1 || deferred[0] != "hello" {
				t.Errorf("deferred in the body: %q", deferred)
			}
			next, stop := iter.Pull2(agent.Stream(ctx, "go"))
			defer stop()
			n := 0
			for _, err, ok := next(); ok; _, err, ok = next() {
				if n++; err != nil {
					t.Error(err)
				}
			}
			if n < 6 {
				t.Errorf("%d events were pulled", n)
			}
		})
	}
}

// A model that ends its goroutine has failed, and holds nobody up.
func TestAModelThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	m := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
		return func(func(model.Chunk, error) bool) { runtime.Goexit() }
	}}
	r, err := braid.New("a", m).Run(t.Context(), "go")
	if err == nil || !strings.Contains(err.Error(), "ended the goroutine") || r.Status != event.RunFailed {
		t.Errorf("%+v, %v", r, err)
	}
}

// What can be stopped costs a goroutine a run, however long its answers are.
func TestACancellableRunPaysOnce(t *testing.T) { //nolint:paralleltest // it counts allocations
	long := make([]model.Chunk, 0, 502)
	for range 500 {
		long = append(long, model.Chunk{Kind: model.ChunkText, Text: "word "})
	}
	long = append(long, model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn})
	agent := braid.New("a", answers(long))
	ctx := t.Context()
	run := func(ctx context.Context) float64 {
		return testing.AllocsPerRun(20, func() {
			for _, err := range agent.Stream(ctx, "go") {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	free, stoppable := run(context.Background()), run(ctx)
	t.Logf("%v allocations where nobody can stop it, %v otherwise", free, stoppable)
	if stoppable > free+12 {
		t.Errorf("%v allocations, and %v where nobody can stop it", stoppable, free)
	}
}

// promising is a model that says of itself that it ends with its context, and wrapped embeds
// it: it has the method, and has promised nothing.
type promising struct{ *script }

func (p *promising) Cancellable() braid.Model { return p }

type wrapped struct{ *promising }

func (w *wrapped) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return w.promising.Stream(ctx, req)
}

// goroutine names the one that runs.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "[")
	return name
}

// Only a model that has promised it for itself is called on the run's goroutine, and only where no
// hook and no guardrail could hold it up.
func TestWhereAModelIsCalled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model func(*script) braid.Model
		parts []braid.Part
		own   bool
	}{
		"a promise":           {model: func(s *script) braid.Model { return &promising{s} }, own: true},
		"none":                {model: func(s *script) braid.Model { return s }},
		"that of another one": {model: func(s *script) braid.Model { return &wrapped{&promising{s}} }},
		"a hook": {
			model: func(s *script) braid.Model { return &promising{s} },
			parts: []braid.Part{braid.On(func(context.Context, *hook.AfterModel) error { return nil })},
		},
		"a guardrail": {
			model: func(s *script) braid.Model { return &promising{s} },
			parts: []braid.Part{braid.Guard("words", func(_ context.Context, text string) (string, error) { return text, nil })},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := ""
			s := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
				at = goroutine()
				return func(yield func(model.Chunk, error) bool) {
					for _, c := range says("hello") {
						if !yield(c, nil) {
							return
						}
					}
				}
			}}
			m := c.model(s)
			if got := model.IsCancellable(m); got != (c.own || c.parts != nil) {
				t.Errorf("promised: %t", got)
			}
			_, err := braid.New("a", m, c.parts...).Run(t.Context(), "go")
			if err != nil || (at == goroutine()) != c.own {
				t.Errorf("called on %s, the run's is %s; %v", at, goroutine(), err)
			}
		})
	}
}

// Whoever stops a run whose model has promised to stop hears of its end at once.
func TestAPromisingModelIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemory(journal.MemoryOptions{})
		m := &promising{&script{next: func(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
			return func(yield func(model.Chunk, error) bool) {
				<-ctx.Done()
				yield(model.Chunk{}, ctx.Err())
			}
		}}}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		begin := time.Now()
		result, _ := braid.New("a", m).Run(ctx, "go", braid.In(braid.Open(store, "c")))
		if took := time.Since(begin); took != time.Second || result.Stop != event.StopTimeout || result.Metrics.Stragglers != 0 {
			t.Errorf("after %v: %+v", took, result)
		}
	})
}
