package enginetest

import (
	"context"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
)

// parks waits for mail the first time and ends the second.
func parks() act {
	return once(func(_ context.Context, s *stage) (engine.Outcome, error) { return s.park(time.Time{}) })
}

func waitCases() []testCase {
	return []testCase{
		{"a waiting run is driven when it is woken", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.driver.will("a", parks())
			p.submit(e, a)
			p.stands(a, event.RunWaiting)
			p.rest(5 * time.Second)
			equal(p, "taken without mail", p.driver.order(), []string{"a"})
			p.mail(a)
			p.ok("Wake", e.Wake(p.ctx, a))
			p.stands(a, event.RunCompleted)
			equal(p, "taken", p.driver.times("a"), 2)
		}},
		{"mail of which nobody tells is found", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.driver.will("a", parks())
			p.submit(e, a)
			p.stands(a, event.RunWaiting)
			p.mail(a)
			p.stands(a, event.RunCompleted)
		}},
		{"a run that is woken while it is driven is told", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			begun, told := make(chan struct{}), false
			p.driver.will("a", func(ctx context.Context, s *stage) (engine.Outcome, error) {
				close(begun)
				select {
				case <-s.work.Mail:
					told = true
				case <-p.ctx.Done():
				}
				return toTheEnd(ctx, s)
			})
			p.submit(e, a)
			<-begun
			p.mail(a)
			p.ok("Wake", e.Wake(p.ctx, a))
			p.stands(a, event.RunCompleted)
			equal(p, "it was told", told, true)
			equal(p, "taken", p.driver.times("a"), 1)
		}},
		{"waking a run that is about to wait is not lost", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			begun, goOn := make(chan struct{}), make(chan struct{})
			p.driver.will("a", once(func(_ context.Context, s *stage) (engine.Outcome, error) {
				close(begun)
				<-goOn
				return s.park(time.Time{})
			}))
			p.submit(e, a)
			<-begun
			// The mail comes after the drive has looked for mail.
			p.ok("Wake", e.Wake(p.ctx, a))
			close(goOn)
			p.stands(a, event.RunCompleted)
			equal(p, "taken", p.driver.times("a"), 2)
		}},
		{"waking without need does no harm", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.submit(e, a)
			p.stands(a, event.RunCompleted)
			p.ok("Wake of a run that has ended", e.Wake(p.ctx, a))
			p.ok("Wake of an unknown run", e.Wake(p.ctx, run("unknown", "nowhere")))
			p.submit(e, run("b", "talk"))
			p.stands(run("b", "talk"), event.RunCompleted)
			equal(p, "taken", p.driver.order(), []string{"a", "b"})
		}},
		{"a waiting run is driven when its time comes", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			var at time.Time
			p.driver.will("a", once(func(_ context.Context, s *stage) (engine.Outcome, error) {
				at = time.Now().Add(3 * time.Second).Truncate(time.Microsecond)
				return s.park(at)
			}))
			p.submit(e, a)
			p.stands(a, event.RunWaiting)
			p.stands(a, event.RunCompleted)
			if time.Now().Before(at) {
				p.Fatalf("it was driven %v too early", time.Until(at))
			}
			equal(p, "taken", p.driver.times("a"), 2)
		}},
		{"mail comes before the time", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.driver.will("a", once(func(_ context.Context, s *stage) (engine.Outcome, error) {
				return s.park(time.Now().Add(24 * time.Hour))
			}))
			p.submit(e, a)
			p.stands(a, event.RunWaiting)
			p.mail(a)
			p.ok("Wake", e.Wake(p.ctx, a))
			p.stands(a, event.RunCompleted)
		}},
	}
}

func cancelCases() []testCase {
	return []testCase{
		{"a run that is driven is cancelled at once", func(p *probe) {
			e := p.start()
			a, b := run("a", "talk"), run("b", "other talk")
			begun := make(chan struct{})
			var cause error
			p.driver.will("a", func(ctx context.Context, s *stage) (engine.Outcome, error) {
				close(begun)
				select {
				case <-ctx.Done():
				case <-p.ctx.Done():
				}
				cause = context.Cause(ctx)
				return s.end(event.RunCancelled)
			})
			p.driver.will("b", forAWhile(2*time.Second))
			p.submit(e, a)
			p.submit(e, b)
			<-begun
			p.ok("Cancel", e.Cancel(p.ctx, a, "somebody"))
			p.stands(a, event.RunCancelled)
			p.refused("the cause", cause, event.ErrCancelled)
			p.stands(b, event.RunCompleted)
		}},
		{"the wish is in the journal", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.driver.will("a", parks())
			p.submit(e, a)
			p.stands(a, event.RunWaiting)
			var wish []string
			p.driver.will("a", func(ctx context.Context, s *stage) (engine.Outcome, error) {
				for _, m := range s.opened.Mail {
					wish = append(wish, string(m.Kind), m.By)
				}
				return toTheEnd(ctx, s)
			})
			p.ok("Cancel", e.Cancel(p.ctx, a, "somebody"))
			p.stands(a, event.RunCancelled)
			equal(p, "mail", wish, []string{"cancel", "somebody"})
		}},
		{"a run that is queued ends without its turn's work", func(p *probe) {
			e := p.open()
			a := run("a", "talk")
			p.submit(e, a)
			p.ok("Cancel", e.Cancel(p.ctx, a, "somebody"))
			p.ok("Cancel again", e.Cancel(p.ctx, a, "somebody"))
			p.ok("Start", e.Start(p.ctx))
			p.stands(a, event.RunCancelled)
			equal(p, "taken", p.driver.times("a"), 1)
		}},
		{"what cannot be cancelled is refused", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.submit(e, a)
			p.stands(a, event.RunCompleted)
			p.refused("a run that has ended", e.Cancel(p.ctx, a, "somebody"), event.ErrConflict)
			p.refused("an unknown run", e.Cancel(p.ctx, run("unknown", "talk"), "somebody"), event.ErrNotFound)
		}},
	}
}
