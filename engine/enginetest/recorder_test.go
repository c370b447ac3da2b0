package enginetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid/engine"
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

// try runs a case as testing would, in a bubble: on a goroutine of its own, so
// that it can be left in the middle. A panic is a failure too.
func try(t *testing.T, c testCase, open func(TB, Setup) engine.Engine) *recorder {
	t.Helper()
	r := &recorder{}
	synctest.Test(t, func(t *testing.T) {
		r.ctx = t.Context()
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if v := recover(); v != nil {
					r.Errorf("panic: %v", v)
				}
			}()
			play(r, c, Harness{Open: open})
		}()
		<-done
	})
	return r
}

func local(s Setup, change func(*engine.Options)) *engine.Local {
	share := engine.Share{Running: s.TenantRunning, Backlog: s.TenantBacklog}
	o := engine.Options{
		Running: s.Running, Backlog: s.Backlog, Grace: s.Grace, Share: func(string) engine.Share { return share },
	}
	if change != nil {
		change(&o)
	}
	return engine.NewLocal(s.Store, s.Drive, o)
}

func TestTheSuitePassesASoundEngine(t *testing.T) {
	t.Parallel()
	for _, g := range groups() {
		for _, c := range g.cases {
			r := try(t, c, func(_ TB, s Setup) engine.Engine { return local(s, nil) })
			if len(r.reasons) > 0 {
				t.Errorf("%s/%s: %s", g.name, c.name, r.reasons[0])
			}
		}
	}
}
