package journaltest

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// early returns Early of each message.
func early(mail []journal.Mail) []bool {
	var e []bool
	for _, m := range mail {
		e = append(e, m.Early)
	}
	return e
}

func leftCases() []testCase {
	return []testCase{
		{"a message that was not read goes to the next run", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.admit(journal.Run{ID: "run 3", Conversation: talk})
			p.admit(journal.Run{ID: "far", Conversation: other})
			m := letter("z", first)
			m.By, m.Message = "ann", []event.Block{&event.Text{Text: "also this"}, &event.Image{MIME: "image/png", Data: []byte{1}}}
			p.post(m)
			p.post(letter("own", next))
			p.post(letter("a", first))
			p.post(letter("read", first))
			w := p.take(first)
			p.post(letter("b", first))
			posted := w.renew().Mail
			b := w.ending(event.RunCompleted)
			b.Read = []string{"read"}
			w.commit(b)

			v := p.take(next)
			equal(p, "mail", mailIDs(v.opened.Mail), []string{"z", "a", "b", "own"})
			equal(p, "which of it is early", early(v.opened.Mail), []bool{true, true, true, false})
			m.Run, m.Early, m.Posted = next, true, posted[0].Posted
			equal(p, "letter", v.opened.Mail[0], m)
			equal(p, "news", v.renew().Mail, v.opened.Mail)
			p.post(letter("later", next))
			b = v.ending(event.RunCompleted)
			b.Read = []string{"z", "a", "b", "own", "later"}
			v.commit(b)
			equal(p, "mail of the run after that", mailIDs(p.acquire("run 3", 0).Mail), nil)
			equal(p, "mail of another conversation", mailIDs(p.acquire("far", 0).Mail), nil)
		}},
		{"a run that has read a message is found by it", func(p *probe) {
			entered := func(conversation, id, want string) {
				p.Helper()
				run, err := p.Store.Entered(p.ctx, conversation, id)
				if err != nil || run != want {
					p.Errorf("message %s of %s has entered %q, %v, want %q", id, conversation, run, err, want)
				}
			}
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.admit(journal.Run{ID: "far", Conversation: other})
			p.post(letter("read", first))
			p.post(letter("left", first))
			p.post(letter("read", "far"))
			p.post(journal.Mail{ID: "answer", Run: first, Kind: journal.MailAnswer, Token: "t"})
			w := p.take(first)
			entered(talk, "read", "")
			b := w.ending(event.RunCompleted)
			b.Read = []string{"read", "answer"}
			w.commit(b)
			entered(talk, "read", first)
			entered(talk, "left", "")
			entered(talk, "answer", "")
			entered(other, "read", "")
			entered("nowhere", "read", "")
			v := p.take(next)
			b = v.ending(event.RunCompleted)
			b.Read = []string{"left"}
			v.commit(b)
			entered(talk, "left", next)
		}},
		{"where none is queued a run is admitted for it", func(p *probe) {
			r := whole()
			p.admit(r)
			p.post(letter("a", first))
			p.tick()
			w := p.take(first)
			p.post(journal.Mail{ID: "c", Run: first, Kind: journal.MailCancel})
			p.wantDue()
			w.end(event.RunCancelled)
			p.wantDue(first + "+")
			due, err := p.Store.Due(p.ctx, 0)
			p.ok("Due", err)
			row := p.row(r)
			if !due[0].Admitted.After(row.Admitted) && p.Advance != nil {
				p.Errorf("it was admitted at %v, want a time after %v", due[0].Admitted, row.Admitted)
			}
			want := journal.Run{
				ID: first + "+", Conversation: r.Conversation, Tenant: r.Tenant, User: r.User, Agent: r.Agent,
				Executor: r.Executor, Metadata: r.Metadata, Turn: 2, Status: event.RunQueued, Admitted: due[0].Admitted,
			}
			equal(p, "the run", due[0], want)
			r.ID = "again"
			equal(p, "the key's run", p.row(r).ID, first)
			v := p.take(first + "+")
			equal(p, "mail", mailIDs(v.opened.Mail), []string{"a"})
			equal(p, "which of it is early", early(v.opened.Mail), []bool{true})
			equal(p, "cancelled", v.opened.Run.Cancelled, false)

			// Its unread messages move on, in order.
			p.post(letter("b", first+"+"))
			v.end(event.RunFailed)
			p.wantDue(first + "++")
			equal(p, "turn of one that comes now", p.admit(journal.Run{ID: next, Conversation: talk, Tenant: "acme"}).Turn, 4)
			u := p.take(first + "++")
			equal(p, "mail that was left twice", mailIDs(u.opened.Mail), []string{"a", "b"})
			equal(p, "which of it is early", early(u.opened.Mail), []bool{true, true})
			b := u.ending(event.RunCompleted)
			b.Read = []string{"b", "a"}
			u.commit(b)
			p.wantDue(next)
		}},
		{"what is left on and on stays in its order", func(p *probe) {
			for _, id := range []string{first, next, "run 3"} {
				p.admit(journal.Run{ID: id, Conversation: talk})
			}
			// The last run's own message comes first and is read last.
			for _, m := range []journal.Mail{
				letter("d", "run 3"), letter("c", next), letter("b", first), letter("a", first),
			} {
				p.post(m)
				p.tick()
			}
			for _, id := range []string{first, next} {
				p.take(id).end(event.RunCompleted)
			}
			w := p.take("run 3")
			equal(p, "mail", mailIDs(w.opened.Mail), []string{"b", "a", "c", "d"})
			equal(p, "which of it is early", early(w.opened.Mail), []bool{true, true, true, false})
			equal(p, "news", mailIDs(w.renew().Mail), []string{"b", "a", "c", "d"})
		}},
		{"its id is one that is free", func(p *probe) {
			p.admit(journal.Run{ID: first + "+", Conversation: other})
			p.admit(journal.Run{ID: first + "++", Conversation: "a third", Tenant: "zeta"})
			w := p.start()
			p.post(letter("a", first))
			w.end(event.RunCompleted)
			equal(p, "mail", mailIDs(p.acquire(first+"+++", 0).Mail), []string{"a"})
			equal(p, "mail of the run whose id it would have been", mailIDs(p.acquire(first+"+", 0).Mail), nil)
		}},
		{"other mail goes with its run", func(p *probe) {
			w := p.start()
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.post(reply("a", first))
			p.post(journal.Mail{ID: "c", Run: first, Kind: journal.MailCancel})
			p.post(journal.Mail{ID: "d", Run: first, Kind: journal.MailChild})
			p.post(letter("m", first))
			w.end(event.RunCancelled)
			o := p.acquire(next, 0)
			equal(p, "mail", mailIDs(o.Mail), []string{"m"})
			equal(p, "cancelled", o.Run.Cancelled, false)

			w = p.startIn(other, "quiet")
			p.post(reply("a", "quiet"))
			w.end(event.RunCompleted)
			p.wantDue()
		}},
		{"the run that has ended still knows it", func(p *probe) {
			w := p.start()
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.post(letter("a", first))
			w.end(event.RunCompleted)
			p.post(letter("a", first))
			changed := letter("a", first)
			changed.Message = words("another")
			p.refused("Post of other words", p.Store.Post(p.ctx, changed), event.ErrConflict)
			p.refused("Post of a new letter", p.Store.Post(p.ctx, letter("b", first)), event.ErrConflict)
			w.lost("release that says it was read", journal.Batch{Release: true, Read: []string{"a"}})
			p.post(letter("a", next)) // this run also knows the inherited message
			equal(p, "mail", mailIDs(p.acquire(next, 0).Mail), []string{"a"})
		}},
		{"it gets another id where the next run knows its own", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: talk})
			for _, m := range []journal.Mail{letter("a", next), letter("b", next), letter("b@"+first, next)} {
				m.Message = words("mine")
				p.post(m)
			}
			for _, id := range []string{"a", "b", "c"} {
				p.post(letter(id, first))
			}
			p.take(first).end(event.RunCompleted)
			v := p.take(next)
			equal(p, "mail", mailIDs(v.opened.Mail), []string{
				"a@" + first, "b@" + first + "@" + first, "c", "a", "b", "b@" + first,
			})
			equal(p, "what it says", v.opened.Mail[0].Message, words("a"))
			equal(p, "what the other says", v.opened.Mail[3].Message, words("mine"))
			b := v.batch(note("read"))
			b.Read = []string{"a@" + first}
			v.commit(b)
			equal(p, "mail after one was read", len(v.renew().Mail), 5)
		}},
		{"an end that is repeated leaves nothing twice", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			b := w.end(event.RunCompleted)
			w.repeat("the end again", b)
			p.wantDue(first + "+")
			v := p.take(first + "+")
			w.repeat("the end again, under the next lease", b)
			equal(p, "mail", mailIDs(v.renew().Mail), []string{"a"})
			equal(p, "turn of the next run", p.admit(journal.Run{ID: next, Conversation: talk}).Turn, 3)
		}},
		{"an end that is refused leaves nothing", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			b := w.ending(event.RunCompleted)
			b.Read = []string{"nothing"}
			w.refused("end that reads what is not there", b, event.ErrConflict)
			equal(p, "mail", mailIDs(w.renew().Mail), []string{"a"})
			w.release()
			p.wantDue(first)
			w = p.take(first)
			equal(p, "which of it is early", early(w.opened.Mail), []bool{false})
		}},
		{"what was left wakes nobody who waits", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.post(letter("a", first))
			p.take(first).end(event.RunCompleted)
			p.wantDue(next)
			w := p.take(next)
			b := journal.Batch{Status: event.RunWaiting}
			w.commit(b)
			p.wantDue()
			p.post(reply("b", next))
			equal(p, "mail", mailIDs(p.acquire(next, 0).Mail), []string{"a", "b"})
		}},
	}
}
