package journal_test

import (
	"errors"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/journaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is the store's clock, which stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestMemory(t *testing.T) {
	t.Parallel()
	for name, term := range map[string]time.Duration{"default term": 0, "term of a minute": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journaltest.Run(t, func(*testing.T) journaltest.Harness {
				c := &clock{now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
				return journaltest.Harness{
					Store:   journal.NewMemory(journal.MemoryOptions{Term: term, Now: c.Now}),
					Term:    term,
					Advance: c.Advance,
				}
			})
		})
	}
	t.Run("zero value", func(t *testing.T) {
		t.Parallel()
		journaltest.Run(t, func(*testing.T) journaltest.Harness {
			return journaltest.Harness{Store: new(journal.Memory)}
		})
	})
}

// A lease runs on the clock of the bubble that the store is used in.
func TestMemoryKeepsTimeByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m journal.Memory
		ctx := t.Context()
		must(t)(m.Admit(ctx, journal.Run{ID: "run", Conversation: "talk"}))
		opened := must(t)(m.Acquire(ctx, "run", 0)).(journal.Opened)
		if got := time.Until(opened.Lease.Until); got != journal.DefaultTerm {
			t.Errorf("the lease ends in %v, want %v", got, journal.DefaultTerm)
		}
		time.Sleep(journal.DefaultTerm - time.Nanosecond)
		_, err := m.Acquire(ctx, "run", 0)
		var locked *event.Error
		if !errors.As(err, &locked) || locked.Kind != event.ErrLocked || locked.RetryAfter != time.Nanosecond {
			t.Errorf("Acquire just before the end: %#v, want %s and to try again in 1ns", err, event.ErrLocked)
		}
		time.Sleep(time.Nanosecond)
		must(t)(m.Acquire(ctx, "run", 0))
	})
}

// A turn must not cost more where more came before it.
//
//nolint:paralleltest // memory is counted for the whole program
func TestMemoryTurnDoesNotGrowWithTheLog(t *testing.T) {
	const turns = 100
	cost := func(prior int) uint64 {
		store, last := withHistory(t, prior)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range turns {
			last = newTurn("run"+strconv.Itoa(i)).play(t, store, last)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / turns
	}
	short, long := cost(10), cost(10_000)
	t.Logf("bytes a turn: %d after 10 events, %d after 10,000", short, long)
	// The log itself grows now and then; copying it would be 80,000 bytes a turn.
	if long > short+8_000 {
		t.Errorf("a turn takes %d bytes after 10,000 events and %d after 10", long, short)
	}
}

// What nobody can ask for any more is given back to the collector.
func TestMemoryLetsGoOfReadMail(t *testing.T) {
	t.Parallel()
	var m journal.Memory
	ctx := t.Context()
	must(t)(m.Admit(ctx, journal.Run{ID: "run", Conversation: "talk"}))
	post := func(id string, kind journal.MailKind) weak.Pointer[event.Text] {
		text := &event.Text{Text: id}
		mail := journal.Mail{ID: id, Run: "run", Kind: kind, Message: []event.Block{text}}
		if err := m.Post(ctx, mail); err != nil {
			t.Fatal(err)
		}
		return weak.Make(text)
	}
	unread, read := post("unread", journal.MailChild), post("read", journal.MailMessage)
	lease := must(t)(m.Acquire(ctx, "run", 0)).(journal.Opened).Lease
	if err := m.Commit(ctx, lease, journal.Batch{Read: []string{"read"}}); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if read.Value() != nil {
		t.Error("mail that was read is kept")
	}
	if unread.Value() == nil {
		t.Error("mail that was not read is gone")
	}
	end := &event.Event{
		Header: event.Header{Seq: 1, Conversation: "talk", Run: "run"},
		Body:   &event.RunEnded{Status: event.RunCompleted},
	}
	if err := m.Commit(ctx, lease, journal.Batch{Events: []*event.Event{end}, Status: event.RunCompleted}); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if unread.Value() != nil {
		t.Error("mail of a run that has ended is kept")
	}
	runtime.KeepAlive(&m)
}
