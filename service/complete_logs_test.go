package service_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
)

// flaky is a journal whose connection breaks: messages are not kept as often as it says, what a title cost is not
// noted as often, and the answer to the commit that ends a run is lost once.
type flaky struct {
	*journal.Memory

	messages, usage atomic.Int64
	ends            atomic.Bool
}

var errLost = &event.Error{Op: "journal", Kind: event.ErrUnavailable, Message: "the connection is lost"}

func (f *flaky) KeepMessages(ctx context.Context, run string, list []journal.MessageEntry) error {
	if f.messages.Add(-1) >= 0 {
		return errLost
	}
	return f.Memory.KeepMessages(ctx, run, list)
}

func (f *flaky) AddUsage(ctx context.Context, e journal.UsageEntry) error {
	if f.usage.Add(-1) >= 0 {
		return errLost
	}
	return f.Memory.AddUsage(ctx, e)
}

func (f *flaky) Commit(ctx context.Context, l journal.Lease, b journal.Batch) error {
	err := f.Memory.Commit(ctx, l, b)
	if err == nil && b.Status.Ended() && f.ends.Swap(false) {
		return &event.Error{Op: "journal", Kind: event.ErrLeaseLost, Message: "the lease is lost"}
	}
	return err
}

// kept are how many messages the journal has of the conversation; nobody asks the service.
func kept(t *testing.T, store *journal.Memory, conv string) int {
	t.Helper()
	list, err := store.Messages(t.Context(), journal.MessageQuery{Tenant: "acme", Conversation: conv})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// The message log of a run is completed without anybody asking for it, whatever broke at the run's end.
func TestTheMessageLogIsCompletedByItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input string
		what  func(f *flaky)
		after time.Duration
	}{
		"nothing breaks":                {"hello", func(*flaky) {}, 0},
		"it is not kept at once":        {"hello", func(f *flaky) { f.messages.Store(1) }, 2 * time.Second},
		"nor for a while":               {"hello", func(f *flaky) { f.messages.Store(6) }, 2 * time.Minute},
		"the driver misses the end":     {"hello", func(f *flaky) { f.ends.Store(true) }, 5 * time.Second},
		"and then it is not kept":       {"hello", func(f *flaky) { f.ends.Store(true); f.messages.Store(3) }, time.Minute},
		"a cancelled run is not kept":   {"use sleep", func(f *flaky) { f.messages.Store(2) }, time.Minute},
		"a cancelled run's end is lost": {"use sleep", func(f *flaky) { f.ends.Store(true) }, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &flaky{Memory: &journal.Memory{}}
				c.what(store)
				h := open(t, func(o *service.Options) { o.Journal = store })
				conv := h.conversation(t)
				started, err := h.StartRun(t.Context(), ann, conv, service.RunRequest{Input: c.input})
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c.input != "hello" {
					if err := h.CancelRun(t.Context(), ann, conv, started.Run.ID); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(c.after)
				synctest.Wait()
				if n := kept(t, store.Memory, conv); n < 3 {
					t.Errorf("%d messages are kept", n)
				}
			})
		})
	}
}

// A process that dies at a run's end leaves no messages of it; they come with the conversation's next run.
func TestTheMessageLogAfterADeath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, rows := &flaky{Memory: &journal.Memory{}}, &service.MemoryRows{}
		store.messages.Store(1000)
		with := func(o *service.Options) { o.Journal, o.Rows = store, rows }
		dead := open(t, with)
		conv := dead.conversation(t)
		dead.say(t, conv, "hello")
		if err := dead.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := kept(t, store.Memory, conv); n != 0 {
			t.Fatalf("%d messages were kept", n)
		}
		store.messages.Store(0)
		next := open(t, with)
		next.say(t, conv, "hello again")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := kept(t, store.Memory, conv); n < 8 {
			t.Errorf("%d messages are kept of two runs", n)
		}
	})
}

// What a title cost is noted once the store answers again.
func TestWhatATitleCostIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := []string{}
		store := &flaky{Memory: &journal.Memory{}}
		store.usage.Store(5)
		h, _ := titledOn(t, namer{title: "A title", asked: &asked, spends: event.Usage{Input: 20, Total: 20}}, store)
		h.say(t, h.conversation(t), "hello there")
		time.Sleep(time.Minute)
		synctest.Wait()
		usage, err := store.UsageLog(t.Context(), journal.LedgerQuery{Tenant: "acme", Model: "test:light"})
		if err != nil || len(usage) != 1 || usage[0].Kind != journal.UsageTitle {
			t.Errorf("%+v %v", usage, err)
		}
	})
}
