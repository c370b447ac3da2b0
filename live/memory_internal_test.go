package live

import (
	"testing"

	"github.com/braidrun/braid/event"
)

// While a step is in flight, the memory for a burst of its pieces serves the next one. Once it has ended, a reader that
// has read everything holds nearly nothing.
func TestMemoryForBurstsGoesWithTheStep(t *testing.T) {
	t.Parallel()
	var hub Hub
	key := Key{Tenant: "t", Conversation: "c"}
	r, err := hub.Watch(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w := r.(*watcher)
	p := hub.Publisher(key)
	defer p.Close()
	var items [busySlots]Item
	drain := func() {
		t.Helper()
		for {
			n, err := w.tryRead(items[:])
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				return
			}
		}
	}
	head := event.Header{Conversation: "c", Run: "r", Step: "m1", Attempt: 1}
	durable := func(seq int64, b event.Body) {
		h := head
		h.Seq = seq
		p.Publish(event.Event{Header: h, Body: b})
	}
	sent := int64(0)
	burst := func(n int) {
		for range n {
			sent++
			h := head
			h.Epoch, h.N = 1, sent
			p.Publish(event.Event{Header: h, Body: &event.TextDelta{Text: "word "}})
		}
		drain()
	}
	held := func() (slots, given int) { return len(w.topic.line.slots), cap(w.given) }

	durable(1, &event.StepBegun{Step: event.StepModel, Model: "m"})
	drain()
	burst(busySlots)
	if slots, given := held(); slots != busySlots || given != busySlots {
		t.Errorf("after a burst there is memory for %d events in line and %d in hand, want %d", slots, given, busySlots)
	}
	burst(busySlots + 1)
	if slots, _ := held(); slots > busySlots {
		t.Errorf("after a larger burst the line keeps %d slots, want at most %d", slots, busySlots)
	}
	durable(2, &event.StepEnded{Step: event.StepModel})
	drain()
	if slots, given := held(); slots > keptSlots || given > keptSlots {
		t.Errorf("after the step there is memory for %d events in line and %d in hand, want at most %d", slots, given, keptSlots)
	}
}
