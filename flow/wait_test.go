package flow

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := func() *braid.Agent { return Sequence("s", agent("a"), Sleep("night", 8*time.Hour), agent("b")) }
		begun := time.Now()
		r, err := s().Run(t.Context(), "go")
		if err != nil || r.Text() != "b(a(go))" || time.Since(begun) != 8*time.Hour {
			t.Errorf("%q, %v, after %s", r.Text(), err, time.Since(begun))
		}
		// An engine parks it: the run has a time to wake up, and nothing of it is left in the process.
		store := journal.NewMemory(journal.MemoryOptions{})
		conv := braid.Open(store, "c")
		sent, err := s().Send(t.Context(), conv, "go")
		if err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		r, err = s().Drive(t.Context(), conv, sent.Run, braid.Work{})
		if err != nil || r.Status != event.RunWaiting || !r.WakeAt.Equal(begun.Add(8*time.Hour)) || time.Since(begun) > time.Second {
			t.Fatalf("%s, %v, wakes at %s", r.Status, err, r.WakeAt)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > 100 {
			t.Errorf("%d goroutines", n)
		}
		r, err = s().Drive(t.Context(), braid.Open(store, "c"), sent.Run, braid.Work{})
		if err != nil || r.Status != event.RunWaiting || !r.WakeAt.Equal(begun.Add(8*time.Hour)) {
			t.Fatalf("too early: %s, %v, wakes at %s", r.Status, err, r.WakeAt)
		}
		time.Sleep(6 * time.Hour)
		if r, err = s().Drive(t.Context(), braid.Open(store, "c"), sent.Run, braid.Work{}); err != nil || r.Text() != "b(a(go))" {
			t.Errorf("%q, %v", r.Text(), err)
		}
	})
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	type payment struct {
		Cents int `json:"cents"`
	}
	s := func() *braid.Agent {
		return Sequence("s", WaitFor[payment]("paid", "payment"), Func("f", func(_ context.Context, p payment) (int, error) { return p.Cents, nil }))
	}
	store := journal.NewMemory(journal.MemoryOptions{})
	conv := braid.Open(store, "c")
	r, err := s().Run(t.Context(), "go", braid.In(conv))
	if err != nil || r.Status != event.RunWaiting || len(r.Questions) != 1 || r.Questions[0].Ask != event.AskExternal || r.Questions[0].Name != "payment" {
		t.Fatalf("%s, %v, %+v", r.Status, err, r.Questions)
	}
	other := braid.Open(store, "c") // as in another process
	if err := other.Answer(t.Context(), r.Questions[0].Token, "much"); err == nil {
		t.Error("any value is taken")
	}
	if err := other.Answer(t.Context(), r.Questions[0].Token, payment{500}); err != nil {
		t.Fatal(err)
	}
	if r, err = s().Resume(t.Context(), other); err != nil || r.Text() != "500" {
		t.Errorf("%q, %v", r.Text(), err)
	}
}
