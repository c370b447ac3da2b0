package enginetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// fakeDriver drives runs for the suite: it acquires the lease, does what the case wants, and records
// it.
type fakeDriver struct {
	p *probe

	mu sync.Mutex
	// plays say what runs do, by id. A run without one ends at once.
	plays map[string]act
	// before is called before the lease is acquired. Its error ends the drive.
	before func(w engine.Work) error
	// begun are the runs that were driven, in that order.
	begun []string
	// works are the engine's arguments, by run.
	works map[string][]engine.Work
	// now and most count the runs in progress, in total, by tenant and by conversation.
	now, most map[string]int
}

// act is what a run does once its lease is acquired.
type act func(ctx context.Context, s *stage) (engine.Outcome, error)

// stage is a run that is being driven.
type stage struct {
	p      *probe
	work   engine.Work
	opened journal.Opened
	last   int64
	ctx    context.Context //nolint:containedctx // for writes after a cancellation
}

func newFakeDriver(p *probe) *fakeDriver {
	return &fakeDriver{
		p: p, plays: map[string]act{}, works: map[string][]engine.Work{}, now: map[string]int{}, most: map[string]int{},
	}
}

// will sets what a run does.
func (c *fakeDriver) will(run string, do act) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plays[run] = do
}

// drive implements [engine.Drive].
func (c *fakeDriver) drive(ctx context.Context, w engine.Work) (engine.Outcome, error) {
	c.mu.Lock()
	c.works[w.Run.ID] = append(c.works[w.Run.ID], w)
	before := c.before
	c.mu.Unlock()
	if before != nil {
		if err := before(w); err != nil {
			return engine.Outcome{}, err
		}
	}
	base := context.WithoutCancel(ctx)
	opened, err := c.p.store.Acquire(base, w.Run.ID, 0)
	if err != nil {
		return engine.Outcome{}, err
	}
	row := opened.Run
	keys := []string{"all", "tenant " + row.Tenant, "conversation " + row.Tenant + " " + row.Conversation}
	c.mu.Lock()
	do := c.plays[row.ID]
	c.begun = append(c.begun, row.ID)
	for _, k := range keys {
		c.now[k]++
		c.most[k] = max(c.most[k], c.now[k])
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, k := range keys {
			c.now[k]--
		}
	}()
	s := &stage{p: c.p, work: w, opened: opened, last: opened.Last, ctx: base}
	if do == nil {
		do = toTheEnd
	}
	return do(ctx, s)
}

// toTheEnd ends a run at once: cancelled if that was requested, else completed.
func toTheEnd(_ context.Context, s *stage) (engine.Outcome, error) {
	if s.opened.Run.Cancelled {
		return s.end(event.RunCancelled)
	}
	return s.end(event.RunCompleted)
}

// forAWhile works for some time and ends.
func forAWhile(d time.Duration) act {
	return func(ctx context.Context, s *stage) (engine.Outcome, error) {
		s.p.rest(d)
		return toTheEnd(ctx, s)
	}
}

// commit writes a batch of events.
func (s *stage) commit(b journal.Batch, bodies ...event.Body) error {
	for _, body := range bodies {
		s.last++
		b.Events = append(b.Events, &event.Event{Header: event.Header{
			Seq: s.last, Conversation: s.opened.Run.Conversation, Run: s.opened.Run.ID, Time: time.Now(),
		}, Body: body})
	}
	for _, m := range s.opened.Mail {
		b.Read = append(b.Read, m.ID)
	}
	s.opened.Mail = nil
	return s.p.store.Commit(s.ctx, s.opened.Lease, b)
}

// end ends the run.
func (s *stage) end(status event.RunStatus) (engine.Outcome, error) {
	err := s.commit(journal.Batch{Status: status}, &event.RunEnded{Status: status})
	return engine.Outcome{Status: status}, err
}

// park makes the run wait.
func (s *stage) park(wake time.Time) (engine.Outcome, error) {
	err := s.commit(journal.Batch{Status: event.RunWaiting, WakeAt: wake})
	return engine.Outcome{Status: event.RunWaiting, WakeAt: wake}, err
}

// release releases the lease and leaves the run as it is.
func (s *stage) release() (engine.Outcome, error) {
	err := s.commit(journal.Batch{Release: true})
	return engine.Outcome{Status: event.RunRunning}, err
}

// once does first the first time, and then what toTheEnd does.
func once(first act) act {
	var mu sync.Mutex
	done := false
	return func(ctx context.Context, s *stage) (engine.Outcome, error) {
		mu.Lock()
		again := done
		done = true
		mu.Unlock()
		if again {
			return toTheEnd(ctx, s)
		}
		return first(ctx, s)
	}
}

// order returns the runs in the order in which they were driven.
func (c *fakeDriver) order() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.begun)
}

// times returns how often a run was driven.
func (c *fakeDriver) times(run string) int {
	n := 0
	for _, id := range c.order() {
		if id == run {
			n++
		}
	}
	return n
}

// drives returns how often the engine called drive for a run.
func (c *fakeDriver) drives(run string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.works[run])
}

// peak returns the largest number of runs in progress at once.
func (c *fakeDriver) peak(of string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most[of]
}
