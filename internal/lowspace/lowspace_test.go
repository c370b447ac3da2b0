package lowspace_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/internal/lowspace"
)

// Nothing is written as long as no write has failed. After that a write is tried once in a while, until one finds space.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w lowspace.Watch
		full := errors.New("full")
		answer, writes := full, 0
		check := func(want error, written int) {
			t.Helper()
			writes = 0
			for range 3 {
				err := w.Check(t.Context(), func(context.Context) error { writes++; return answer })
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			if writes != written {
				t.Errorf("%d writes, want %d", writes, written)
			}
		}
		check(nil, 0)
		w.Failed()
		check(full, 1)
		time.Sleep(lowspace.Every)
		check(full, 1)
		answer = nil
		check(full, 0) // within a second of the last write
		time.Sleep(lowspace.Every)
		check(nil, 1)
		check(nil, 0)
		w.Failed()
		check(nil, 1) // there is space again already
		w.Failed()
		answer = full
		check(full, 1)
	})
	synctest.Test(t, func(t *testing.T) {
		var w lowspace.Watch
		w.Failed()
		// A write that fails while another one finds space is not forgotten.
		err := w.Check(t.Context(), func(context.Context) error { w.Failed(); return nil })
		again := false
		_ = w.Check(t.Context(), func(context.Context) error { again = true; return nil })
		if err != nil || !again {
			t.Errorf("%v, looked again: %t", err, again)
		}
	})
}
