package enginetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// of returns a run of a tenant in a conversation of its own.
func of(tenant string, i int) journal.Run {
	id := fmt.Sprint(tenant, " ", i)
	r := run(id, id)
	r.Tenant = tenant
	return r
}

func boundCases() []testCase {
	return []testCase{
		{"no more runs at once than there may be", func(p *probe) {
			e := p.start()
			for i := range 40 {
				for _, tenant := range []string{"a", "b"} {
					p.driver.will(of(tenant, i).ID, forAWhile(20*time.Millisecond))
					p.submit(e, of(tenant, i))
				}
			}
			for i := range 40 {
				p.stands(of("a", i), event.RunCompleted)
				p.stands(of("b", i), event.RunCompleted)
			}
			equal(p, "in all", p.driver.peak("all"), 4)
			if got := max(p.driver.peak("tenant a"), p.driver.peak("tenant b")); got > 3 {
				p.Fatalf("%d runs of one tenant at once, want 3 at most", got)
			}
		}},
		{"no more runs of a tenant at once than it may have", func(p *probe) {
			e := p.start()
			for i := range 20 {
				p.driver.will(of("a", i).ID, forAWhile(20*time.Millisecond))
				p.submit(e, of("a", i))
			}
			for i := range 20 {
				p.stands(of("a", i), event.RunCompleted)
			}
			equal(p, "at once", p.driver.peak("tenant a"), 3)
		}},
		{"one tenant's backlog does not keep another waiting", func(p *probe) {
			e := p.start()
			const many, few = 200, 10
			for i := range many {
				p.driver.will(of("many", i).ID, forAWhile(20*time.Millisecond))
				p.submit(e, of("many", i))
			}
			p.until("some to begin", func() bool { return len(p.driver.order()) > 0 })
			for i := range few {
				p.driver.will(of("few", i).ID, forAWhile(20*time.Millisecond))
				p.submit(e, of("few", i))
			}
			for i := range few {
				p.stands(of("few", i), event.RunCompleted)
			}
			before := 0
			for _, id := range p.driver.order() {
				if id[0] == 'm' {
					before++
				}
			}
			// In turns it would be about as many; some order is lost on the way.
			if before > many/2 {
				p.Fatalf("%d of %d runs of one tenant went before the last of %d of another", before, many, few)
			}
		}},
		{"a backlog that is full is refused and not written", func(p *probe) {
			p.setup.TenantBacklog = 5
			e := p.start()
			release := make(chan struct{})
			hold := func(ctx context.Context, s *stage) (engine.Outcome, error) {
				select {
				case <-release:
				case <-p.ctx.Done():
				}
				return toTheEnd(ctx, s)
			}
			for i := range 3 {
				p.driver.will(of("a", i).ID, hold)
				p.submit(e, of("a", i))
			}
			p.until("three to begin", func() bool { return len(p.driver.order()) == 3 })
			for i := 3; i < 8; i++ {
				p.submit(e, of("a", i))
			}
			_, err := e.Submit(p.ctx, of("a", 8))
			p.refused("one run too many", err, event.ErrBacklogFull)
			if full, _ := errors.AsType[*event.Error](err); full.RetryAfter <= 0 || full.Hint == "" {
				p.Fatalf("the error does not say when to come again: %#v", full)
			}
			due, err := p.store.Due(p.ctx, 0)
			p.ok("Due", err)
			equal(p, "queued in the journal", len(due), 5)
			// Another tenant has room of its own.
			p.submit(e, of("b", 0))
			p.stands(of("b", 0), event.RunCompleted)
			close(release)
			p.stands(of("a", 7), event.RunCompleted)
			p.submit(e, of("a", 8))
			p.stands(of("a", 8), event.RunCompleted)
		}},
		{"a backlog that is full in all is refused", func(p *probe) {
			p.setup.Backlog = 5
			e := p.open()
			for i := range 5 {
				p.submit(e, of(fmt.Sprint("tenant ", i), 0))
			}
			_, err := e.Submit(p.ctx, of("another", 0))
			p.refused("one run too many", err, event.ErrBacklogFull)
			p.ok("Start", e.Start(p.ctx))
			for i := range 5 {
				p.stands(of(fmt.Sprint("tenant ", i), 0), event.RunCompleted)
			}
			p.submit(e, of("another", 0))
		}},
	}
}
