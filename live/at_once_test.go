package live_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/live/livetest"
)

// A reader that reads sees all of an answer that comes at once, also where it and the publisher
// share one processor and the answer has more pieces than a reader may leave unread.
//
//nolint:paralleltest // it needs the processors for itself
func TestALoneReaderSeesAnAnswerThatComesAtOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	hub := live.NewHub(live.HubOptions{})
	w := watch(t, hub)
	p := hub.Publisher(here)
	defer p.Close()
	s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
	p.Publish(s.Begin("m1", 1))
	const pieces = 4 * live.DefaultEvents
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	got, synced := 0, 0
	var reads sync.WaitGroup
	reads.Go(func() {
		var items [64]live.Item
		for got < pieces && synced == 0 {
			n, err := w.Read(ctx, items[:])
			if err != nil {
				t.Error(err)
				return
			}
			for _, item := range items[:n] {
				switch {
				case item.Sync != nil:
					synced++
				case item.Event.Live():
					got++
				}
			}
		}
	})
	runtime.Gosched() // the reader waits now
	for range pieces {
		p.Publish(s.Text("m1", 1, "word "))
	}
	reads.Wait()
	if got != pieces || synced > 0 {
		t.Errorf("the reader got %d of %d pieces, and was cut off %d times", got, pieces, synced)
	}
}
