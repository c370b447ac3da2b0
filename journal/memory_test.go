package journal_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

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

var _ = context.Background
