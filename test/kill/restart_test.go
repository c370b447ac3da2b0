//go:build unix

package kill

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/test/kill/worker"
)

// A process dies with a thousand runs in a tool. The next process soon continues all of them and
// ends them.
func TestRestart(t *testing.T) {
	t.Parallel()
	const runs = 1000
	// The goal is 2 s on a quiet machine. The test prints the time; its bound allows for a busy
	// machine.
	const bound = 20 * time.Second

	w := newWorld(t, built(t), "")
	var mu sync.Mutex
	stuck := 0
	all := make(chan struct{})
	w.ledger.Set(ledger.Hook{Before: func(e ledger.Entry) bool {
		if e.Op != ledger.Effect {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		if stuck++; stuck == runs {
			close(all)
		}
		return false
	}})
	p := w.start("", lease)
	var people sync.WaitGroup
	for i := range runs {
		talk := fmt.Sprintf("talk-%d", i)
		tool := []string{"look", "file", "book", "pay"}[i%4]
		people.Go(func() {
			w.do(&order{mark: talk, Order: worker.Order{
				Do: worker.DoSubmit, Conversation: talk, Key: "run-" + talk, Text: "do " + tool + " <" + talk + ">",
			}})
		})
	}
	select {
	case <-all:
	case <-p.dead:
		t.Fatalf("the process ended: %v", p.cmd.ProcessState)
	case <-time.After(time.Minute):
		t.Fatalf("only %d runs are in their tool", stuck)
	}
	people.Wait()
	_ = p.cmd.Process.Kill()
	<-p.dead
	w.ledger.Set(ledger.Hook{})

	began := time.Now()
	p = w.start("", lease)
	ready := w.until(p, func() bool { return p.ready })
	seen, moved := 0, map[string]bool{}
	going := w.until(p, func() bool {
		for _, s := range w.sights[seen:] {
			if s.process == p.number {
				moved[s.Run] = true
			}
		}
		seen = len(w.sights)
		return len(moved) == runs
	})
	over := w.until(p, func() bool { return len(w.ended) == runs })
	t.Logf("%d runs: ready after %v, all going after %v, all over after %v",
		runs, ready.Sub(began).Round(time.Millisecond), going.Sub(began).Round(time.Millisecond), over.Sub(began).Round(time.Millisecond))
	if took := going.Sub(began); took > bound {
		t.Errorf("it took %v until all runs went on", took)
	}
	if !w.close(p) {
		return
	}
	r, err := w.record()
	if err != nil {
		t.Fatal(err)
	}
	found, count := r.check()
	report(t, found)
	if count.completed != runs || count.doubts != runs/4 {
		t.Errorf("%d completed, %d in doubt, want %d and %d", count.completed, count.doubts, runs, runs/4)
	}
}
