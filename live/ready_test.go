package live_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/live/livetest"
)

// A reader that has everything asks the journal for nothing: what is published from its
// Follow on is kept for it, and given without waiting.
func TestFollowFromTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, log := new(live.Hub), &paper{}
		s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
		log.write(s.Note("before"))
		f, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{After: 1, Current: true})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		items := make([]live.Item, 8)
		if n := f.Ready(items); n != 0 {
			t.Fatalf("%d items of nothing", n)
		}
		p := hub.Publisher(here)
		defer p.Close()
		for _, e := range []event.Event{s.Begin("m1", 1), s.Text("m1", 1, "half a "), s.Text("m1", 1, "word")} {
			if !e.Live() {
				log.write(e)
			}
			p.Publish(e)
		}
		if n := f.Ready(items); n != 3 || items[0].Event == nil || items[0].Event.Seq != 2 {
			t.Errorf("%d items are ready, want the event and two pieces", n)
		}
		if log.reads != 0 {
			t.Errorf("the journal was asked %d times", log.reads)
		}
	})
}

// A reader that waits is let go at its time, and by the end of its context, and by
// nothing else.
func TestReadBy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, log := new(live.Hub), &paper{}
		s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
		f, err := live.Follow(t.Context(), hub, here, log.read, live.FollowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p := hub.Publisher(here)
		defer p.Close()
		items := make([]live.Item, 8)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		// Times that come nearer and go farther away.
		for _, wait := range []time.Duration{time.Minute, time.Second, 10 * time.Second, 100 * time.Millisecond, time.Hour} {
			begun := time.Now()
			n, err := f.ReadBy(ctx, items, begun.Add(wait))
			if took := time.Since(begun); n != 0 || err != nil || took != wait {
				t.Errorf("after %v of %v came %d items, %v", took, wait, n, err)
			}
		}
		e := s.Note("late")
		time.AfterFunc(time.Second, func() {
			log.write(e)
			p.Publish(e)
		})
		begun := time.Now()
		if n, err := f.ReadBy(ctx, items, begun.Add(time.Minute)); n != 1 || err != nil || time.Since(begun) != time.Second {
			t.Errorf("after %v came %d items, %v", time.Since(begun), n, err)
		}
		// The timer of that wait has not rung yet, and is moved.
		begun = time.Now()
		if n, err := f.ReadBy(ctx, items, begun.Add(100*time.Millisecond)); n != 0 || err != nil || time.Since(begun) != 100*time.Millisecond {
			t.Errorf("after %v came %d items, %v", time.Since(begun), n, err)
		}
		time.AfterFunc(time.Second, cancel)
		begun = time.Now()
		if _, err := f.ReadBy(ctx, items, time.Time{}); !errors.Is(err, event.ErrCancelled) || time.Since(begun) != time.Second {
			t.Errorf("after %v came %v", time.Since(begun), err)
		}
	})
}
