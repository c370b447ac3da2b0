package enginetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func submitCases() []testCase {
	return []testCase{
		{"a run is driven to its end, once", func(p *probe) {
			e := p.start()
			row := p.submit(e, run("a", "talk"))
			equal(p, "turn", row.Turn, 1)
			equal(p, "status", row.Status, event.RunQueued)
			p.stands(run("a", "talk"), event.RunCompleted)
			p.rest(5 * time.Second)
			equal(p, "drives", p.driver.drives("a"), 1)
		}},
		{"the drive is told who it is for", func(p *probe) {
			e := p.start()
			p.submit(e, run("a", "talk"))
			p.stands(run("a", "talk"), event.RunCompleted)
			p.driver.mu.Lock()
			defer p.driver.mu.Unlock()
			w := p.driver.works["a"][0]
			equal(p, "names", []string{w.Run.ID, w.Run.Conversation, w.Run.Tenant}, []string{"a", "talk", "tenant"})
			if w.Mail == nil || w.Draining == nil {
				p.Fatalf("the work has no signals: %+v", w)
			}
		}},
		{"what is submitted before the start waits for it", func(p *probe) {
			e := p.open()
			p.submit(e, run("a", "talk"))
			p.rest(time.Second)
			equal(p, "taken before the start", p.driver.order(), nil)
			p.ok("Start", e.Start(p.ctx))
			p.stands(run("a", "talk"), event.RunCompleted)
			equal(p, "taken", p.driver.order(), []string{"a"})
		}},
		{"the same run twice is once", func(p *probe) {
			e := p.start()
			p.driver.will("a", forAWhile(time.Second))
			first, second := p.submit(e, run("a", "talk")), p.submit(e, run("a", "talk"))
			equal(p, "turns", []int{first.Turn, second.Turn}, []int{1, 1})
			p.stands(run("a", "talk"), event.RunCompleted)
			equal(p, "status", p.submit(e, run("a", "talk")).Status, event.RunCompleted)
			p.rest(5 * time.Second)
			equal(p, "taken", p.driver.order(), []string{"a"})
		}},
		{"the same key twice is once", func(p *probe) {
			e := p.start()
			a, b := run("a", "talk"), run("b", "talk")
			b.Input = a.Input
			a.Key, b.Key = "key", "key"
			var wg sync.WaitGroup
			for range 10 {
				for _, r := range []journal.Run{a, b} {
					wg.Go(func() {
						if _, err := e.Submit(p.ctx, r); err != nil {
							p.Errorf("Submit: %v", err)
						}
					})
				}
			}
			wg.Wait()
			p.until("the end", func() bool { return p.status(a) == event.RunCompleted })
			p.rest(5 * time.Second)
			equal(p, "runs that were taken", len(p.driver.order()), 1)
		}},
		{"what the journal refuses is refused", func(p *probe) {
			e := p.start()
			p.submit(e, run("a", "talk"))
			other := run("a", "talk")
			other.Input = nil
			_, err := e.Submit(p.ctx, other)
			p.refused("another input under the same id", err, event.ErrConflict)
			foreign := run("b", "talk")
			foreign.Tenant = "other"
			_, err = e.Submit(p.ctx, foreign)
			p.refused("another tenant's conversation", err, event.ErrNotFound)
			_, err = e.Submit(p.ctx, journal.Run{})
			p.refused("a run without a name", err, event.ErrInvalid)
			p.stands(run("a", "talk"), event.RunCompleted)
			equal(p, "taken", p.driver.order(), []string{"a"})
		}},
	}
}

func orderCases() []testCase {
	return []testCase{
		{"runs of one conversation go one after another", func(p *probe) {
			e := p.start()
			var want []string
			for i := range 6 {
				id := fmt.Sprint("run ", i)
				want = append(want, id)
				p.driver.will(id, forAWhile(50*time.Millisecond))
				p.submit(e, run(id, "talk"))
			}
			p.stands(run("run 5", "talk"), event.RunCompleted)
			equal(p, "taken", p.driver.order(), want)
			equal(p, "at once", p.driver.peak("conversation tenant talk"), 1)
		}},
		{"conversations go side by side", func(p *probe) {
			e := p.start()
			var here atomic.Int64
			all := make(chan struct{})
			for i := range 3 {
				id := fmt.Sprint("run ", i)
				p.driver.will(id, func(ctx context.Context, s *stage) (engine.Outcome, error) {
					if here.Add(1) == 3 {
						close(all)
					}
					select {
					case <-all:
					case <-p.ctx.Done():
					}
					return toTheEnd(ctx, s)
				})
				p.submit(e, run(id, id))
			}
			for i := range 3 {
				id := fmt.Sprint("run ", i)
				p.stands(run(id, id), event.RunCompleted)
			}
		}},
		{"a run behind one that waits begins when that has ended", func(p *probe) {
			e := p.start()
			a, b := run("a", "talk"), run("b", "talk")
			p.driver.will("a", once(func(_ context.Context, s *stage) (engine.Outcome, error) { return s.park(time.Time{}) }))
			p.submit(e, a)
			p.stands(a, event.RunWaiting)
			p.submit(e, b)
			p.rest(5 * time.Second)
			equal(p, "taken while one waits", p.driver.order(), []string{"a"})
			p.mail(a)
			p.ok("Wake", e.Wake(p.ctx, a))
			p.stands(b, event.RunCompleted)
			equal(p, "taken", p.driver.order(), []string{"a", "a", "b"})
		}},
	}
}
