package livetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/braidrun/braid/live"
)

// recorder is a test that may fail without failing ours.
type recorder struct {
	ctx     context.Context
	mu      sync.Mutex
	reasons []string
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

// try runs a case as testing would: on a goroutine of its own, so that it can
// be left in the middle. A panic is a failure too.
func try(ctx context.Context, c testCase, h Harness) *recorder {
	r := &recorder{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				r.Errorf("panic: %v", v)
			}
		}()
		play(r, c, h)
	}()
	<-done
	return r
}

func TestTheSuitePassesASoundBus(t *testing.T) {
	t.Parallel()
	for _, g := range groups() {
		for _, c := range g.cases {
			if r := try(t.Context(), c, Harness{Bus: new(live.Hub)}); len(r.reasons) > 0 {
				t.Errorf("%s/%s: %s", g.name, c.name, r.reasons[0])
			}
		}
	}
}
