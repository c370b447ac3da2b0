package journaltest

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func asks(text string) []event.Message {
	return []event.Message{{Role: event.RoleUser, Content: words(text)}}
}

// redacts returns an event that redacts the event with the Seq target.
func redacts(target int64, instead string) event.Event {
	return event.Event{Body: &event.Redacted{Target: target, Replacement: words(instead), Reason: "guardrail"}}
}

func eraseCases() []testCase {
	said := func(text string) event.Event { return event.Event{Body: &event.UserMessage{Content: words(text)}} }
	result := func(text string) event.Event {
		e := ended("t1", 1, event.StepTool, event.OutcomeDone)
		e.Body.(*event.StepEnded).Result = &event.ToolResult{Call: "c", Name: "look", Content: words(text)}
		return e
	}
	return []testCase{
		{"a redaction erases what it hides", func(p *probe) {
			row := journal.Run{ID: first, Conversation: talk, Key: "k", Input: asks("the secret")}
			p.admit(row)
			w := p.take(first)
			b := w.write(event.Event{Body: &event.RunStarted{Agent: "a"}}, said("the secret"))
			more := w.write(begun("t1", 1, event.StepTool), result("the other secret"), note("n"))
			w.write(redacts(2, "(no)"))
			w.write(redacts(4, "(nor that)"))
			want := append(append([]*event.Event{}, b.Events...), more.Events...)
			for _, seq := range []int64{2, 4} {
				e := *want[seq-1]
				r := redacts(0, map[int64]string{2: "(no)", 4: "(nor that)"}[seq])
				want[seq-1] = r.Body.(*event.Redacted).Cover(&e)
			}
			equal(p, "the log", p.log(talk)[:5], want)
			w.release()
			o := p.acquire(first, 0)
			equal(p, "what a driver is given", o.Events[:5], want)
			equal(p, "the run's input", o.Run.Input, nil)
		}},
		{"one of the same commit, too", func(p *probe) {
			w := p.start()
			w.write(said("the secret"), redacts(1, "(no)"), note("n"))
			equal(p, "the message", event.TextOf(p.log(talk)[0].Body.(*event.UserMessage).Content), "(no)")
		}},
		{"whoever asks again is still known", func(p *probe) {
			row := journal.Run{ID: first, Conversation: talk, Key: "k", Input: asks("the secret")}
			p.admit(row)
			w := p.take(first)
			w.write(said("the secret"), redacts(1, "(no)"))
			w.write(redacts(1, "(no)")) // a repetition changes nothing
			again := row
			again.ID = next
			equal(p, "the run", p.admit(again).ID, first)
			again.Input = asks("another")
			_, err := p.Store.Admit(p.ctx, again)
			p.refused("Admit with another input", err, event.ErrConflict)
		}},
		{"what was taken out before leaves the event as it is, and no input", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk, Input: asks("the secret")})
			w := p.take(first)
			w.write(said("the [hidden]"), event.Event{Body: &event.Redacted{Target: 1, Reason: "cards", Clean: true}})
			w.release()
			o := p.acquire(first, 0)
			equal(p, "the message", event.TextOf(o.Events[0].Body.(*event.UserMessage).Content), "the [hidden]")
			equal(p, "the run's input", o.Run.Input, nil)
		}},
		{"what repeats no input leaves it", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk, Input: asks("hello")})
			w := p.take(first)
			w.write(said("hello"), event.Event{Body: &event.UserMessage{Content: words("a secret"), Mail: "m"}})
			w.write(redacts(2, "(no)"), redacts(9, "(nothing)"), redacts(0, "(nothing)"))
			w.release()
			equal(p, "the run's input", p.acquire(first, 0).Run.Input, asks("hello"))
		}},
	}
}
