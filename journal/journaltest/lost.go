package journaltest

import (
	"fmt"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// lostCases check the count of drivers that a run has lost without progress.
func lostCases() []testCase {
	// lost acquires the run after its driver has died, and checks the count.
	lost := func(p *probe, want int) *pen {
		p.Helper()
		p.Advance(2 * p.Term)
		w := p.take(first)
		equal(p, "lost drivers", w.opened.Run.Lost, want)
		return w
	}
	return []testCase{
		{"a lease that was not given back is a lost driver", func(p *probe) {
			p.needClock()
			w := p.start()
			equal(p, "lost drivers", w.opened.Run.Lost, 0)
			lost(p, 1)
			lost(p, 2)
			p.Advance(2 * p.Term)
			due, err := p.Store.Due(p.ctx, 0)
			p.ok("Due", err)
			equal(p, "lost drivers of what is due", due[0].Lost, 2)
			equal(p, "lost drivers of the row", p.row(journal.Run{ID: first, Conversation: talk}).Lost, 2)
			lost(p, 3)
		}},
		{"a lease that was given back is none", func(p *probe) {
			p.needClock()
			w := p.start()
			w.release()
			w = p.take(first)
			equal(p, "lost drivers after a hand-over", w.opened.Run.Lost, 0)
			w = lost(p, 1)
			w.release()
			p.Advance(2 * p.Term)
			w = p.take(first)
			equal(p, "lost drivers after another one", w.opened.Run.Lost, 1)
			w.park(noon)
			p.Advance(2 * p.Term)
			equal(p, "lost drivers of a run that waited", p.take(first).opened.Run.Lost, 1)
		}},
		{"what gets the run on sets the count back", func(p *probe) {
			p.needClock()
			for i, e := range []event.Event{
				{Body: &event.RunStarted{}},
				{Body: &event.UserMessage{Content: words("hi")}},
				answer("m1", 1),
				ended("m1", 1, event.StepModel, event.OutcomeFailed),
				ended("t1", 1, event.StepTool, event.OutcomeDone),
				ended("t1", 1, event.StepTool, event.OutcomeFailed),
				asked("t1", 1, "token"),
				{Body: &event.Answered{Token: "token"}},
				{Body: &event.ScopeClosed{ID: "s"}},
				{Body: &event.Compacted{From: 1, To: 1}},
			} {
				if i == 0 {
					p.start()
				}
				w := lost(p, 1)
				batch := []event.Event{e}
				switch {
				case e.Step == "m1":
					batch = []event.Event{begun("m1", 2*i+1, event.StepModel), e}
				case e.Step != "":
					batch = []event.Event{begun("t1", 2*i+1, event.StepTool), e}
				}
				if len(batch) == 2 {
					batch[1].Attempt = 2*i + 1
				}
				w.write(batch...)
				equal(p, "lost drivers", p.row(journal.Run{ID: first, Conversation: talk}).Lost, 0)
			}
		}},
		{"what only begins anew does not", func(p *probe) {
			p.needClock()
			p.start()
			for i := 1; i < 4; i++ {
				w := lost(p, i)
				events := []event.Event{begun("m1", i, event.StepModel), piece("m1", i), note("still here")}
				if i > 1 {
					events = append([]event.Event{ended("m1", i-1, event.StepModel, event.OutcomeLost)}, events...)
				}
				w.write(events...)
				w.renew()
			}
			lost(p, 4)
		}},
		{"a tool that the model calls again each time does not", func(p *probe) {
			p.needClock()
			p.start()
			tool := func(i int) string { return fmt.Sprint("t", i) }
			for i := 1; i < 4; i++ {
				w := lost(p, i)
				model := fmt.Sprint("m", i)
				call := &event.AssistantMessage{
					Content: []event.Block{&event.ToolCall{ID: tool(i), Name: "fatal", Args: []byte(`{}`)}}, Stop: event.StopToolUse,
				}
				events := []event.Event{
					begun(model, 1, event.StepModel),
					{Header: event.Header{Step: model, Attempt: 1}, Body: call},
					{Body: &event.ScopeOpened{ID: tool(i), Agent: "a"}},
					begun(tool(i), 1, event.StepTool),
				}
				if i > 1 {
					events = append([]event.Event{ended(tool(i-1), 1, event.StepTool, event.OutcomeInDoubt)}, events...)
				}
				w.write(events...)
			}
			lost(p, 4)
		}},
		{"the count is the run's own", func(p *probe) {
			p.needClock()
			p.admit(journal.Run{ID: first, Conversation: talk, Lost: 7})
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.take(first)
			w := lost(p, 1)
			w.end(event.RunFailed)
			equal(p, "lost drivers of the next run", p.take(next).opened.Run.Lost, 0)
		}},
	}
}
