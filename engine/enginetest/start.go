package enginetest

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func startCases() []testCase {
	return []testCase{
		{"what was left over is driven", func(p *probe) {
			queued, dropped, answered := run("queued", "1"), run("dropped", "2"), run("answered", "3")
			timed, waiting, over := run("timed", "4"), run("waiting", "5"), run("over", "6")
			for _, r := range []journal.Run{queued, dropped, answered, timed, waiting, over} {
				p.admit(r)
			}
			// Each is left as by a process that dies there.
			p.leave(dropped, func(s *stage) (engine.Outcome, error) { return s.release() })
			p.leave(answered, func(s *stage) (engine.Outcome, error) { return s.park(time.Time{}) })
			p.leave(timed, func(s *stage) (engine.Outcome, error) { return s.park(time.Now().Add(-time.Hour)) })
			p.leave(waiting, func(s *stage) (engine.Outcome, error) { return s.park(time.Time{}) })
			p.leave(over, func(s *stage) (engine.Outcome, error) { return s.end(event.RunFailed) })
			p.mail(answered)
			p.start()
			for _, r := range []journal.Run{queued, dropped, answered, timed} {
				p.stands(r, event.RunCompleted)
				equal(p, r.ID+" was taken", p.driver.times(r.ID), 1)
			}
			equal(p, "waiting", p.status(waiting), event.RunWaiting)
			equal(p, "taken", len(p.driver.order()), 4)
		}},
		{"a timer that was set before the start rings", func(p *probe) {
			a := run("a", "talk")
			p.admit(a)
			p.leave(a, func(s *stage) (engine.Outcome, error) { return s.park(time.Now().Add(3 * time.Second)) })
			p.start()
			p.stands(a, event.RunCompleted)
		}},
		{"what was admitted beside the engine is found", func(p *probe) {
			p.start()
			a := run("a", "talk")
			p.admit(a)
			p.stands(a, event.RunCompleted)
		}},
		{"many runs are picked up", func(p *probe) {
			const n = 300
			for i := range n {
				id := strconv.Itoa(i)
				p.admit(run(id, id))
			}
			p.start()
			for i := range n {
				id := strconv.Itoa(i)
				p.stands(run(id, id), event.RunCompleted)
			}
			equal(p, "taken", len(p.driver.order()), n)
		}},
		{"a journal that is away at the start is an error", func(p *probe) {
			a := run("a", "talk")
			p.admit(a)
			var away atomic.Bool
			away.Store(true)
			p.store.due = func() error {
				if away.Load() {
					return &event.Error{Kind: event.ErrUnavailable, Message: "the journal is away"}
				}
				return nil
			}
			e := p.open()
			p.refused("Start", e.Start(p.ctx), event.ErrUnavailable)
			p.rest(5 * time.Second)
			equal(p, "taken", p.driver.order(), nil)
			away.Store(false)
			p.ok("Start once it is back", e.Start(p.ctx))
			p.stands(a, event.RunCompleted)
			p.refused("Start once more", e.Start(p.ctx), event.ErrConflict)
		}},
	}
}

// leave drives a run in part, as another process would have.
func (p *probe) leave(r journal.Run, do func(s *stage) (engine.Outcome, error)) {
	p.Helper()
	opened, err := p.store.Acquire(p.ctx, r.ID, 0)
	p.ok("Acquire", err)
	_, err = do(&stage{p: p, opened: opened, last: opened.Last, ctx: p.ctx})
	p.ok("leaving a run", err)
}

// none panics: the index is out of range.
func none(i int) string { return ""[i:] }

func troubleCases() []testCase {
	fails := func(name string, how func() (engine.Outcome, error)) testCase {
		return testCase{name, func(p *probe) {
			e := p.start()
			a, b := run("a", "talk"), run("b", "other talk")
			var tries atomic.Int64
			p.driver.before = func(w engine.Work) error {
				if w.Run.ID != "a" || tries.Add(1) > 3 {
					return nil
				}
				_, err := how()
				return err
			}
			begun := time.Now()
			p.submit(e, a)
			p.submit(e, b)
			p.stands(b, event.RunCompleted)
			p.stands(a, event.RunCompleted)
			equal(p, "tries", tries.Load(), 4)
			equal(p, "taken", p.driver.times("a"), 1)
			if took := time.Since(begun); took < 100*time.Millisecond {
				p.Fatalf("it was tried four times within %v: nothing keeps it from spinning", took)
			}
		}}
	}
	return []testCase{
		fails("a drive that fails is tried again", func() (engine.Outcome, error) {
			return engine.Outcome{}, &event.Error{Kind: event.ErrUnavailable, Message: "the store is away"}
		}),
		fails("so is one with an error of its own", func() (engine.Outcome, error) {
			return engine.Outcome{}, errors.New("something else")
		}),
		fails("so is one that panics", func() (engine.Outcome, error) {
			return engine.Outcome{Status: event.RunStatus(none(7))}, nil
		}),
		{"a run that was handed back is driven again", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.driver.will("a", once(func(_ context.Context, s *stage) (engine.Outcome, error) { return s.release() }))
			p.submit(e, a)
			p.stands(a, event.RunCompleted)
			equal(p, "taken", p.driver.times("a"), 2)
		}},
		{"a run that somebody else drives is taken when that one dies", func(p *probe) {
			a := run("a", "talk")
			p.admit(a)
			_, err := p.store.Acquire(p.ctx, "a", 0) // and never goes on
			p.ok("Acquire", err)
			// The lease is 30 s on the store's clock.
			p.ctx, p.stop = context.WithTimeout(context.WithoutCancel(p.ctx), p.h.Patience+time.Minute)
			e := p.start()
			p.ok("Wake", e.Wake(p.ctx, a))
			p.stands(a, event.RunCompleted)
			equal(p, "taken", p.driver.times("a"), 1)
		}},
		{"a run that was lost to somebody else is left alone", func(p *probe) {
			e := p.start()
			a := run("a", "talk")
			p.driver.will("a", func(_ context.Context, s *stage) (engine.Outcome, error) {
				if _, err := s.end(event.RunCompleted); err != nil { // the other driver wrote this
					return engine.Outcome{}, err
				}
				return engine.Outcome{}, &event.Error{Kind: event.ErrLeaseLost, Message: "another driver has it"}
			})
			p.submit(e, a)
			p.stands(a, event.RunCompleted)
			p.rest(5 * time.Second)
			equal(p, "drives", p.driver.drives("a"), 1)
		}},
	}
}
