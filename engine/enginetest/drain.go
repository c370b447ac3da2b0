package enginetest

import (
	"context"
	"strconv"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
)

func drainCases() []testCase {
	return []testCase{
		{"a run is handed back and goes on elsewhere", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			begun := make(chan struct{})
			p.driver.will("a", once(func(ctx context.Context, s *stage) (engine.Outcome, error) {
				close(begun)
				select {
				case <-s.work.Draining:
				case <-p.ctx.Done():
				}
				if ctx.Err() != nil {
					p.Errorf("the run was cancelled before its time was over")
				}
				return s.release()
			}))
			p.submit(e, a)
			<-begun
			p.ok("Drain", e.Drain(p.ctx))
			p.ok("Drain again", e.Drain(p.ctx))
			equal(p, "status", p.status(a), event.RunRunning)
			p.start()
			p.stands(a, event.RunCompleted)
			equal(p, "taken", p.driver.times("a"), 2)
		}},
		{"a run that ends in time ends here", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.driver.will("a", forAWhile(500*time.Millisecond))
			p.submit(e, a)
			p.until("its beginning", func() bool { return p.driver.times("a") == 1 })
			p.ok("Drain", e.Drain(p.ctx))
			equal(p, "status", p.status(a), event.RunCompleted)
		}},
		{"a run that goes on is stopped when the time is over", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			begun := make(chan struct{})
			var cause error
			p.driver.will("a", once(func(ctx context.Context, s *stage) (engine.Outcome, error) {
				close(begun)
				select {
				case <-ctx.Done():
				case <-p.ctx.Done():
				}
				cause = context.Cause(ctx)
				return s.release()
			}))
			p.submit(e, a)
			<-begun
			p.ok("Drain", e.Drain(p.ctx))
			p.refused("the cause", cause, event.ErrUnavailable)
			p.start()
			p.stands(a, event.RunCompleted)
		}},
		{"nothing begins after a drain", func(p *probe) {
			e := p.start()
			release := make(chan struct{})
			for i := range 10 {
				id := strconv.Itoa(i)
				p.driver.will(id, func(ctx context.Context, s *stage) (engine.Outcome, error) {
					select {
					case <-release:
					case <-p.ctx.Done():
					}
					return toTheEnd(ctx, s)
				})
				p.submit(e, run(id, id))
			}
			p.until("three to begin", func() bool { return len(p.driver.order()) == 3 })
			done := make(chan error, 1)
			go func() { done <- e.Drain(p.ctx) }()
			p.until("the drain", func() bool {
				_, err := e.Submit(p.ctx, run("late", "late"))
				return err != nil
			})
			close(release)
			p.ok("Drain", <-done)
			begun := p.driver.order()
			if len(begun) != 3 {
				p.Fatalf("%v were taken, want the three of one tenant's share", begun)
			}
			p.rest(5 * time.Second)
			equal(p, "taken later", p.driver.order(), begun)
			// What was queued is in the journal.
			p.start()
			for i := range 10 {
				id := strconv.Itoa(i)
				p.stands(run(id, id), event.RunCompleted)
			}
		}},
		{"what comes after a drain is refused and not written", func(p *probe) {
			e := p.start()
			p.ok("Drain", e.Drain(p.ctx))
			a := run("a", "talk")
			_, err := e.Submit(p.ctx, a)
			p.refused("Submit", err, event.ErrUnavailable)
			due, err := p.store.Due(p.ctx, 0)
			p.ok("Due", err)
			equal(p, "due", len(due), 0)
			p.ok("Wake", e.Wake(p.ctx, a))
		}},
		{"an engine that was not started can be drained", func(p *probe) {
			e := p.open()
			p.submit(e, run("a", "talk"))
			p.ok("Drain", e.Drain(p.ctx))
			p.start()
			p.stands(run("a", "talk"), event.RunCompleted)
		}},
	}
}
