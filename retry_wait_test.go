package braid_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// throttled is a model that refuses calls for which refuse gives an error, and otherwise gives the next answer.
func throttled(refuse func(call int64) error, list ...[]model.Chunk) *script {
	m := &script{}
	m.next = func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		if err := refuse(m.calls.Load()); err != nil {
			return failing(err)
		}
		return chunks(list[min(req.Cycle, len(list))-1])
	}
	return m
}

// The count of attempts and the waits begin anew with each call of a model.
func TestRetriesCountPerCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := throttled(func(call int64) error {
			if call%5 == 0 {
				return nil
			}
			return &event.Error{Kind: event.ErrThrottled, Message: "slow down"}
		}, asksFor("add", `{"a":1,"b":2}`), asksFor("add", `{"a":1,"b":3}`), says("done"))
		begun := time.Now()
		r, err := braid.New("a", m, braid.Func("add", "", add), braid.Retries(braid.Retry{Exact: true})).Run(t.Context(), "go")
		if err != nil || r.Text() != "done" {
			t.Fatalf("%q, %v", r.Text(), err)
		}
		if took, want := time.Since(begun), 3*(4+8+16+32)*time.Second; took != want || m.calls.Load() != 15 {
			t.Errorf("%d calls in %v, want 15 in %v", m.calls.Load(), took, want)
		}
	})
}

// A call is not made again sooner than the provider asks, nor sooner than the policy says.
func TestARetryIsNotSoonerThanTheProviderAsks(t *testing.T) {
	t.Parallel()
	for asked, want := range map[time.Duration]time.Duration{0: 4 * time.Second, time.Second: 4 * time.Second, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			m := throttled(func(call int64) error {
				if call > 1 {
					return nil
				}
				return &event.Error{Kind: event.ErrThrottled, Message: "slow down", RetryAfter: asked}
			}, says("done"))
			begun := time.Now()
			_, err := braid.New("a", m, braid.Retries(braid.Retry{Exact: true})).Run(t.Context(), "go")
			if took := time.Since(begun); err != nil || took != want || m.calls.Load() != 2 {
				t.Errorf("asked for %v: %d calls in %v, want %v: %v", asked, m.calls.Load(), took, want, err)
			}
		})
	}
}

// A run that is cancelled between two pieces of an answer closes the model's stream and keeps what it had said. One whose
// context is cancelled before calls no model.
func TestCancellingBetweenPiecesAndBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	closed := false
	m := &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			if !yield(model.Chunk{Kind: model.ChunkText, Text: "one "}, nil) {
				return
			}
			cancel()
			<-ctx.Done()
			closed = true
			yield(model.Chunk{}, ctx.Err())
		}
	}}
	r, err := braid.New("a", m).Run(ctx, "go")
	if !errors.Is(err, event.ErrCancelled) || r.Stop != event.StopCancelled || r.Status != event.RunCancelled ||
		event.TextOf(r.Partial) != "one " || !closed {
		t.Errorf("between two pieces: %s, %s, %q, closed %v: %v", r.Status, r.Stop, event.TextOf(r.Partial), closed, err)
	}
	r, err = braid.New("a", m).Run(ctx, "go")
	if !errors.Is(err, event.ErrCancelled) || r.Stop != event.StopCancelled || m.calls.Load() != 1 {
		t.Errorf("before: %s, %s after %d calls: %v", r.Status, r.Stop, m.calls.Load(), err)
	}
}
