package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// A message that comes while the model gives its last answer is answered in the same run.
func TestAMessageDuringTheLastAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), &journal.Memory{}
		conv := braid.Open(store, "c")
		var agent *braid.Agent
		var seen []string
		agent = braid.New("desk", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			seen = append(seen, shown(req.Messages[len(req.Messages)-1]))
			if req.Cycle == 1 {
				for _, text := range []string{"one", "two", "three"} {
					sent, err := agent.Send(ctx, conv, text, braid.During(braid.Steer))
					if err != nil || !sent.Joined {
						t.Errorf("%+v: %v", sent, err)
					}
				}
			}
			return chunks(says(fmt.Sprint("answer ", req.Cycle)))
		}})
		result, err := agent.Run(ctx, "hello", braid.In(conv))
		if err != nil || result.Text() != "answer 2" || result.Why != event.WhyEndTurn {
			t.Fatalf("%v: %+v", err, result)
		}
		if got := strings.Join(seen, ", "); got != "hello, one|two|three" {
			t.Errorf("the model was shown %s", got)
		}
		why := ""
		for e, err := range conv.Events(ctx, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.StepBegun); ok {
				why += string(b.Why) + " "
			}
		}
		if why != "input message " {
			t.Errorf("the model was called because of %s", why)
		}
	})
}

// A run that ends without another model call leaves its messages to the next one.
func TestAMessageThatItsRunNeverRead(t *testing.T) {
	t.Parallel()
	stop := &event.Error{Kind: event.ErrInvalid, Message: "no"}
	for _, c := range []struct {
		name   string
		limits braid.Limits
		do     func(cancel context.CancelFunc) iter.Seq2[model.Chunk, error]
		err    error
	}{
		{name: "a limit", limits: braid.Limits{Cycles: 1}, do: func(context.CancelFunc) iter.Seq2[model.Chunk, error] { return chunks(says("a")) }},
		{name: "a failure", do: func(context.CancelFunc) iter.Seq2[model.Chunk, error] { return failing(stop) }, err: stop.Kind},
		{name: "a cancel", do: func(cancel context.CancelFunc) iter.Seq2[model.Chunk, error] {
			cancel()
			return failing(context.Canceled)
		}, err: event.ErrCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := &journal.Memory{}
			conv := braid.Open(store, "c")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var agent *braid.Agent
			var seen []string
			agent = braid.New("desk", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				seen = append(seen, shown(req.Messages[len(req.Messages)-1]))
				if len(seen) > 1 {
					return chunks(says("done"))
				}
				for _, text := range []string{"one", "two"} {
					if _, err := agent.Send(t.Context(), conv, text, braid.During(braid.Steer)); err != nil {
						t.Error(err)
					}
				}
				if _, err := agent.Send(t.Context(), conv, "behind", braid.During(braid.Queue)); err != nil {
					t.Error(err)
				}
				return c.do(cancel)
			}}, braid.Limit(c.limits))
			if _, err := agent.Run(ctx, "hello", braid.In(conv)); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			for {
				open, err := store.Queue(t.Context(), "c")
				if err != nil {
					t.Fatal(err)
				}
				if len(open) == 0 {
					break
				}
				if _, err := agent.Drive(t.Context(), braid.Open(store, "c"), open[0].ID, braid.Work{}); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(seen, ", "); !strings.HasSuffix(got, "one|two|behind") || strings.Count(got, "one") != 1 {
				t.Errorf("the model was shown %s", got)
			}
		})
	}
}

// Run with a policy waits for the run that answers, whoever drives it.
func TestRunDuringAnotherRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy braid.Policy
		first  error
		sleeps time.Duration
		text   string
	}{
		{braid.Queue, nil, 2 * time.Minute, "done"},
		{braid.Steer, nil, time.Minute, "done"},
		{braid.Interrupt, event.ErrCancelled, time.Minute, "done"},
	} {
		for _, handles := range []string{"one handle", "two handles"} {
			t.Run(string(c.policy)+" "+handles, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store, d := &journal.Memory{}, newDesk()
					one := braid.Open(store, "c")
					two := one
					if handles == "two handles" {
						two = braid.Open(store, "c")
					}
					var first sync.WaitGroup
					first.Go(func() {
						_, err := d.Run(t.Context(), "sleep", braid.In(one))
						if !errors.Is(err, c.first) {
							t.Errorf("the first run: %v", err)
						}
					})
					time.Sleep(time.Second)
					begun := time.Now()
					r, err := d.Run(t.Context(), "sleep again", braid.In(two), braid.During(c.policy))
					if err != nil || r.Text() != c.text || r.Status != event.RunCompleted {
						t.Errorf("%v: %+v", err, r)
					}
					if took := time.Since(begun); took > c.sleeps+15*time.Second {
						t.Errorf("it took %v", took)
					}
					first.Wait()
				})
			})
		}
	}
}

// An answer that comes while another tool runs is acted upon at once.
func TestAnAnswerDuringTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, conv := t.Context(), braid.NewConversation()
		answered := time.Duration(0)
		begun := time.Now()
		agent := braid.New("desk", answers(asksFor("ask", `{}`, "sleep", `{}`), says("done")),
			braid.Func("ask", "", func(ctx context.Context, _ struct{}) (bool, error) {
				ok, err := braid.Ask[bool](ctx, "May I?")
				if err == nil {
					answered = time.Since(begun)
				}
				return ok, err
			}),
			braid.Func("sleep", "", func(context.Context, struct{}) (string, error) {
				time.Sleep(5 * time.Minute)
				return "slept", nil
			}))
		var answerer sync.WaitGroup
		for e, err := range agent.Stream(ctx, "go", braid.In(conv)) {
			if err != nil {
				t.Fatal(err)
			}
			if q, ok := e.Body.(*event.Asked); ok {
				answerer.Go(func() {
					time.Sleep(time.Second)
					if err := conv.Answer(ctx, q.Token, true); err != nil {
						t.Error(err)
					}
				})
			}
		}
		answerer.Wait()
		if answered == 0 || answered > 2*time.Second {
			t.Errorf("the answer was used after %v", answered)
		}
	})
}

// A throttled model is waited for by who called Run; an engine's drive parks.
func TestALongWaitForTheModel(t *testing.T) {
	t.Parallel()
	for _, parks := range []bool{false, true} {
		t.Run(fmt.Sprint("parks ", parks), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, store := t.Context(), &journal.Memory{}
				m := &script{}
				m.next = func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
					if m.calls.Load() == 1 {
						return failing(&event.Error{Kind: event.ErrThrottled, Message: "slow down", RetryAfter: time.Hour})
					}
					return chunks(says("done"))
				}
				agent := braid.New("desk", m, braid.Retries(braid.Retry{Max: 2 * time.Hour}))
				begun := time.Now()
				if !parks {
					r, err := agent.Run(ctx, "hello", braid.In(braid.Open(store, "c")))
					if err != nil || r.Text() != "done" || time.Since(begun) < time.Hour {
						t.Fatalf("%v after %v: %+v", err, time.Since(begun), r)
					}
					return
				}
				sent, err := agent.Send(ctx, braid.Open(store, "c"), "hello")
				if err != nil {
					t.Fatal(err)
				}
				r, err := agent.Drive(ctx, braid.Open(store, "c"), sent.Run, braid.Work{})
				if err != nil || r.Status != event.RunWaiting || !r.WakeAt.Equal(begun.Add(time.Hour)) || time.Since(begun) > 0 {
					t.Fatalf("%v: %+v", err, r)
				}
				if due, err := store.Due(ctx, 0); err != nil || len(due) > 0 {
					t.Fatalf("due: %+v: %v", due, err)
				}
				time.Sleep(time.Hour)
				due, err := store.Due(ctx, 0)
				if err != nil || len(due) != 1 {
					t.Fatalf("due: %+v: %v", due, err)
				}
				r, err = agent.Drive(ctx, braid.Open(store, "c"), due[0].ID, braid.Work{})
				if err != nil || r.Status != event.RunCompleted || r.Text() != "done" || r.Metrics.ModelCalls != 2 {
					t.Fatalf("%v: %+v", err, r)
				}
			})
		})
	}
}

// handed drives a run whose tools sleep for a minute and takes it away after ten
// seconds, then drives it to its end. It tells how often each tool ran.
func handed(t *testing.T, take func(drain chan struct{}, cancel context.CancelCauseFunc)) (first *braid.Result, ran map[string]int32, log []*event.Event) {
	t.Helper()
	ctx, store := t.Context(), &journal.Memory{}
	var runs [2]atomic.Int32
	nap := func(i int) func(context.Context, struct{}) (string, error) {
		return func(ctx context.Context, _ struct{}) (string, error) {
			runs[i].Add(1)
			select {
			case <-time.After(time.Minute):
				return "slept", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
	agent := braid.New("desk", answers(asksFor("pure", `{}`, "unsafe", `{}`), says("done")),
		braid.Func("pure", "", nap(0), tool.Pure()), braid.Func("unsafe", "", nap(1)))
	sent, err := agent.Send(ctx, braid.Open(store, "c"), "go")
	if err != nil {
		t.Fatal(err)
	}
	driven, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	drain := make(chan struct{})
	time.AfterFunc(10*time.Second, func() { take(drain, cancel) })
	first, err = agent.Drive(driven, braid.Open(store, "c"), sent.Run, braid.Work{Draining: drain})
	if err != nil || first.Status != event.RunRunning {
		t.Fatalf("it was handed back as %+v: %v", first, err)
	}
	// It can be taken at once.
	last, err := agent.Drive(ctx, braid.Open(store, "c"), sent.Run, braid.Work{})
	if err != nil || last.Status != event.RunCompleted || last.Text() != "done" {
		t.Fatalf("%v: %+v", err, last)
	}
	if log, err = store.Read(ctx, "c", 0, 0); err != nil {
		t.Fatal(err)
	}
	return first, map[string]int32{"pure": runs[0].Load(), "unsafe": runs[1].Load()}, log
}

func TestARunIsHandedBack(t *testing.T) {
	t.Parallel()
	t.Run("when what was in flight is done", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, ran, log := handed(t, func(drain chan struct{}, _ context.CancelCauseFunc) { close(drain) })
			if ran["pure"] != 1 || ran["unsafe"] != 1 || time.Since(begun) != time.Minute {
				t.Errorf("the tools ran %v in %v", ran, time.Since(begun))
			}
			for _, e := range log {
				if b, ok := e.Body.(*event.StepEnded); ok && b.Outcome != event.OutcomeDone {
					t.Errorf("a step ended %s", b.Outcome)
				}
			}
		})
	})
	t.Run("with what is in flight, as after a crash", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, ran, log := handed(t, func(_ chan struct{}, cancel context.CancelCauseFunc) {
				cancel(&event.Error{Kind: event.ErrUnavailable, Message: "the process ends"})
			})
			if ran["pure"] != 2 || ran["unsafe"] != 1 {
				t.Errorf("the tools ran %v", ran)
			}
			outcomes := map[string]event.Outcome{}
			for _, e := range log {
				if b, ok := e.Body.(*event.StepEnded); ok {
					outcomes[b.Result.Name] = b.Outcome
				}
			}
			if outcomes["pure"] != event.OutcomeDone || outcomes["unsafe"] != event.OutcomeInDoubt {
				t.Errorf("the tools ended %v", outcomes)
			}
		})
	})
}

// The limit of active time holds over several drives, and waiting does not count.
func TestActiveTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), &journal.Memory{}
		agent := braid.New("desk", answers(asksFor("ask", `{}`), asksFor("nap", `{}`), says("done")),
			braid.Func("ask", "", func(ctx context.Context, _ struct{}) (bool, error) {
				time.Sleep(20 * time.Second)
				return braid.Ask[bool](ctx, "May I?")
			}),
			braid.Func("nap", "", func(ctx context.Context, _ struct{}) (string, error) {
				select {
				case <-time.After(time.Hour):
					return "slept", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}), braid.Limit(braid.Limits{Active: time.Minute}))
		conv := braid.Open(store, "c")
		r, err := agent.Run(ctx, "go", braid.In(conv))
		if err != nil || r.Stop != event.StopQuestion {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if err := conv.Answer(ctx, r.Questions[0].Token, true); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		r, err = agent.Resume(ctx, braid.Open(store, "c"))
		if took := time.Since(begun); !errors.Is(err, event.ErrTimeout) || r.Stop != event.StopTimeout || took != 40*time.Second {
			t.Errorf("%v after %v: %+v", err, took, r)
		}
	})
}

// A tool that cannot find out what became of its earlier attempt is in doubt.
func TestNobodyKnowsWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), &journal.Memory{}
		agent := braid.New("desk", answers(asksFor("pay", `{}`), says("done")),
			braid.Func("pay", "", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}, tool.Reconcile(func(context.Context, json.RawMessage) (tool.Output, bool, error) {
				return tool.Output{}, false, errors.New("the bank does not answer")
			})))
		sent, err := agent.Send(ctx, braid.Open(store, "c"), "go")
		if err != nil {
			t.Fatal(err)
		}
		driven, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(&event.Error{Kind: event.ErrUnavailable}) })
		if _, err := agent.Drive(driven, braid.Open(store, "c"), sent.Run, braid.Work{}); err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Drive(ctx, braid.Open(store, "c"), sent.Run, braid.Work{}); err != nil {
			t.Fatal(err)
		}
		log, err := store.Read(ctx, "c", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range log {
			if b, ok := e.Body.(*event.StepEnded); ok && b.Step == event.StepTool {
				if text := event.TextOf(b.Result.Content); b.Outcome != event.OutcomeInDoubt || !strings.Contains(text, "the bank does not answer") {
					t.Errorf("it ended %s: %s", b.Outcome, text)
				}
				return
			}
		}
		t.Error("the call has no end")
	})
}

// A run that waits is in nobody's hands: who interrupts it writes its end.
func TestInterruptingARunThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, d := &journal.Memory{}, newDesk()
		conv := braid.Open(store, "c")
		if r, err := d.Run(t.Context(), "ask", braid.In(conv)); err != nil || r.Stop != event.StopQuestion {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := d.Run(ctx, "never mind", braid.In(conv), braid.During(braid.Interrupt))
		if err != nil || r.Text() != "done" {
			t.Fatalf("%v: %+v", err, r)
		}
		if q, err := conv.Questions(ctx); err != nil || len(q) > 0 {
			t.Errorf("open are %+v: %v", q, err)
		}
	})
}

// An agent inside a cancelled run is not asked any more: what its tools may have done
// is told to whoever comes next.
func TestADoubtInsideACancelledRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), &journal.Memory{}
		helper := braid.New("helper", answers(asksFor("pay", `{}`), says("paid")),
			braid.Func("pay", "", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}))
		var seen string
		m := &script{}
		m.next = func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			if m.calls.Load() == 1 {
				return chunks(asksFor("helper", `{"input":"pay"}`))
			}
			seen = brief(req.Messages)
			return chunks(says("done"))
		}
		agent := braid.New("desk", m, braid.AsTool(helper, "pays"))
		sent, err := agent.Send(ctx, braid.Open(store, "c"), "go")
		if err != nil {
			t.Fatal(err)
		}
		driven, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(&event.Error{Kind: event.ErrUnavailable}) })
		if _, err := agent.Drive(driven, braid.Open(store, "c"), sent.Run, braid.Work{}); err != nil {
			t.Fatal(err)
		}
		if err := braid.Open(store, "c").Cancel(ctx); err != nil {
			t.Fatal(err)
		}
		if r, err := agent.Drive(ctx, braid.Open(store, "c"), sent.Run, braid.Work{}); err != nil || r.Status != event.RunCancelled {
			t.Fatalf("%v: %+v", err, r)
		}
		if _, err := agent.Run(ctx, "and now?", braid.In(braid.Open(store, "c"))); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(seen, "pay (call c0): in doubt") {
			t.Errorf("the next run's model sees %s", seen)
		}
	})
}
