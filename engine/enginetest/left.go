package enginetest

import (
	"context"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// leftCases test messages that a run did not read: the journal gives them to the next run, and
// creates one if there is none.
func leftCases() []testCase {
	late := func(when string, tell func(p *probe, e engine.Engine, a journal.Run), takes bool, after bool) testCase {
		return testCase{"a message that came too late, and " + when + ", is driven", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			begun, goOn := make(chan struct{}), make(chan struct{})
			p.driver.will("a", func(_ context.Context, s *stage) (engine.Outcome, error) {
				close(begun)
				<-goOn
				if takes {
					<-s.work.Mail
				}
				return s.end(event.RunCompleted)
			})
			var mail []string
			p.driver.will("a+", p.reads(&mail))
			p.submit(e, a)
			<-begun
			p.message(a)
			if !after {
				tell(p, e, a)
			}
			close(goOn)
			p.stands(a, event.RunCompleted)
			if after {
				tell(p, e, a)
			}
			p.until("the run that was made to be driven", func() bool { return p.driver.times("a+") > 0 })
			p.submit(e, run("b", "talk"))
			p.stands(run("b", "talk"), event.RunCompleted)
			equal(p, "taken", p.driver.order(), []string{"a", "a+", "b"})
			equal(p, "mail", mail, []string{"message"})
		}}
	}
	wake := func(p *probe, e engine.Engine, a journal.Run) {
		p.Helper()
		p.ok("Wake", e.Wake(p.ctx, a))
	}
	return []testCase{
		late("was told of in time", wake, false, false),
		late("whose news was taken", wake, true, false),
		late("was told of after the end", wake, false, true),
		late("that nobody told of", func(*probe, engine.Engine, journal.Run) {}, false, false),
		{"a message that came too late waits for the run behind", func(p *probe) {
			e := p.start()
			a, b := run("a", "talk"), run("b", "talk")
			begun, goOn := make(chan struct{}), make(chan struct{})
			p.driver.will("a", func(_ context.Context, s *stage) (engine.Outcome, error) {
				close(begun)
				<-goOn
				return s.end(event.RunCompleted)
			})
			var mail []string
			p.driver.will("b", p.reads(&mail))
			p.submit(e, a)
			<-begun
			p.submit(e, b)
			p.message(a)
			p.ok("Wake", e.Wake(p.ctx, a))
			close(goOn)
			p.stands(b, event.RunCompleted)
			equal(p, "taken", p.driver.order(), []string{"a", "b"})
			equal(p, "mail", mail, []string{"message"})
		}},
	}
}

// reads records the run's mail and ends the run.
func (p *probe) reads(mail *[]string) act {
	return func(ctx context.Context, s *stage) (engine.Outcome, error) {
		for _, m := range s.opened.Mail {
			*mail = append(*mail, m.ID)
		}
		return toTheEnd(ctx, s)
	}
}
