package braid_test

import (
	"context"
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
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// deadly is a store whose process dies when it is told to: a driver that has taken a run is never heard of again.
type deadly struct {
	*journal.Memory
	dead bool
}

var errDead = &event.Error{Kind: event.ErrLeaseLost, Message: "the process died"}

func (s *deadly) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if s.dead {
		return errDead
	}
	return s.Memory.Commit(ctx, l, b)
}

func (s *deadly) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if s.dead {
		return journal.News{}, errDead
	}
	return s.Memory.Renew(ctx, l)
}

// A run that ends its process each time ends as failed after the third, and its tool is not run again.
func TestARunThatKillsItsProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// effect is the tool's, where it is the tool that kills; otherwise the model does.
		effect event.Effect
		model  bool
		// again reports that the model calls the tool again when the call is in doubt.
		again bool
		limit int
		// cancel asks for the end before the last drive.
		cancel bool
		// deaths is how often the process dies, status how the run ends.
		deaths int
		status event.RunStatus
		kind   event.ErrorKind
	}{
		{name: "a pure tool", effect: event.EffectPure, deaths: 3, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "an idempotent tool", effect: event.EffectIdempotent, deaths: 3, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "a model", model: true, deaths: 3, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "once is enough", effect: event.EffectPure, limit: 1, deaths: 1, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "cancelled", effect: event.EffectPure, cancel: true, deaths: 1, status: event.RunCancelled, kind: event.ErrCancelled},
		{name: "cancelled after the last", effect: event.EffectPure, cancel: true, deaths: 3, status: event.RunCancelled, kind: event.ErrCancelled},
		{name: "an unsafe tool that the model calls again", effect: event.EffectUnsafe, again: true, deaths: 3, status: event.RunFailed, kind: event.ErrPoisoned},
		{name: "an unsafe tool is in doubt, and not repeated", effect: event.EffectUnsafe, deaths: 1, status: event.RunCompleted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &deadly{Memory: journal.NewMemory(journal.MemoryOptions{})}
				called, deaths := 0, 0
				die := func() {
					called++
					if deaths < c.deaths {
						deaths++
						store.dead = true
					}
				}
				m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
					if c.model {
						die()
					}
					if len(lastResults(req)) > 0 && !c.again {
						return chunks(says("done"))
					}
					return chunks(asksFor("deadly", `{}`))
				}}
				tl := braid.Func("deadly", "", func(context.Context, struct{}) (string, error) {
					if !c.model {
						die()
					}
					return "lived", nil
				}, func(tr *tool.Traits) { tr.Effect = c.effect })
				agent := braid.New("a", m, tl, braid.Limit(braid.Limits{LostDrivers: c.limit}))
				if _, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
					t.Fatal(err)
				}
				var r *braid.Result
				var err error
				for drive := range 10 {
					if c.cancel && drive == c.deaths {
						if err := store.Post(t.Context(), journal.Mail{ID: "cancel-r", Run: "r", Kind: journal.MailCancel}); err != nil {
							t.Fatal(err)
						}
					}
					r, err = agent.Drive(t.Context(), braid.Open(store, "c"), "r", braid.Work{}) // another process
					if store.dead {
						store.dead = false
						time.Sleep(2 * journal.DefaultTerm)
						continue
					}
					break
				}
				if err != nil || r.Status != c.status {
					t.Fatalf("the run is %s: %v", r.Status, err)
				}
				if want := c.deaths; (c.again || c.effect != event.EffectUnsafe) && called != want {
					t.Errorf("what kills was called %d times, want %d", called, want)
				}
				log := logOfConversation(t, braid.Open(store, "c"))
				end, ok := log[len(log)-1].Body.(*event.RunEnded)
				if !ok || event.KindOf(errOf(end)) != c.kind {
					t.Errorf("the run ends with %+v", log[len(log)-1].Body)
				}
				if open := unendedSteps(log); len(open) > 0 {
					t.Errorf("steps without an end: %v", open)
				}
				if c.status != event.RunCompleted {
					// The conversation goes on.
					healthy := braid.New("a", answers(says("hello")))
					if r, err := healthy.Run(t.Context(), "again", braid.In(braid.Open(store, "c"))); err != nil || r.Text() != "hello" {
						t.Errorf("the next run: %v", err)
					}
				}
			})
		})
	}
}

func errOf(end *event.RunEnded) error {
	if end.Err == nil {
		return nil
	}
	return end.Err
}

// unendedSteps lists the attempts that have begun and not ended.
func unendedSteps(log []*event.Event) (open []string) {
	for _, e := range log {
		name := fmt.Sprint(e.Step, "#", e.Attempt)
		switch e.Body.(type) {
		case *event.StepBegun:
			open = slices.DeleteFunc(open, func(o string) bool { return strings.HasPrefix(o, e.Step+"#") })
			open = append(open, name)
		case *event.StepEnded, *event.AssistantMessage:
			open = slices.DeleteFunc(open, func(o string) bool { return o == name })
		}
	}
	return open
}

// Drives that hand the run back, and progress between two deaths, do not poison a run. Nor does a store that cannot
// be reached for longer than a lease lasts.
func TestARunThatIsNoPoison(t *testing.T) {
	t.Parallel()
	t.Run("progress between deaths", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := &deadly{Memory: journal.NewMemory(journal.MemoryOptions{})}
			died := map[int]bool{}
			m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				if req.Cycle > 8 {
					return chunks(says("done"))
				}
				return chunks(asksFor("deadly", fmt.Sprintf(`{"n":%d}`, req.Cycle)))
			}}
			tl := braid.Func("deadly", "", func(_ context.Context, in struct {
				N int `json:"n"`
			},
			) (int, error) {
				if !died[in.N] {
					died[in.N], store.dead = true, true
				}
				return in.N, nil
			}, tool.Pure())
			agent := braid.New("a", m, tl)
			if _, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				r, err := agent.Drive(t.Context(), braid.Open(store, "c"), "r", braid.Work{})
				if store.dead {
					store.dead = false
					time.Sleep(2 * journal.DefaultTerm)
					continue
				}
				if err != nil || r.Status != event.RunCompleted || len(died) != 8 {
					t.Errorf("after %d deaths the run is %s: %v", len(died), r.Status, err)
				}
				return
			}
			t.Error("the run does not end")
		})
	})
	t.Run("handed back", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := journal.NewMemory(journal.MemoryOptions{})
			agent := braid.New("a", &script{next: func(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
				<-ctx.Done()
				return failing(ctx.Err())
			}})
			if _, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
				t.Fatal(err)
			}
			for range 6 {
				ctx, end := context.WithCancelCause(t.Context())
				go func() {
					time.Sleep(time.Second)
					end(&event.Error{Kind: event.ErrUnavailable, Message: "the process is about to end"})
				}()
				r, err := agent.Drive(ctx, braid.Open(store, "c"), "r", braid.Work{})
				if err != nil || r.Status != event.RunRunning {
					t.Fatalf("the run is %s: %v", r.Status, err)
				}
			}
		})
	})
	t.Run("out of reach", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := &away{Memory: journal.NewMemory(journal.MemoryOptions{})}
			calls := 0
			agent := braid.New("a", &script{next: func(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
				if calls++; calls > 5 {
					return chunks(says("done"))
				}
				store.until.Store(time.Now().Add(journal.DefaultTerm + 5*time.Second).UnixNano())
				<-ctx.Done()
				return failing(ctx.Err())
			}})
			if _, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
				t.Fatal(err)
			}
			for range 6 {
				r, err := agent.Drive(t.Context(), braid.Open(store, "c"), "r", braid.Work{})
				if err == nil {
					if r.Status != event.RunCompleted || calls != 6 {
						t.Errorf("after %d calls the run is %s", calls, r.Status)
					}
					return
				}
				if !errors.Is(err, event.ErrLeaseLost) {
					t.Fatal(err)
				}
			}
			t.Error("the run does not end")
		})
	})
}

// away is a store that cannot be reached until a time.
type away struct {
	*journal.Memory
	until atomic.Int64 // in nanoseconds since 1970
}

func (s *away) gone() error {
	if time.Now().UnixNano() < s.until.Load() {
		return &event.Error{Kind: event.ErrUnavailable, Message: "the store cannot be reached"}
	}
	return nil
}

func (s *away) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Memory.Commit(ctx, l, b)
}

func (s *away) Renew(ctx context.Context, l journal.Lease) (journal.News, error) {
	if err := s.gone(); err != nil {
		return journal.News{}, err
	}
	return s.Memory.Renew(ctx, l)
}

func userSays(text string) []event.Message {
	return []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: text}}}}
}

// A harmless call beside a deadly one is progress, once: its result is kept and it is not made again. A model that asks
// for a new harmless call with every deadly one is bounded by the limits of its run.
func TestAHarmlessCallBesideADeadlyOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		effect event.Effect
		// deaths is how often the process dies, harmless how often the harmless tools are called.
		deaths, harmless int
		status           event.RunStatus
		why              event.Why
	}{
		{"one deadly call", event.EffectPure, 3, 2, event.RunFailed, event.WhyFailed},
		{"a new one in each answer", event.EffectUnsafe, 6, 12, event.RunCompleted, event.WhyLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &mortal{Memory: journal.NewMemory(journal.MemoryOptions{})}
				deaths := 0
				var harmless atomic.Int64
				m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
					args := fmt.Sprintf(`{"n":%d}`, req.Cycle)
					return chunks(asksFor("quick", args, "slow", args, "deadly", args))
				}}
				tl := func(name string, effect event.Effect, do func()) braid.Part {
					return braid.Func(name, "", func(context.Context, struct {
						N int `json:"n"`
					},
					) (string, error) {
						do()
						return name, nil
					}, func(tr *tool.Traits) { tr.Effect = effect })
				}
				agent := braid.New("a", m, braid.Limit(braid.Limits{Cycles: 6}),
					tl("quick", event.EffectPure, func() { harmless.Add(1) }),
					tl("slow", event.EffectPure, func() { time.Sleep(time.Second); harmless.Add(1) }),
					tl("deadly", c.effect, func() {
						time.Sleep(2 * time.Second) // the others are over, and written down
						deaths++
						store.dead.Store(true)
					}))
				if _, err := store.Admit(t.Context(), journal.Run{ID: "r", Conversation: "c", Agent: "a", Input: userSays("go")}); err != nil {
					t.Fatal(err)
				}
				for range 20 {
					r, err := agent.Drive(t.Context(), braid.Open(store, "c"), "r", braid.Work{})
					if store.dead.Swap(false) {
						time.Sleep(2 * journal.DefaultTerm)
						continue
					}
					if err != nil || r.Status != c.status || r.Why != c.why || deaths != c.deaths || int(harmless.Load()) != c.harmless {
						t.Errorf("after %d deaths and %d harmless calls the run is %s (%s): %v", deaths, harmless.Load(), r.Status, r.Why, err)
					}
					return
				}
				t.Error("the run does not end")
			})
		})
	}
}
