package service_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
)

// mute is a model that says nothing to prompts with "book" until it is stopped, and "noon" to others.
type mute struct {
	mu   sync.Mutex
	seen string
}

func (*mute) Info() model.Info { return model.Info{Name: "test:mute"} }

func (m *mute) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		var text strings.Builder
		for _, one := range req.Messages {
			text.WriteString(string(one.Role) + ":" + event.RawText(one.Content) + " ")
		}
		m.mu.Lock()
		m.seen = strings.TrimSpace(text.String())
		m.mu.Unlock()
		last := req.Messages[len(req.Messages)-1].Content
		if b, ok := last[len(last)-1].(*event.Text); ok && strings.HasPrefix(b.Text, "book") {
			<-ctx.Done()
			yield(model.Chunk{}, ctx.Err())
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "noon"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// A prompt whose run the user stopped before its first message is marked for the next request's model: one, several, one that
// was queued and never began, after a restart and at another server.
func TestAStoppedPromptIsMarked(t *testing.T) {
	t.Parallel()
	const stopped = "[The user stopped this request before it was answered. Do not answer it unless a later message asks for it.]"
	for _, c := range []struct {
		name    string
		prompts []string
		queued  bool
		where   string
	}{
		{name: "one", prompts: []string{"book a flight"}},
		{name: "several", prompts: []string{"book a flight", "book a hotel", "book a car"}},
		{name: "one that was queued", prompts: []string{"book a flight", "book a hotel"}, queued: true},
		{name: "after a restart", prompts: []string{"book a flight", "book a hotel"}, where: "restarted"},
		{name: "at another server", prompts: []string{"book a flight", "book a hotel"}, where: "elsewhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, rows := &mute{}, &service.MemoryRows{}
				with := func(o *service.Options) {
					o.Rows, o.Shared = rows, c.where == "elsewhere"
					o.Agent = func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
						return braid.New("assistant", m, braid.Limit(r.Limits)), nil
					}
				}
				h := open(t, with)
				conv := h.conversation(t)
				var runs []service.Started
				stop := func(s service.Started) {
					if err := h.CancelRun(t.Context(), ann, conv, s.Run.ID); err != nil && !errors.Is(err, event.ErrConflict) {
						t.Fatal(err)
					}
				}
				for _, prompt := range c.prompts {
					s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: prompt, Policy: braid.Queue})
					if err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if runs = append(runs, s); !c.queued {
						stop(s)
						h.wait(t, conv, s)
					}
				}
				if c.queued {
					stop(runs[1])
					stop(runs[0])
				}
				for _, s := range runs {
					if end := h.wait(t, conv, s); end.Status != event.RunCancelled {
						t.Errorf("%s ended as %+v", s.Run.ID, end)
					}
				}
				next := h
				if c.where == "restarted" {
					if err := h.Drain(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if c.where != "" {
					next = open(t, func(o *service.Options) { with(o); o.Journal = h.store })
					next.store = h.store
				}
				s, err := next.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "what time is it?"})
				if err != nil {
					t.Fatal(err)
				}
				if end := next.wait(t, conv, s); end.Status != event.RunCompleted {
					t.Errorf("the next run ended as %+v", end)
				}
				want := "user:" + strings.Join(c.prompts, stopped) + stopped + "what time is it?"
				if m.seen != want {
					t.Errorf("the model sees\n%s\nwant\n%s", m.seen, want)
				}
			})
		})
	}
}
