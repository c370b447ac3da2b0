package client_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// stumbler uses a tool and counts, but its second call fails once.
type stumbler struct {
	counter

	fails *atomic.Int32
}

func (m stumbler) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	if len(req.Messages) > 1 && m.fails.Add(-1) >= 0 {
		return func(yield func(model.Chunk, error) bool) {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModelAuth, Message: "the key is wrong"})
		}
	}
	return m.counter.Stream(ctx, req)
}

// A retried run is read to its end however often its connections are cut, and it is one run.
func TestARetryIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	var fails atomic.Int32
	s := siteOf(t, stumbler{fails: &fails})
	torn := dial(t, s, &scissors{s.Client().Transport, 2500}, client.Options{Tries: 50})
	calm := dial(t, s, s.Client().Transport, client.Options{})
	for range 6 {
		fails.Store(1)
		conv, err := calm.Create(t.Context(), client.NewConversation{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := calm.Run(t.Context(), conv.ID, "use clock", client.RunOptions{}); !errors.Is(err, event.ErrModelAuth) {
			t.Fatal(err)
		}
		runs, err := calm.Runs(t.Context(), conv.ID)
		if err != nil || len(runs) != 1 {
			t.Fatalf("%+v: %v", runs, err)
		}
		got, gotScreen, err := shown(torn.RetryStream(t.Context(), conv.ID, runs[0].ID, client.RunOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		if runs, err = calm.Runs(t.Context(), conv.ID); err != nil || len(runs) != 2 || runs[1].Status != event.RunCompleted {
			t.Fatalf("%+v: %v", runs, err)
		}
		want, wantScreen, err := shown(calm.Attach(t.Context(), conv.ID, runs[1].ID, "", client.FollowOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "title ") })
		if diff := cmp.Diff(want, got) + cmp.Diff(wantScreen, gotScreen); diff != "" || !strings.Contains(gotScreen, "39つ") {
			t.Error(diff, gotScreen)
		}
		var e *event.Error
		if _, err := calm.Retry(t.Context(), conv.ID, runs[1].ID, client.RunOptions{}); !errors.As(err, &e) || e.Code != native.CodeRunNotRetryable {
			t.Errorf("a complete run: %v", err)
		}
		if _, err := calm.Retry(t.Context(), conv.ID, "../x", client.RunOptions{}); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("no run: %v", err)
		}
	}
}
