package live_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/live/livetest"
)

func TestHub(t *testing.T) {
	t.Parallel()
	t.Run("zero value", func(t *testing.T) {
		t.Parallel()
		livetest.Run(t, func(*testing.T) livetest.Harness { return livetest.Harness{Bus: new(live.Hub)} })
	})
	t.Run("short lines", func(t *testing.T) {
		t.Parallel()
		livetest.Run(t, func(*testing.T) livetest.Harness {
			return livetest.Harness{Bus: live.NewHub(live.HubOptions{Events: 60}), Unread: 61}
		})
	})
}

// A watcher may leave exactly so many events unread.
func TestHubBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options live.HubOptions
		events  int
		size    int
		synced  bool
	}{
		{"as many events as may wait", live.HubOptions{Events: 10}, 10, 1, false},
		{"one more", live.HubOptions{Events: 10}, 11, 1, true},
		{"the default", live.HubOptions{}, live.DefaultEvents, 1, false},
		{"more than the default", live.HubOptions{}, live.DefaultEvents + 1, 1, true},
		{"an answer of a thousand pieces at once", live.HubOptions{}, 1000, 20, false},
		{"bytes under the bound", live.HubOptions{Bytes: 10_000}, 4, 2000, false},
		{"bytes over the bound", live.HubOptions{Bytes: 10_000}, 5, 2000, true},
		{"one large event", live.HubOptions{Bytes: 10}, 1, 2000, false},
		{"the default bytes", live.HubOptions{}, 5, live.DefaultBytes / 4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hub := live.NewHub(c.options)
			w := watch(t, hub)
			p := hub.Publisher(here)
			defer p.Close()
			s := livetest.Script{Conversation: "c", Run: "r"}
			for range c.events {
				p.Publish(s.Durable("", 0, &event.UserMessage{
					Content: []event.Block{&event.Text{Text: strings.Repeat("x", c.size)}},
				}))
			}
			items := make([]live.Item, 2*live.DefaultEvents)
			n, err := w.Read(t.Context(), items)
			if err != nil {
				t.Fatal(err)
			}
			if got := items[0].Sync != nil; got != c.synced {
				t.Errorf("was cut off is %v after %d items, want %v", got, n, c.synced)
			}
			if !c.synced && n != c.events {
				t.Errorf("got %d events, want %d", n, c.events)
			}
		})
	}
}

// What one step may take is bounded, and the snapshot says what it left out.
func TestHubKeepsSoMuchOfAStep(t *testing.T) {
	t.Parallel()
	hub := live.NewHub(live.HubOptions{StepBytes: 1000})
	p := hub.Publisher(here)
	defer p.Close()
	s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
	p.Publish(s.Begin("m1", 1))
	p.Publish(s.Text("m1", 1, strings.Repeat("a", 900)))
	p.Publish(s.Text("m1", 1, strings.Repeat("b", 900)))
	p.Publish(s.Text("m1", 1, "c"))
	p.Publish(s.BeginTool("t1", 1, "c1", "tool"))
	p.Publish(s.Progress("t1", 1, "c1", "tool", strings.Repeat("d", 2000)))
	steps := first(t, watch0(t, hub)).Steps
	if len(steps) != 2 || !steps[0].Truncated || steps[0].Blocks[0].Text != strings.Repeat("a", 900) {
		t.Errorf("a step over the bound is %+v, want its beginning and that it is truncated", steps)
	}
	if !steps[1].Truncated || steps[1].Progress != nil {
		t.Errorf("a progress over the bound is %+v, want none and that it is truncated", steps[1])
	}
	// The next progress takes its place and is whole.
	p.Publish(s.Progress("t1", 1, "c1", "tool", "half"))
	steps = first(t, watch0(t, hub)).Steps
	if steps[1].Truncated || steps[1].Progress == nil {
		t.Errorf("the next progress is %+v, want it whole", steps[1])
	}
	// Another attempt begins with all the room.
	p.Publish(s.Begin("m1", 2))
	p.Publish(s.Text("m1", 2, strings.Repeat("e", 900)))
	steps = first(t, watch0(t, hub)).Steps
	if got := steps[len(steps)-1]; got.Truncated || got.Attempt != 2 {
		t.Errorf("the next attempt is %+v, want it whole", got)
	}
}

// Events that everybody has read, or that nobody is to read, are let go of once their
// readers wait for more.
func TestHubLetsGoOfEvents(t *testing.T) {
	t.Parallel()
	hub := new(live.Hub)
	quick, stuck := watch(t, hub), watch(t, hub)
	p := hub.Publisher(here)
	defer p.Close()
	s := livetest.Script{Conversation: "c", Run: "r"}
	send := func() weak.Pointer[event.Notice] {
		body := &event.Notice{Code: "x"}
		p.Publish(s.Durable("", 0, body))
		return weak.Make(body)
	}
	gone := func(what string, ref weak.Pointer[event.Notice], want bool) {
		t.Helper()
		runtime.GC()
		if got := ref.Value() == nil; got != want {
			t.Errorf("%s: is let go of: %v, want %v", what, got, want)
		}
	}
	waits := func(w live.Watcher) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		if _, err := w.Read(ctx, make([]live.Item, 1)); !errors.Is(err, event.ErrTimeout) {
			t.Fatalf("waiting for more gave %v, want %v", err, event.ErrTimeout)
		}
	}
	one := send()
	read(t, quick)
	gone("read by one of two", one, false)
	read(t, stuck)
	waits(quick)
	waits(stuck)
	gone("read by both", one, true)
	two := send()
	for range live.DefaultEvents {
		read(t, quick)
		send()
	}
	gone("left unread by one who was cut off", two, true)
	last := send()
	stuck.Close()
	read(t, quick)
	waits(quick)
	gone("read by all who are left", last, true)
	quick.Close()
	gone("published to nobody", send(), true)
	runtime.KeepAlive(p)
}

// Publishing where nobody watches costs no memory but for the snapshot's text.
//
//nolint:paralleltest // AllocsPerRun counts for the whole process.
func TestPublishingToNobodyDoesNotAllocate(t *testing.T) {
	hub := new(live.Hub)
	p := hub.Publisher(here)
	defer p.Close()
	s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
	p.Publish(s.BeginTool("t1", 1, "c1", "tool"))
	body := &event.ToolProgress{Call: "c1", Tool: "tool", Text: "half"}
	if n := testing.AllocsPerRun(1000, func() { p.Publish(s.Live("t1", 1, body)) }); n > 0 {
		t.Errorf("%v allocations for each event, want 0", n)
	}
}

// A conversation that nobody publishes to or watches is forgotten, whatever
// went on in it.
func TestHubForgetsConversations(t *testing.T) {
	t.Parallel()
	hub := new(live.Hub)
	p := hub.Publisher(here)
	s := livetest.Script{Conversation: "c", Run: "r", Epoch: 1}
	p.Publish(s.Begin("m1", 1))
	p.Publish(s.Text("m1", 1, "half a "))
	p.Close()
	if got := first(t, watch0(t, hub)); got.Last != 0 || len(got.Steps) != 0 {
		t.Errorf("the hub still knows %+v", got)
	}
}

// watch gives a watcher that has read its first sync.
func watch(t *testing.T, hub *live.Hub) live.Watcher {
	t.Helper()
	w := watch0(t, hub)
	first(t, w)
	return w
}

func watch0(t *testing.T, hub *live.Hub) live.Watcher {
	t.Helper()
	w, err := hub.Watch(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// first reads a watcher's first item.
func first(t *testing.T, w live.Watcher) *live.Sync {
	t.Helper()
	items := make([]live.Item, 8)
	n, err := w.Read(t.Context(), items)
	if err != nil || n != 1 || items[0].Sync == nil {
		t.Fatalf("the first read gave %d items, %v", n, err)
	}
	return items[0].Sync
}

// read reads what is there and lets go of it.
func read(t *testing.T, w live.Watcher) {
	t.Helper()
	if _, err := w.Read(context.Background(), make([]live.Item, 1000)); err != nil {
		t.Fatal(err)
	}
}

// What all slow watchers leave unread together is bounded. Those that are cut off get a snapshot with all that was said, and go on;
// nobody who publishes waits, and a watcher that keeps up gets every piece.
func TestHubBoundsAllWatchersTogether(t *testing.T) {
	t.Parallel()
	const total, conversations, pieces, size = 4 << 20, 200, 20, 8 << 10
	hub := live.NewHub(live.HubOptions{Total: total})
	type talk struct {
		p       live.Publisher
		s       livetest.Script
		w       live.Watcher
		said    int
		heard   int
		synced  bool
		stopped bool
	}
	begin := func(n int) *talk {
		key := live.Key{Conversation: fmt.Sprint("talk ", n)}
		w, err := hub.Watch(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		a := &talk{p: hub.Publisher(key), w: w, s: livetest.Script{Conversation: key.Conversation, Run: "r", Epoch: 1}}
		t.Cleanup(a.w.Close)
		t.Cleanup(a.p.Close)
		if len(first(t, w).Steps) != 0 {
			t.Fatal("there are steps before the first")
		}
		a.p.Publish(a.s.Begin("m1", 1))
		return a
	}
	say := func(a *talk) {
		a.p.Publish(a.s.Text("m1", 1, strings.Repeat("x", size)))
		a.said += size
		if n := hub.Buffered(); n > total+size {
			t.Fatalf("%d bytes wait, want at most %d", n, total)
		}
	}
	// hear reads all that is there; it may wait where want is not reached.
	hear := func(a *talk, want int) {
		items := make([]live.Item, 64)
		for a.heard < want || !a.stopped && want == 0 {
			n, err := a.w.Read(t.Context(), items)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range items[:n] {
				if s := item.Sync; s != nil {
					a.synced, a.heard = true, 0
					for _, step := range s.Steps {
						for _, b := range step.Blocks {
							a.heard += len(b.Text)
						}
					}
				} else if d, ok := item.Event.Body.(*event.TextDelta); ok {
					a.heard += len(d.Text)
				}
			}
			if want == 0 {
				return
			}
		}
	}
	slow, fast := make([]*talk, conversations), begin(conversations)
	hear(fast, 0)
	for n := range slow {
		slow[n] = begin(n)
	}
	for range pieces {
		for _, a := range slow {
			say(a)
		}
		say(fast)
		hear(fast, fast.said)
	}
	if fast.synced {
		t.Error("the watcher that keeps up was cut off")
	}
	cut := 0
	for n, a := range slow {
		hear(a, a.said)
		if a.synced {
			cut++
		}
		say(a)
		hear(a, a.said)
		if a.heard != a.said {
			t.Errorf("conversation %d has said %d bytes, and %d were heard", n, a.said, a.heard)
		}
	}
	if cut < conversations/2 {
		t.Errorf("%d of %d slow watchers were cut off", cut, conversations)
	}
	if n := hub.Buffered(); n > conversations*4<<10 {
		t.Errorf("%d bytes wait when everything was read", n)
	}
	fast.w.Close()
	for _, a := range slow {
		a.w.Close()
	}
	if n := hub.Buffered(); n != 0 {
		t.Errorf("%d bytes wait for nobody", n)
	}
}

// Many publish and read at once while the bound of all watchers is met.
func TestHubBoundsAllWatchersAtOnce(t *testing.T) {
	t.Parallel()
	hub := live.NewHub(live.HubOptions{Total: 1 << 20})
	var all sync.WaitGroup
	for n := range 16 {
		key := live.Key{Conversation: fmt.Sprint("talk ", n)}
		all.Go(func() {
			w, err := hub.Watch(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			p := hub.Publisher(key)
			s := livetest.Script{Conversation: key.Conversation, Run: "r", Epoch: 1}
			items := make([]live.Item, 64)
			p.Publish(s.Begin("m1", 1))
			for i := range 200 {
				p.Publish(s.Text("m1", 1, strings.Repeat("x", 4<<10)))
				if n%2 == 0 || i == 199 {
					if _, err := w.Read(t.Context(), items); err != nil {
						t.Error(err)
					}
				}
			}
			p.Close()
			w.Close()
		})
	}
	all.Wait()
	if n := hub.Buffered(); n != 0 {
		t.Errorf("%d bytes wait for nobody", n)
	}
}
