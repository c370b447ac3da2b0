package journaltest

import (
	"encoding/json"
	"fmt"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func (p *probe) messages(q journal.MessageQuery) []journal.MessageEntry {
	p.Helper()
	list, err := p.Store.Messages(p.ctx, q)
	p.ok("Messages", err)
	return list
}

// says returns a message entry for a part of an event.
func says(seq int64, part int, text string) journal.MessageEntry {
	return journal.MessageEntry{
		MessagePlace: journal.MessagePlace{Seq: seq, Part: part}, Type: "assistant", Subtype: "text", Call: "c", Parent: "p",
		Content: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), Time: noon,
	}
}

func messageCases() []testCase {
	of := func(run string, turn int, list ...journal.MessageEntry) []journal.MessageEntry {
		for i := range list {
			list[i].Conversation, list[i].Run, list[i].Turn = talk, run, turn
		}
		return list
	}
	acme := journal.Run{ID: first, Conversation: talk, Tenant: "acme"}
	all := journal.MessageQuery{Tenant: "acme", Conversation: talk}
	return []testCase{
		{"messages come in their order, page by page", func(p *probe) {
			k := p.Store
			p.admit(acme)
			p.take(first).end(event.RunCompleted)
			again := acme
			again.ID = next
			p.admit(again)
			p.take(next).end(event.RunCompleted)
			p.ok("KeepMessages", k.KeepMessages(p.ctx, next, []journal.MessageEntry{says(9, 0, "e")}))
			p.ok("KeepMessages", k.KeepMessages(p.ctx, first, []journal.MessageEntry{
				says(1, 0, "a"), says(2, 1, "c"), says(2, 0, "b"), says(3, 0, "d \x00\xff"),
			}))
			want := append(of(first, 1, says(1, 0, "a"), says(2, 0, "b"), says(2, 1, "c"), says(3, 0, "d \x00\xff")), of(next, 2, says(9, 0, "e"))...)
			equal(p, "messages", p.messages(all), want)
			q := all
			q.Run = next
			equal(p, "of one run", p.messages(q), want[4:])
			q = all
			q.Limit = 2
			var paged []journal.MessageEntry
			for range 4 {
				page := p.messages(q)
				paged = append(paged, page...)
				if len(page) > 0 {
					q.After = page[len(page)-1].MessagePlace
				}
			}
			equal(p, "in pages", paged, want)
			equal(p, "of another tenant", p.messages(journal.MessageQuery{Conversation: talk}), nil)
			equal(p, "of no conversation", p.messages(journal.MessageQuery{Tenant: "acme", Conversation: other}), nil)
			_, err := k.Messages(p.ctx, journal.MessageQuery{Tenant: "acme"})
			p.refused("Messages of nothing", err, event.ErrInvalid)
			p.refused("KeepMessages of no run", k.KeepMessages(p.ctx, "none", nil), event.ErrNotFound)
			p.refused("KeepMessages of nothing", k.KeepMessages(p.ctx, "", nil), event.ErrInvalid)
		}},
		{"what is kept again takes the place of what was", func(p *probe) {
			k := p.Store
			p.admit(acme)
			for _, text := range []string{"a", "b"} {
				p.ok("KeepMessages", k.KeepMessages(p.ctx, first, []journal.MessageEntry{says(1, 0, text), says(2, 0, text)}))
			}
			p.ok("KeepMessages", k.KeepMessages(p.ctx, first, []journal.MessageEntry{says(2, 0, "c")}))
			equal(p, "messages", p.messages(all), of(first, 1, says(2, 0, "c")))
			p.ok("KeepMessages", k.KeepMessages(p.ctx, first, nil))
			equal(p, "none", p.messages(all), nil)
		}},
		{"runs that have ended without are known", func(p *probe) {
			k := p.Store
			unkept := func(tenant string) []string {
				p.Helper()
				list, err := k.Unkept(p.ctx, tenant, talk)
				p.ok("Unkept", err)
				return list
			}
			p.admit(acme)
			w := p.take(first)
			w.write(event.Event{Body: &event.RunStarted{Turn: 1, Session: 1}})
			equal(p, "while it runs", unkept("acme"), nil)
			w.end(event.RunFailed)
			equal(p, "once it has ended", unkept("acme"), []string{first})
			equal(p, "for another tenant", unkept("zeta"), nil)
			p.ok("KeepMessages", k.KeepMessages(p.ctx, first, []journal.MessageEntry{says(1, 0, "a")}))
			equal(p, "once it is kept", unkept("acme"), nil)
			_, err := k.Unkept(p.ctx, "acme", "")
			p.refused("Unkept of nothing", err, event.ErrInvalid)
		}},
		{"a redaction takes their content, and a removal all of it", func(p *probe) {
			k := p.Store
			p.admit(acme)
			w := p.take(first)
			w.write(answer("", 0), note("b"))
			p.ok("KeepMessages", k.KeepMessages(p.ctx, first, []journal.MessageEntry{says(1, 0, "the secret"), says(1, 1, "the secret"), says(2, 0, "b")}))
			w.write(event.Event{Body: &event.Redacted{Target: 2, Clean: true}}, redacts(1, "(no)"))
			want := of(first, 1, says(1, 0, ""), says(1, 1, ""), says(2, 0, "b"))
			want[0].Content, want[1].Content = nil, nil
			equal(p, "messages", p.messages(all), want)
			w.end(event.RunCompleted)
			p.ok("Remove", p.Store.Remove(p.ctx, "acme", talk))
			p.admit(acme)
			equal(p, "messages of another with its name", p.messages(all), nil)
		}},
	}
}
