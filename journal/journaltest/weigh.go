package journaltest

import (
	"context"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func weighCases() []testCase {
	return []testCase{
		{"a conversation weighs what its events take", func(p *probe) {
			weigh := func(conversation string) int64 {
				p.Helper()
				n, err := p.Store.Weigh(p.ctx, conversation)
				p.ok("Weigh", err)
				return n
			}
			between := func(what string, got, least, most int64) {
				p.Helper()
				if got < least || got > most {
					p.Errorf("%s weighs %d bytes, want %d to %d", what, got, least, most)
				}
			}
			equal(p, "an unknown conversation", weigh("nowhere"), 0)
			p.admit(journal.Run{ID: first, Conversation: talk})
			equal(p, "a conversation without events", weigh(talk), 0)
			const small, large = 4 << 10, 100_000
			d := p.take(first)
			d.write(event.Event{Body: &event.RunStarted{Session: 1}})
			begun := weigh(talk)
			between("the beginning", begun, 1, small)
			for i := range 3 {
				d.write(event.Event{Body: &event.UserMessage{Content: []event.Block{&event.Text{Text: strings.Repeat("x", large)}}}})
				between("what was written", weigh(talk), int64(i+1)*large, int64(i+1)*(large+small))
			}
			d.end(event.RunCompleted)
			between("another conversation", weigh(other), 0, 0)

			p.admit(journal.Run{ID: next, Conversation: talk})
			d = p.take(next)
			d.write(event.Event{Body: &event.RunStarted{Session: 2, Turn: 2}})
			tail, err := p.Store.Tail(p.ctx, talk)
			p.ok("Tail", err)
			if tail.First > 1 {
				between("a new session", weigh(talk), 1, small)
			}
			d.end(event.RunCompleted)

			_, err = p.Store.Weigh(p.ctx, "")
			p.refused("Weigh without an id", err, event.ErrInvalid)
			ended, end := context.WithCancel(p.ctx)
			end()
			_, err = p.Store.Weigh(ended, talk)
			p.refused("Weigh after the end of its context", err, event.ErrCancelled)
		}},
	}
}
