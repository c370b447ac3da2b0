package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/service"
)

// pair is two services on one journal, as in two processes.
func pair(t *testing.T) (here, there *house) {
	t.Helper()
	rows := &service.MemoryRows{}
	here = open(t, func(o *service.Options) { o.Rows, o.Shared = rows, true })
	there = open(t, func(o *service.Options) { o.Journal, o.Rows, o.Shared = here.store, rows, true })
	return here, there
}

// reader reads a conversation's durable events on a service, and notes when each came.
type reader struct {
	events []event.Event
	at     []time.Time
	err    error
	done   chan struct{}
}

// follow reads until the run's end, or an error.
func (h *house) follow(t *testing.T, conv string) *reader {
	t.Helper()
	return h.followRun(t, conv, 0, "")
}

// followRun follows a conversation until the run has ended, or any one where none is named. Started.After may
// lie before the end of an earlier run.
func (h *house) followRun(t *testing.T, conv string, after int64, run string) *reader {
	t.Helper()
	f, err := h.Follow(t.Context(), ann, conv, after)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer f.Close()
		var items [8]live.Item
		for {
			n, err := f.Read(t.Context(), items[:])
			if err != nil {
				r.err = err
				return
			}
			for _, item := range items[:n] {
				if item.Event == nil || item.Event.Live() {
					continue
				}
				r.events, r.at = append(r.events, *item.Event), append(r.at, time.Now())
				if _, ok := item.Event.Body.(*event.RunEnded); ok && (run == "" || run == item.Event.Run) {
					return
				}
			}
		}
	}()
	return r
}

// inTime holds a reader against the journal: each event once, in order, within two
// seconds of when it was made, and one end.
func (r *reader) inTime(t *testing.T, h *house, conv string) {
	t.Helper()
	<-r.done
	if r.err != nil {
		t.Errorf("the reader was told %v", r.err)
		return
	}
	want, err := h.store.Read(t.Context(), conv, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.events) != len(want) {
		t.Errorf("it saw %d events of %d", len(r.events), len(want))
	}
	for i := range r.events {
		if r.events[i].Seq != int64(i+1) {
			t.Fatalf("event %d has the Seq %d", i, r.events[i].Seq)
		}
		if late := r.at[i].Sub(r.events[i].Time); late > 2*time.Second {
			t.Errorf("event %d came after %v", i+1, late)
		}
	}
}

func TestARunIsFollowedFromAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t)
		conv := here.conversation(t)
		watcher, beside := there.follow(t, conv), here.follow(t, conv)
		time.Sleep(5 * time.Second)
		begin(t, here, conv, "use sleep")
		watcher.inTime(t, here, conv)
		beside.inTime(t, here, conv)
		late := there.follow(t, conv)
		<-late.done
		if len(late.events) != len(watcher.events) {
			t.Errorf("who came later saw %d events, want %d", len(late.events), len(watcher.events))
		}
	})
}

func begin(t *testing.T, h *house, conv, input string) service.Started {
	t.Helper()
	started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: input})
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// What is answered, cancelled and said on one process reaches the run on another.
func TestAnswersFromAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t)
		conv := here.conversation(t)
		watcher := here.follow(t, conv)
		begin(t, here, conv, "use ask")
		time.Sleep(3 * time.Second)
		open, err := there.Questions(t.Context(), ann, conv)
		if err != nil || len(open) != 1 {
			t.Fatalf("questions: %v, %v", open, err)
		}
		answered := time.Now()
		if _, err := there.Answer(t.Context(), ann, conv, open[0].Token, json.RawMessage("true")); err != nil {
			t.Fatal(err)
		}
		watcher.inTime(t, here, conv)
		if took := time.Since(answered); took > 2*time.Second {
			t.Errorf("the run went on %v after the answer", took)
		}
	})
}

func TestCancelledFromAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t)
		conv := here.conversation(t)
		watcher := there.follow(t, conv)
		started := begin(t, here, conv, "use sleep")
		time.Sleep(3 * time.Second)
		asked := time.Now()
		if err := there.CancelRun(t.Context(), ann, conv, started.Run.ID); err != nil {
			t.Fatal(err)
		}
		watcher.inTime(t, here, conv)
		if took := time.Since(asked); took > 3*time.Second || len(watcher.events) == 0 {
			t.Errorf("it took %v", took)
		} else if b := watcher.events[len(watcher.events)-1].Body.(*event.RunEnded); b.Status != event.RunCancelled {
			t.Errorf("it ended %+v", b)
		}
	})
}

func TestSteeredFromAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t)
		conv := here.conversation(t)
		watcher := here.follow(t, conv)
		started := begin(t, here, conv, "use sleep")
		time.Sleep(3 * time.Second)
		joined, err := there.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "and this", Policy: braid.Steer})
		if err != nil || !joined.Joined || joined.Run.ID != started.Run.ID {
			t.Fatalf("%+v: %v", joined, err)
		}
		watcher.inTime(t, here, conv)
		for _, e := range watcher.events {
			if b, ok := e.Body.(*event.UserMessage); ok && event.TextOf(b.Content) == "and this" && e.Run == started.Run.ID {
				return
			}
		}
		t.Error("the run did not hear of it")
	})
}

// A message that joins a run may repeat the run's settings. Others are refused with their name, and nothing is left for the
// run, also if another process drives it and the message has a key.
func TestSteeredWithSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t)
		conv := here.conversation(t)
		five := service.RunLimits{Cycles: 5}
		started, err := here.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "use sleep", Limits: five})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		for field, r := range map[string]service.RunRequest{
			"limits":           {Limits: service.RunLimits{Cycles: 6}},
			"model":            {Model: "test:parrot"},
			"output_schema":    {OutputSchema: []byte(`{"type":"object"}`)},
			"preferred_skills": {Skills: []string{"x"}},
		} {
			for _, key := range []string{"", "key " + field} {
				r.Input, r.Policy, r.Key = "not this", braid.Steer, key
				joined, err := there.StartRun(t.Context(), ann, conv, r)
				e, ok := errors.AsType[*event.Error](err)
				if !ok || e.Code != service.CodeOtherSettings || !strings.HasPrefix(e.Message, field+": ") {
					t.Errorf("%s, key %q: %+v, %v", field, key, joined, err)
				}
			}
		}
		for range 2 {
			joined, err := there.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "this", Policy: braid.Steer, Limits: five, Key: "k"})
			if err != nil || !joined.Joined || joined.Run.ID != started.Run.ID {
				t.Errorf("its own limits: %+v, %v", joined, err)
			}
		}
		here.wait(t, conv, started)
		// Without an open run the message begins one, with its own settings.
		begun, err := there.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "and this", Policy: braid.Steer, Limits: service.RunLimits{Cycles: 6}})
		if err != nil || begun.Joined {
			t.Errorf("%+v, %v", begun, err)
		}
		there.wait(t, conv, begun)
	})
}

// What is done to a conversation on one process is so on another.
func TestChangesFromAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t)
		conv := here.conversation(t)
		here.wait(t, conv, begin(t, here, conv, "hello"))
		there.wait(t, conv, begin(t, there, conv, "again"))
		if _, err := there.ResetConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		for len(here.seen) > 0 {
			<-here.seen
		}
		here.wait(t, conv, begin(t, here, conv, "anew"))
		if asked := <-here.seen; len(asked) != 1 || asked[0].Text() != "anew" {
			t.Errorf("after a reset elsewhere the model was asked %v", asked)
		}
		title, archived := "called so", true
		if _, err := there.UpdateConversation(t.Context(), ann, conv, service.Changes{Title: &title, Archived: &archived}); err != nil {
			t.Fatal(err)
		}
		if c, err := here.GetConversation(t.Context(), ann, conv); err != nil || c.Title != title {
			t.Errorf("%+v: %v", c, err)
		}
		if _, err := here.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "more"}); !errors.Is(err, event.ErrConflict) {
			t.Errorf("a run of what is archived elsewhere: %v", err)
		}
		f, err := here.Follow(t.Context(), ann, conv, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		deleted := time.Now()
		if err := there.DeleteConversation(t.Context(), ann, conv); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		for err == nil {
			var items [8]live.Item
			_, err = f.Read(ctx, items[:])
		}
		if took := time.Since(deleted); !errors.Is(err, event.ErrNotFound) || took > 4*time.Second {
			t.Errorf("%v after it was deleted elsewhere its reader was told %v", took, err)
		}
	})
}

// Readers of conversations in which nothing happens cost the journal nothing each.
func TestQuietReadersAskTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &service.MemoryRows{}
		h := open(t, func(o *service.Options) { o.Rows = rows })
		conv := h.conversation(t)
		h.wait(t, conv, begin(t, h, conv, "hello"))
		counted := &countingJournal{Memory: h.store}
		there := open(t, func(o *service.Options) { o.Journal, o.Rows, o.Shared = counted, rows, true })
		for range 100 {
			f, err := there.Follow(t.Context(), ann, conv, 0)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				defer f.Close()
				var items [8]live.Item
				for {
					if _, err := f.Read(t.Context(), items[:]); err != nil {
						return
					}
				}
			}()
		}
		time.Sleep(5 * time.Second)
		reads, asks := counted.reads.Load(), counted.heads.Load()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := counted.reads.Load() - reads; n > 0 {
			t.Errorf("100 quiet readers read the journal %d times in a minute", n)
		}
		if n := counted.heads.Load() - asks; n < 50 || n > 130 {
			t.Errorf("the journal was asked %d times in a minute how far they are", n)
		}
	})
}

// Who waits for a conversation tries again when something may have ended, and not because time goes by: a try
// costs the journal more than all of the waiting.
func TestWhoWaitsTriesSeldom(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{true, false} {
		t.Run("shared "+strconv.FormatBool(shared), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rows, counted := &service.MemoryRows{}, &countingJournal{Memory: &journal.Memory{}}
				here := open(t, func(o *service.Options) { o.Journal, o.Rows, o.Shared = counted, rows, shared })
				here.store = counted.Memory
				asks := []*house{here}
				most := int64(3)
				if shared {
					asks = append(asks, open(t, func(o *service.Options) { o.Journal, o.Rows, o.Shared = counted, rows, shared }))
					most = 1
				}
				conv := here.conversation(t)
				begin(t, here, conv, "use sleep")
				ends := time.Now().Add(time.Minute)
				time.Sleep(10 * time.Second)
				for _, h := range asks {
					before := counted.admits.Load()
					_, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi"})
					if got := counted.admits.Load() - before; !errors.Is(err, event.ErrLocked) || got > most {
						t.Errorf("it was tried %d times, at most %d are wanted: %v", got, most, err)
					}
				}
				// The run's end is heard of, in its own process at once.
				last := asks[len(asks)-1]
				time.Sleep(time.Until(ends) - 2500*time.Millisecond)
				if _, err := last.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi"}); err != nil {
					t.Error(err)
				}
				if late := time.Since(ends); late < 0 || late > 2*time.Second || last == here && late > 0 {
					t.Errorf("the next run was let in %v after the end", late)
				}
			})
		})
	}
}

// lateBus lets watchers begin a second late, those after the first few.
type lateBus struct {
	live.Bus
	inTime atomic.Int64
}

func (b *lateBus) Watch(ctx context.Context, key live.Key) (live.Watcher, error) {
	if b.inTime.Add(-1) < 0 {
		time.Sleep(time.Second)
	}
	return b.Bus.Watch(ctx, key)
}

// A run that ends after a request was refused for its sake, and before that begins to listen, is noticed as
// soon as it listens: by what the bus knows, or because it knows nothing of the conversation.
func TestAnEndBetweenATryAndTheWait(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		t.Run("known to the bus "+strconv.FormatBool(known), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bus := &lateBus{Bus: live.NewHub(live.HubOptions{})}
				bus.inTime.Store(100)
				h := open(t, func(o *service.Options) { o.Bus = bus })
				conv := h.conversation(t)
				begin(t, h, conv, "use sleep")
				ends := time.Now().Add(time.Minute)
				time.Sleep(time.Minute - 500*time.Millisecond)
				bus.inTime.Store(0)
				if known { // a reader's own watching, before the first try, keeps the conversation in mind
					bus.inTime.Store(1)
				}
				s, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: "hi", Watch: known})
				if late := time.Since(ends); err != nil || late != 500*time.Millisecond {
					t.Errorf("the next run was let in %v after the end: %v", late, err)
				}
				if s.Follower != nil {
					s.Follower.Close()
				}
			})
		})
	}
}

// countingJournal counts what is read of it, and how often a run was to be admitted.
type countingJournal struct {
	*journal.Memory
	reads, heads, admits atomic.Int64
}

func (c *countingJournal) Admit(ctx context.Context, r journal.Run) (journal.Run, error) {
	c.admits.Add(1)
	return c.Memory.Admit(ctx, r)
}

func (c *countingJournal) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	c.reads.Add(1)
	return c.Memory.Read(ctx, conversation, after, limit)
}

func (c *countingJournal) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	c.reads.Add(1)
	return c.Memory.Tail(ctx, conversation)
}

func (c *countingJournal) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	c.reads.Add(1)
	return c.Memory.StoredTail(ctx, conversation)
}

func (c *countingJournal) LastSeqs(ctx context.Context, conversations []string) (map[string]int64, error) {
	c.heads.Add(1)
	return c.Memory.LastSeqs(ctx, conversations)
}
