package service_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool"
)

// script is a model that says what a function makes of what it was told last.
type script func(ctx context.Context, told string, yield func(model.Chunk, error) bool)

func (script) Info() model.Info { return model.Info{Name: "test:script"} }

func (s script) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { s(ctx, req.Messages[len(req.Messages)-1].Text(), yield) }
}

// Each way in which a run may fail says what it is and nothing from inside, keeps what was used, and
// leaves the lock free.
func TestRunsThatFail(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial tcp 10.0.0.7: password=hunter2")
	spent := event.Usage{Input: 40, Output: 2, Total: 42}
	for _, c := range []struct {
		told   string
		status event.RunStatus
		kind   event.ErrorKind
		words  string
	}{
		{"fail", event.RunFailed, event.ErrModel, "the provider says no"},
		{"crash", event.RunFailed, event.ErrInternal, ""},
		{"be refused", event.RunFailed, event.ErrModelAuth, "the key was refused"},
		{"take long", event.RunFailed, event.ErrTimeout, ""},
	} {
		t.Run(c.told, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := script(func(ctx context.Context, told string, yield func(model.Chunk, error) bool) {
					if strings.Contains(told, "hello") {
						_ = yield(model.Chunk{Kind: model.ChunkText, Text: "hello"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
						return
					}
					if !yield(model.Chunk{Kind: model.ChunkText, Text: "Let me see. "}, nil) || !yield(model.Chunk{Kind: model.ChunkUsage, Usage: &spent}, nil) {
						return
					}
					switch told {
					case "fail":
						yield(model.Chunk{}, &event.Error{Kind: event.ErrModel, Message: "the provider says no", Err: secret})
					case "be refused":
						yield(model.Chunk{}, &event.Error{Kind: event.ErrModelAuth, Message: "the key was refused", Err: secret})
					case "crash":
						panic(secret)
					case "take long":
						<-ctx.Done()
						yield(model.Chunk{}, ctx.Err())
					}
				})
				var log bytes.Buffer
				h := open(t, func(o *service.Options) {
					o.Log = slog.New(slog.NewTextHandler(&log, nil))
					o.Agent = func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
						return braid.New("assistant", m, braid.Limit(r.Limits), braid.Retries(braid.Retry{Attempts: 1})), nil
					}
				})
				conv := h.conversation(t)
				begun := time.Now()
				s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: c.told})
				if err != nil {
					t.Fatal(err)
				}
				end := h.wait(t, conv, s)
				if c.kind == event.ErrTimeout {
					if end.Why != event.WhyDeadline || time.Since(begun) < 300*time.Second || time.Since(begun) > 301*time.Second {
						t.Errorf("it ended as %+v after %v", end, time.Since(begun))
					}
				} else if end.Status != c.status || end.Err == nil || end.Err.Kind != c.kind || !strings.Contains(end.Err.Message, c.words) {
					t.Errorf("it ended as %+v: %v", end, end.Err)
				}
				raw, err := event.AppendJSON(nil, &event.Event{Body: end})
				if err != nil || strings.Contains(string(raw), "hunter2") {
					t.Errorf("%s (%v)", raw, err)
				}
				if (end.Usage.Input != spent.Input || end.Usage.Output < spent.Output || !end.Estimated) && c.kind != event.ErrTimeout && c.kind != event.ErrInternal {
					t.Errorf("what was used is %+v", end.Usage)
				}
				synctest.Wait()
				if line := log.String(); c.kind != event.ErrTimeout && (!strings.Contains(line, s.Run.ID) || !strings.Contains(line, "hunter2")) {
					t.Errorf("the log does not say why it failed: %q", line)
				}
				next, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hello"})
				if err != nil || next.Run.Turn != 2 {
					t.Fatalf("the lock: %+v %v", next.Run, err)
				}
				if end := h.wait(t, conv, next); end.Status != event.RunCompleted {
					t.Errorf("the next run ended as %+v", end)
				}
			})
		})
	}
}

// The time in which a run waits for a person is not its own.
func TestWaitingIsNoRunTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		conv := h.conversation(t)
		s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use ask"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * service.DefaultRunTime)
		questions, err := h.Questions(t.Context(), ann, conv)
		if err != nil || len(questions) != 1 {
			t.Fatalf("%v %v", questions, err)
		}
		if _, err := h.Answer(t.Context(), ann, conv, questions[0].Token, []byte("true")); err != nil {
			t.Fatal(err)
		}
		if end := h.wait(t, conv, s); end.Status != event.RunCompleted {
			t.Errorf("it ended as %+v", end)
		}
	})
}

// Where nothing was said, a run has 300 seconds of its own, over all its drives: here 100 of a model before a person is
// asked, a day that does not count, and what a tool takes then.
func TestTheRunTimeWhereNothingWasSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes, took time.Duration
		why         event.Why
	}{
		{199 * time.Second, 199 * time.Second, event.WhyEndTurn},
		{time.Hour, 200 * time.Second, event.WhyDeadline},
	} {
		t.Run(c.takes.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				works := func(ctx context.Context, takes time.Duration) error {
					select {
					case <-time.After(takes):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				m := script(func(ctx context.Context, told string, yield func(model.Chunk, error) bool) {
					if told != "go" {
						_ = yield(model.Chunk{Kind: model.ChunkText, Text: "done"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
						return
					}
					if err := works(ctx, 100*time.Second); err != nil {
						yield(model.Chunk{}, err)
						return
					}
					_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c", Text: "work"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
				})
				tl := braid.Func("work", "", func(ctx context.Context, _ struct{}) (string, error) {
					if _, err := braid.Ask[bool](ctx, "May I?"); err != nil {
						return "", err
					}
					return "worked", works(ctx, c.takes)
				}, tool.Timeout(2*time.Hour))
				h := open(t, func(o *service.Options) {
					o.Agent = func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
						return braid.New("assistant", m, tl, braid.Limit(r.Limits)), nil
					}
				})
				conv := h.conversation(t)
				s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "go"})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(24 * time.Hour)
				questions, err := h.Questions(t.Context(), ann, conv)
				if err != nil || len(questions) != 1 {
					t.Fatalf("%v %v", questions, err)
				}
				begun := time.Now()
				if _, err := h.Answer(t.Context(), ann, conv, questions[0].Token, []byte("true")); err != nil {
					t.Fatal(err)
				}
				end := h.wait(t, conv, s)
				if took := time.Since(begun); end.Why != c.why || took < c.took || took > c.took+5*time.Second {
					t.Errorf("it ended as %+v after %v, want %s after %v", end, took, c.why, c.took)
				}
			})
		})
	}
}
