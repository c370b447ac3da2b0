package retry

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Late attempts waited a negative time, that is: not at all.
func TestRetriesWaitAtMostMax(t *testing.T) {
	t.Parallel()
	r := tool.Retry{Base: 10 * time.Second, Max: time.Hour, Exact: true}
	for n, want := range map[int]time.Duration{
		1: 10 * time.Second, 2: 20 * time.Second, 9: 2560 * time.Second, 10: time.Hour, 31: time.Hour, 200: time.Hour,
	} {
		if got := Wait(&r, n, 0); got != want {
			t.Errorf("after attempt %d it waits %v, want %v", n, got, want)
		}
	}
	if got := Wait(&r, 1, time.Minute); got != time.Minute {
		t.Errorf("asked for a minute, it waits %v", got)
	}
}

func TestWaitHasJitter(t *testing.T) {
	t.Parallel()
	r := tool.Retry{Base: time.Second, Max: time.Minute}
	seen := map[time.Duration]bool{}
	for range 100 {
		w := Wait(&r, 3, 0)
		if w <= 2*time.Second || w > 4*time.Second {
			t.Fatalf("it waits %v", w)
		}
		seen[w] = true
	}
	if len(seen) < 2 {
		t.Error("all waits are equal")
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	r := &tool.Retry{Attempts: 3, Base: 8 * time.Second, Max: time.Minute, Exact: true}
	busy := &event.Error{Kind: event.ErrOverloaded, RetryAfter: 30 * time.Second}
	noHost := &event.Error{Kind: event.ErrUnavailable, Code: model.CodeNoHost}
	away := &event.Error{Kind: event.ErrUnavailable}
	for _, c := range []struct {
		tries, unreached int
		err              *event.Error
		want             time.Duration
		again            bool
	}{
		{1, 0, away, 8 * time.Second, true},
		{2, 0, away, 16 * time.Second, true},
		{2, 0, busy, 30 * time.Second, true},
		{3, 0, busy, 0, false},
		{1, 0, noHost, quickly, true},
		{2, 1, noHost, quickly, false},
	} {
		if got, again := After(r, c.tries, c.unreached, c.err); got != c.want || again != c.again {
			t.Errorf("after %d tries: %v, %v", c.tries, got, again)
		}
	}
}

func TestForTools(t *testing.T) {
	t.Parallel()
	if got, want := ForTools(tool.Retry{Attempts: 3, Base: time.Minute}), (tool.Retry{Base: time.Minute, Max: toolMax}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMayHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("anything"), true},
		{&tool.ArgumentsError{}, false},
		{&event.Error{Kind: event.ErrUnavailable}, true},
		{&event.Error{Kind: event.ErrInvalid}, false},
		{fmt.Errorf("wrapped: %w", event.ErrInvalid), false},
		{fmt.Errorf("wrapped: %w", event.ErrUnavailable), true},
	} {
		if got := MayHelp(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
	if got := AskedToWait(fmt.Errorf("wrapped: %w", &event.Error{RetryAfter: time.Hour})); got != time.Hour {
		t.Errorf("asked to wait %v", got)
	}
}
