//go:build unix

package kill

import (
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/test/kill/worker"
)

// A tool that is silent for longer than a lease does not begin again. Messages and results of
// megabytes neither block a run nor get lost with a process.
func TestQuietAndLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, built(t), "")
	const term = 4 * time.Second
	const quiet = 9 * time.Second
	w.ledger.Set(ledger.Hook{After: func(e ledger.Entry) bool {
		if e.Tool == "wait" {
			<-time.After(quiet)
		}
		return true
	}})
	say := func(talk, plan string) {
		w.do(&order{mark: talk, Order: worker.Order{
			Do: worker.DoSubmit, Conversation: talk, Key: "run-" + talk,
			Text: "do " + plan + " <" + talk + ">" + strings.Repeat("x", 3<<20),
		}})
	}
	p := w.start("", term)
	said := make(chan struct{})
	go func() {
		defer close(said)
		say("quiet", "wait,pay|look")
		say("large", "dump|dump,pay|look")
	}()
	<-said
	// The process of the large result dies some time after the result is in the log, and the quiet
	// tool's run with it.
	w.until(p, func() bool { return w.seen["large"] > 8 })
	_ = p.cmd.Process.Kill()
	<-p.dead
	began := time.Now()
	p = w.start("", term)
	w.until(p, func() bool { return len(w.ended) == 2 })
	if took := time.Since(began); took < quiet {
		t.Errorf("the quiet tool came back after %v", took)
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
	if count.completed != 2 {
		t.Errorf("%d runs completed: %s", count.completed, count.String())
	}
	begun, largest := 0, 0
	for i := range r.talks {
		for _, e := range r.talks[i].events {
			switch b := e.Body.(type) {
			case *event.StepBegun:
				if b.Tool == "wait" {
					begun++
				}
			case *event.StepEnded:
				if b.Result != nil {
					largest = max(largest, len(event.TextOf(b.Result.Content)))
				}
			}
		}
	}
	if begun != 2 {
		t.Errorf("the quiet tool began %d times, want once in each process", begun)
	}
	if largest != worker.Dump {
		t.Errorf("the largest result has %d bytes, want %d", largest, worker.Dump)
	}
}
