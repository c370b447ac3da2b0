package idle_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/model/internal/idle"
)

// slow returns one byte after each pause.
type slow struct {
	ctx  context.Context
	wait time.Duration
}

func (s slow) Read(p []byte) (int, error) {
	select {
	case <-time.After(s.wait):
		return copy(p, "x"), nil
	case <-s.ctx.Done():
		return 0, context.Cause(s.ctx)
	}
}

func TestOnlyWaitingCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := idle.New(t.Context(), time.Minute)
		defer g.End()
		r := g.Reading(slow{g.Context(), 50 * time.Second})
		for range 5 {
			if _, err := r.Read(make([]byte, 1)); err != nil || g.Stalled() {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // a slow reader does not count as silence
		}
		if _, err := g.Reading(slow{g.Context(), time.Hour}).Read(make([]byte, 1)); err == nil || !g.Stalled() || !g.Begun() {
			t.Errorf("%v, stalled %v", err, g.Stalled())
		}
	})
}

func TestACallerThatGivesUpIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := idle.New(ctx, time.Minute)
		defer g.End()
		time.AfterFunc(time.Second, cancel)
		_, err := g.Reading(slow{g.Context(), time.Hour}).Read(make([]byte, 1))
		if !errors.Is(err, context.Canceled) || g.Stalled() {
			t.Errorf("%v, stalled %v", err, g.Stalled())
		}
	})
}

func TestWithoutABoundNothingStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := idle.New(t.Context(), 0)
		if n, err := g.Reading(slow{g.Context(), 24 * time.Hour}).Read(make([]byte, 1)); n != 1 || err != nil {
			t.Error(n, err)
		}
		g.End()
		if _, err := g.Reading(slow{g.Context(), time.Hour}).Read(nil); err == nil || errors.Is(err, io.EOF) || g.Stalled() {
			t.Errorf("after the end: %v, stalled %v", err, g.Stalled())
		}
	})
}
