package journaltest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/journal"
)

// recorder is a test that can fail without failing the real one.
type recorder struct {
	ctx     context.Context
	mu      sync.Mutex
	reasons []string
	skipped bool
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reasons = append(r.reasons, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(...any) {
	r.mu.Lock()
	r.skipped = true
	r.mu.Unlock()
	runtime.Goexit()
}

// play runs a case on its own goroutine, as testing does, so that the case can exit early. A panic is also a failure.
func play(ctx context.Context, c testCase, h Harness) *recorder {
	r := &recorder{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				r.Errorf("panic: %v", v)
			}
		}()
		c.run(newProbe(r, h))
	}()
	<-done
	return r
}

// memory returns a harness for a memory store with a manual clock, which is also a [journal.Beginner].
func memory(term time.Duration) (Harness, *journal.Memory) {
	var mu sync.Mutex
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	m := journal.NewMemory(journal.MemoryOptions{Term: term, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	return Harness{Store: &beginner{Memory: m}, Advance: func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}}, m
}

func TestTheSuitePassesASoundStore(t *testing.T) {
	t.Parallel()
	for _, g := range groups() {
		for _, c := range g.cases {
			h, _ := memory(0)
			r := play(t.Context(), c, h)
			if len(r.reasons) > 0 {
				t.Errorf("%s/%s: %s", g.name, c.name, r.reasons[0])
			}
			if r.skipped != (g.name == "reopen") {
				t.Errorf("%s/%s: skipped is %v", g.name, c.name, r.skipped)
			}
		}
	}
}

// A store without hooks skips exactly the cases that need them. One that is no [journal.Beginner] skips the group begin.
func TestCasesWithoutTheirHookAreSkipped(t *testing.T) {
	t.Parallel()
	skipped := 0
	for _, g := range groups() {
		for _, c := range g.cases {
			r := play(t.Context(), c, Harness{Store: new(journal.Memory)})
			if len(r.reasons) > 0 {
				t.Errorf("%s/%s: %s", g.name, c.name, r.reasons[0])
			}
			if g.name == "begin" {
				if !r.skipped {
					t.Errorf("%s/%s: a store that is no Beginner is not skipped", g.name, c.name)
				}
			} else if r.skipped {
				skipped++
			}
		}
	}
	if skipped == 0 || skipped > 17 {
		t.Errorf("%d cases were skipped, want the few that need the clock or a second opening", skipped)
	}
}

// A memory store cannot be reopened. So the test runs these cases on a store that only pretends to close, and on one
// that loses its data.
func TestReopenCases(t *testing.T) {
	t.Parallel()
	for _, c := range reopenCases() {
		h, m := memory(0)
		h.Reopen = func() journal.Journal { return m }
		if r := play(t.Context(), c, h); len(r.reasons) > 0 || r.skipped {
			t.Errorf("%s: a store that keeps everything fails: %v", c.name, r.reasons)
		}
		h, _ = memory(0)
		h.Reopen = func() journal.Journal { return new(journal.Memory) }
		if r := play(t.Context(), c, h); len(r.reasons) == 0 {
			t.Errorf("%s: a store that forgets everything passes", c.name)
		}
	}
}
