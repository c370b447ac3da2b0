package braid_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// A run that ends without reading a message leaves it to a run of its own, which no engine drives here. It must not stand in
// the way of later runs for ever, and the message is answered once.
func TestAMessageThatARunLeftBehindIsAnswered(t *testing.T) {
	t.Parallel()
	type next func(context.Context, *braid.Agent, *braid.Conversation) (*braid.Result, error)
	for name, c := range map[string]struct {
		then next
		want []string
	}{
		"a run": {
			then: func(ctx context.Context, a *braid.Agent, conv *braid.Conversation) (*braid.Result, error) {
				return a.Run(ctx, "two", braid.In(conv))
			},
			want: []string{"one", "between", "two"},
		},
		"a queued run": {
			then: func(ctx context.Context, a *braid.Agent, conv *braid.Conversation) (*braid.Result, error) {
				return a.Run(ctx, "two", braid.In(conv), braid.During(braid.Queue))
			},
			want: []string{"one", "between", "two"},
		},
		"a resume": {
			then: func(ctx context.Context, a *braid.Agent, conv *braid.Conversation) (*braid.Result, error) {
				return a.Resume(ctx, conv)
			},
			want: []string{"one", "between"},
		},
		"a cancel": {
			then: func(ctx context.Context, a *braid.Agent, conv *braid.Conversation) (*braid.Result, error) {
				if err := conv.Cancel(ctx); err != nil {
					return nil, err
				}
				return a.Run(ctx, "two", braid.In(conv))
			},
			// The messages of a run that is cancelled go on to the next one.
			want: []string{"one", "between", "two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			conv := braid.Open(journal.NewMemory(journal.MemoryOptions{}), "c")
			var a *braid.Agent
			said := false
			look := braid.Func("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
				if said {
					return "nothing", nil
				}
				said = true
				_, err := a.Send(ctx, conv, "between", braid.During(braid.Steer))
				return "nothing", err
			})
			m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				if len(req.Messages) == 1 {
					return chunks(asksFor("look", "{}"))
				}
				return chunks(says("Bye."))
			}}
			a = braid.New("a", m, look, braid.Limit(braid.Limits{Cycles: 1}))
			if r, err := a.Run(ctx, "one", braid.In(conv)); event.KindOf(err) != event.ErrLimit {
				t.Fatalf("the first run: %+v, %v", r, err)
			}
			if r, err := c.then(ctx, a, conv); err != nil || r.Message.Text() != "Bye." {
				t.Fatalf("then: %+v, %v", r, err)
			}
			var got []string
			for e, err := range conv.Events(ctx, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if m, ok := e.Body.(*event.UserMessage); ok && m.Why == "" {
					got = append(got, event.TextOf(m.Content))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("what users said (-want +got):\n%s", diff)
			}
		})
	}
}

// Without an engine a run that was accepted waits for Resume, or for Cancel.
func TestARunThatWasAcceptedIsResumed(t *testing.T) {
	t.Parallel()
	for name, cancels := range map[string]bool{"resumed": false, "cancelled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, conv := braid.New("a", answers(says("Bye."))), braid.Open(journal.NewMemory(journal.MemoryOptions{}), "c")
			sent, err := a.Send(t.Context(), conv, "one", braid.During(braid.Queue))
			if err != nil || sent.Status != event.RunQueued {
				t.Fatalf("sent: %+v, %v", sent, err)
			}
			if cancels {
				if err := conv.Cancel(t.Context()); err != nil {
					t.Fatal(err)
				}
				r, err := a.Run(t.Context(), "two", braid.In(conv))
				if err != nil || r.Run == sent.Run || r.Message.Text() != "Bye." {
					t.Errorf("the next run: %+v, %v", r, err)
				}
				return
			}
			r, err := a.Resume(t.Context(), conv)
			if err != nil || r.Run != sent.Run || r.Message.Text() != "Bye." {
				t.Errorf("resumed: %+v, %v", r, err)
			}
		})
	}
}
