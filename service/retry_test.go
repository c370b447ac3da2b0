package service_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// pages is an agent that reads three pages one after the other, and whose model fails after two of them as often as
// fails says. Any other words it repeats.
type pages struct {
	mu    sync.Mutex
	fails int
	reads int
	// seen are the requests, asked what the agents were asked for with.
	seen  []string
	asked []service.AgentRequest
	// hold, where it is set, keeps the third page from being read.
	hold chan struct{}
}

func (*pages) Info() model.Info { return model.Info{Name: "test:pages"} }

func (p *pages) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		text := ""
		for _, m := range req.Messages {
			text += " " + string(m.Role) + ":" + m.Text()
			for _, b := range m.Content {
				if r, ok := b.(*event.ToolResult); ok {
					text += "(" + event.TextOf(r.Content) + ")"
				}
			}
		}
		p.seen = append(p.seen, text)
		last := req.Messages[len(req.Messages)-1]
		n := strings.Count(text, "(page ")
		switch {
		case !strings.Contains(text, "read") || strings.HasSuffix(last.Text(), "hello"):
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "hello"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
		case n == 2 && p.fails > 0:
			p.fails--
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModelAuth, Message: "the key has expired"})
		case n < 3:
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: fmt.Sprint("c", n), Text: "page"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
		default:
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "read"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
		}
	}
}

func (p *pages) agent(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
	p.mu.Lock()
	p.asked = append(p.asked, r)
	p.mu.Unlock()
	return braid.New("assistant", p, braid.Limit(r.Limits), braid.Func("page", "", func(ctx context.Context, _ struct{}) (string, error) {
		p.mu.Lock()
		p.reads++
		n, hold := p.reads, p.hold
		p.mu.Unlock()
		if n == 3 && hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return fmt.Sprint("page ", n), nil
	})), nil
}

// last gives what the model saw last.
func (p *pages) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[len(p.seen)-1]
}

func (p *pages) counted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads
}

// A failed run is continued at the step that failed: here, after a restart and at another server, whether its
// tenant keeps failed runs or not, and again where it fails again. What the request leaves out is that of the failed run.
func TestAFailedRunIsRetried(t *testing.T) {
	t.Parallel()
	for _, failed := range []directory.FailedRuns{"", directory.ForgetFailedRuns, directory.KeepFailedRuns} {
		for _, where := range []string{"here", "restarted", "elsewhere"} {
			t.Run(string(failed)+" "+where, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := &pages{fails: 2}
					rows := &service.MemoryRows{}
					with := func(o *service.Options) {
						o.Rows, o.Agent, o.FailedRuns, o.Shared = rows, p.agent, failed, where == "elsewhere"
					}
					h := open(t, with)
					other := h
					next := func() {
						if where == "here" {
							return
						}
						if where == "restarted" {
							if err := other.Drain(t.Context()); err != nil {
								t.Fatal(err)
							}
						}
						other = open(t, func(o *service.Options) { with(o); o.Journal = h.store })
						other.store = h.store
					}
					conv := h.conversation(t)
					first, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{
						Input: "read all", Executor: "web", Skills: []string{"reading"}, Metadata: map[string]string{"page": "7"},
						Limits: service.RunLimits{Cycles: 9}, OutputSchema: []byte(`{"type":"string"}`),
					})
					if err != nil {
						t.Fatal(err)
					}
					end := h.wait(t, conv, first)
					if end.Status != event.RunFailed || end.Keep != (failed == directory.KeepFailedRuns) {
						t.Fatalf("it ended as %+v", end)
					}
					next()
					again, err := other.RetryRun(t.Context(), ann, conv, first.Run.ID, service.RunRequest{Key: "again"})
					if err != nil || other.wait(t, conv, again).Status != event.RunFailed {
						t.Fatalf("%+v: %v", again, err)
					}
					if p.counted() != 2 {
						t.Errorf("%d pages were read", p.counted())
					}
					next()
					last, err := other.RetryRun(t.Context(), ann, conv, again.Run.ID, service.RunRequest{Limits: service.RunLimits{Cycles: 7}})
					if err != nil {
						t.Fatal(err)
					}
					if end := other.wait(t, conv, last); end.Status != event.RunCompleted || p.counted() != 3 {
						t.Errorf("it ended as %+v after %d pages", end, p.counted())
					}
					if got := p.last(); strings.Count(got, "read all") != 1 || strings.Count(got, "(page ") != 3 || strings.Contains(got, "failed") {
						t.Errorf("the model saw %s", got)
					}
					asked := p.asked[len(p.asked)-1]
					if asked.Limits.Cycles != 7 || len(asked.Skills) != 1 || string(asked.OutputSchema) != `{"type":"string"}` {
						t.Errorf("the agent was asked for with %+v", asked)
					}
					run, err := other.GetRun(t.Context(), ann, conv, last.Run.ID)
					if err != nil || run.Executor != "web" || run.Metadata["page"] != "7" || run.Turn != 3 {
						t.Errorf("the run is %+v: %v", run, err)
					}
					// A repeated request gets its run, also when the conversation has gone on.
					repeat, err := other.RetryRun(t.Context(), ann, conv, first.Run.ID, service.RunRequest{Key: "again"})
					if err != nil || repeat.Run.ID != again.Run.ID {
						t.Errorf("the repeat is %+v: %v", repeat.Run, err)
					}
					if _, err := other.RetryRun(t.Context(), ann, conv, first.Run.ID, service.RunRequest{Key: "again", Executor: "x"}); !service.KeyReused(err) {
						t.Errorf("another request of the key: %v", err)
					}
				})
			})
		}
	}
}

// What the run after a failed one sees is what its tenant has chosen, and else what the server does.
func TestATenantChoosesWhatBecomesOfFailedRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server, tenant directory.FailedRuns
		keeps          bool
	}{
		{"", "", false}, {"", "keep", true}, {"keep", "", true}, {"keep", "forget", false}, {"forget", "keep", true},
	} {
		t.Run(string(c.server+" "+c.tenant), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &pages{fails: 1}
				d := people(t)
				setTenant(t, d, func(of *directory.Tenant) { of.FailedRuns = c.tenant })
				h := open(t, func(o *service.Options) { o.Agent, o.FailedRuns, o.Directory = p.agent, c.server, d })
				conv := h.conversation(t)
				run := func(input string) *event.RunEnded {
					s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: input})
					if err != nil {
						t.Fatal(err)
					}
					return h.wait(t, conv, s)
				}
				if end := run("read all"); end.Status != event.RunFailed || end.Keep != c.keeps {
					t.Errorf("it ended as %+v", end)
				}
				if end := run("hello"); end.Status != event.RunCompleted {
					t.Errorf("it ended as %+v", end)
				}
				if got := p.last(); strings.Contains(got, "(page ") != c.keeps || !strings.Contains(got, "The previous request failed") {
					t.Errorf("the next run sees %s", got)
				}
			})
		})
	}
}

// What cannot be retried says so and leaves nothing.
func TestRunsThatCannotBeRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pages{fails: 1}
		h := open(t, func(o *service.Options) { o.Agent = p.agent })
		start := func(conv, input string) service.Started {
			s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: input})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		refused := func(what string, who service.Principal, conv, run string, kind event.ErrorKind, code string, r service.RunRequest) {
			t.Helper()
			before, _ := h.store.Runs(t.Context(), conv, 0, 0)
			_, err := h.RetryRun(t.Context(), who, conv, run, r)
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != kind || e.Code != code {
				t.Errorf("%s: %+v", what, err)
			}
			if after, _ := h.store.Runs(t.Context(), conv, 0, 0); len(after) != len(before) {
				t.Errorf("%s: there are %d runs, were %d", what, len(after), len(before))
			}
		}
		const conflict, code = event.ErrConflict, "RUN_NOT_RETRYABLE"
		none := service.RunRequest{}

		conv := h.conversation(t)
		done := start(conv, "hello")
		h.wait(t, conv, done)
		refused("a complete run", ann, conv, done.Run.ID, conflict, code, none)
		refused("no run", ann, conv, "run_none", event.ErrNotFound, "RUN_NOT_FOUND", none)
		refused("another tenant", service.Principal{Tenant: "globex"}, conv, done.Run.ID, event.ErrNotFound, "CONVERSATION_NOT_FOUND", none)
		refused("another user", service.Principal{Tenant: ann.Tenant, User: "bob"}, conv, done.Run.ID, event.ErrNotFound, "CONVERSATION_NOT_FOUND", none)

		failed := start(conv, "read all")
		h.wait(t, conv, failed)
		refused("with an input", ann, conv, failed.Run.ID, event.ErrInvalid, "", service.RunRequest{Input: "go on"})
		refused("with a policy", ann, conv, failed.Run.ID, event.ErrInvalid, "", service.RunRequest{Policy: braid.Queue})
		refused("in another conversation", ann, h.conversation(t), failed.Run.ID, event.ErrNotFound, "RUN_NOT_FOUND", none)
		if _, err := h.ResetConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		refused("after a reset", ann, conv, failed.Run.ID, conflict, code, none)
		later := start(conv, "hello")
		h.wait(t, conv, later)
		refused("with a later run", ann, conv, failed.Run.ID, conflict, code, none)

		// A run that is open, and one that its user stops, are none either.
		p.mu.Lock()
		p.fails, p.reads, p.hold = 0, 0, make(chan struct{})
		p.mu.Unlock()
		open := start(conv, "read all")
		synctest.Wait()
		refused("an open run", ann, conv, open.Run.ID, conflict, code, none)
		refused("beside an open run", ann, conv, failed.Run.ID, conflict, code, none)
		if err := h.CancelRun(t.Context(), ann, conv, open.Run.ID); err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, open)
		refused("a cancelled run", ann, conv, open.Run.ID, conflict, code, none)
	})
}

// Of many who retry at once one does, and each page is read once.
func TestManyRetriesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pages{fails: 1}
		h := open(t, func(o *service.Options) { o.Agent = p.agent })
		conv := h.conversation(t)
		s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "read all"})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(t, conv, s)
		var wg sync.WaitGroup
		runs := make([]string, 40)
		for i := range runs {
			wg.Go(func() {
				key := ""
				if i%2 == 0 {
					key = "one"
				}
				r, err := h.RetryRun(t.Context(), ann, conv, s.Run.ID, service.RunRequest{Key: key})
				var e *event.Error
				switch {
				case err == nil:
					runs[i] = r.Run.ID
				case !errors.As(err, &e) || e.Code != "RUN_NOT_RETRYABLE":
					t.Errorf("it was refused with %v", err)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Minute)
		ids := map[string]bool{}
		for _, id := range runs {
			if id != "" {
				ids[id] = true
			}
		}
		all, err := h.ListRuns(t.Context(), ann, conv, 0, 0)
		if err != nil || len(ids) != 1 || len(all) != 2 || all[1].Status != event.RunCompleted || p.counted() != 3 {
			t.Errorf("%d runs were begun, there are %d, %d pages were read: %v", len(ids), len(all), p.counted(), err)
		}
	})
}

// A retry that loses against a run which another server lets in is refused at once, and is no run: also where that
// one has ended before the retry is written.
func TestARetryThatAnotherServersRunOvertakes(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		for _, key := range []string{"", "again"} {
			t.Run(fmt.Sprint("ended ", ended, " key ", key), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p, rows, j := &pages{fails: 1}, &service.MemoryRows{}, &hooked{Journal: &journal.Memory{}}
					with := func(o *service.Options) { o.Rows, o.Agent, o.Shared, o.Journal = rows, p.agent, true, j }
					here := open(t, with)
					there := open(t, func(o *service.Options) { with(o); o.Journal = j.Journal })
					conv := here.conversation(t)
					s, err := here.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "read all"})
					if err != nil {
						t.Fatal(err)
					}
					here.wait(t, conv, s)
					var later service.Started
					j.before = func() {
						if later, err = there.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"}); err != nil {
							t.Error(err)
						}
						if ended {
							there.wait(t, conv, later)
						}
					}
					_, err = here.RetryRun(t.Context(), ann, conv, s.Run.ID, service.RunRequest{Key: key})
					if e, ok := errors.AsType[*event.Error](err); !ok || e.Kind != event.ErrConflict || e.Code != "RUN_NOT_RETRYABLE" {
						t.Errorf("the retry: %v", err)
					}
					if !ended {
						there.wait(t, conv, later)
					}
					time.Sleep(time.Minute)
					if runs, err := here.ListRuns(t.Context(), ann, conv, 0, 0); err != nil || len(runs) != 2 || runs[1].Status != event.RunCompleted {
						t.Errorf("the runs are %+v: %v", runs, err)
					}
				})
			})
		}
	}
}

// A run that reached a limit is retried behind what it has done.
func TestARunThatReachedALimitIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pages{}
		h := open(t, func(o *service.Options) { o.Agent = p.agent })
		conv := h.conversation(t)
		s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "read all", Limits: service.RunLimits{Cycles: 2}})
		if err != nil {
			t.Fatal(err)
		}
		if end := h.wait(t, conv, s); end.Why != event.WhyLimit {
			t.Fatalf("it ended as %+v", end)
		}
		r, err := h.RetryRun(t.Context(), ann, conv, s.Run.ID, service.RunRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if end := h.wait(t, conv, r); end.Status != event.RunCompleted || end.Stop != event.StopEndTurn || p.counted() != 3 {
			t.Errorf("it ended as %+v after %d pages", end, p.counted())
		}
	})
}
