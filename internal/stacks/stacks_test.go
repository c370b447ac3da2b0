package stacks_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/internal/stacks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deep needs a large stack.
func deep(n int) (sum int) {
	var frame [256]int
	if n > 0 {
		frame[n%len(frame)] = n
		sum = deep(n - 1)
	}
	for _, v := range frame {
		sum += v
	}
	return sum
}

func TestCallsRunOnThePoolsGoroutines(t *testing.T) {
	t.Parallel()
	const goroutines, callers = 3, 50
	p := stacks.New(goroutines)
	defer p.Close()
	var now, most, done atomic.Int64
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			p.Do(func() {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					runtime.Gosched()
				}
				runtime.Gosched()
				now.Add(-1)
				done.Add(1)
			})
		})
	}
	wait.Wait()
	if done.Load() != callers || most.Load() > goroutines {
		t.Errorf("%d of %d calls ran, %d at once; want at most %d at once", done.Load(), callers, most.Load(), goroutines)
	}
}

// A thousand goroutines that wait after a deep call hold little memory.
func TestCallersKeepSmallStacks(t *testing.T) { //nolint:paralleltest // it measures the process
	p := stacks.New(1)
	defer p.Close()
	var before, after runtime.MemStats
	const callers = 1000
	release := make(chan struct{})
	var called, ended sync.WaitGroup
	called.Add(callers)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range callers {
		ended.Go(func() {
			p.Do(func() { deep(30) }) // 60 KiB
			called.Done()
			<-release
		})
	}
	called.Wait()
	runtime.ReadMemStats(&after)
	close(release)
	ended.Wait()
	if each := (int64(after.StackInuse) - int64(before.StackInuse)) / callers; each > 16<<10 {
		t.Errorf("each caller's stack takes %d KiB", each>>10)
	}
}

func TestAPanicIsTheCallers(t *testing.T) {
	t.Parallel()
	p := stacks.New(1)
	defer p.Close()
	func() {
		defer func() {
			if v := recover(); v != "no" {
				t.Errorf("recovered %v, want the panic of the function", v)
			}
		}()
		p.Do(func() { panic("no") })
	}()
	ran := false
	if p.Do(func() { ran = true }); !ran {
		t.Error("the goroutine does not run functions after a panic")
	}
}

func TestEndingTheGoroutineEndsTheCallers(t *testing.T) {
	t.Parallel()
	p := stacks.New(1)
	defer p.Close()
	after := false
	var wait sync.WaitGroup
	wait.Go(func() {
		p.Do(runtime.Goexit)
		after = true
	})
	wait.Wait()
	if after {
		t.Error("the caller went on")
	}
	ran := false
	if p.Do(func() { ran = true }); !ran {
		t.Error("no goroutine took the place of the ended one")
	}
}
