package journaltest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func inboxCases() []testCase {
	return []testCase{
		{"mail comes whole and in the order of posting", func(p *probe) {
			row := p.admit(journal.Run{ID: first, Conversation: talk})
			want := []journal.Mail{
				{ID: "z", Run: first, Kind: journal.MailMessage, By: "ann", Message: []event.Block{
					&event.Text{Text: "also this"}, &event.Image{MIME: "image/png", Data: []byte{1}},
				}},
				{ID: "a", Run: first, Kind: journal.MailAnswer, Token: "t", Value: json.RawMessage(`{"n":null}`), By: "bob"},
				{ID: "m", Run: first, Kind: journal.MailChild, Value: json.RawMessage(`"done"`)},
				{ID: "c", Run: first, Kind: journal.MailCancel, By: "ann"},
				{ID: "b", Run: first, Kind: "pigeon"},
			}
			for _, m := range want {
				m.Posted = noon.Add(-time.Hour)
				p.post(m)
			}
			got := p.acquire(first, 0).Mail
			if len(got) != len(want) {
				p.Fatalf("got the mail %v, want %d letters", mailIDs(got), len(want))
			}
			for i := range got {
				if got[i].Posted.Before(row.Admitted) {
					p.Errorf("letter %s was posted at %v, want the store's clock", got[i].ID, got[i].Posted)
				}
				want[i].Posted = got[i].Posted
			}
			equal(p, "mail", got, want)
		}},
		{"what senders and readers do with their values later changes nothing", func(p *probe) {
			w := p.start()
			m := journal.Mail{
				ID: "a", Run: first, Kind: journal.MailAnswer, Value: json.RawMessage(`"yes"`), Message: words("a"),
			}
			p.post(m)
			copy(m.Value, `"no!"`)
			m.Message[0] = &event.Text{Text: "b"}
			w.release()
			w = p.take(first)
			w.opened.Mail[0] = journal.Mail{ID: "b"}
			w.release()
			got := p.acquire(first, 0).Mail
			equal(p, "mail", mailIDs(got), []string{"a"})
			equal(p, "value", got[0].Value, json.RawMessage(`"yes"`))
			equal(p, "message", got[0].Message, words("a"))
		}},
		{"the order holds for many", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			var want []string
			for i := range 30 {
				id := fmt.Sprint((i * 7) % 30)
				p.post(letter(id, first))
				want = append(want, id)
			}
			equal(p, "mail", mailIDs(p.acquire(first, 0).Mail), want)
		}},
		{"the same id twice is once", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.post(letter("a", first))
			p.post(letter("b", first))
			again := letter("a", first)
			again.By = "bob"
			p.post(again)
			w := p.take(first)
			equal(p, "mail", mailIDs(w.opened.Mail), []string{"a", "b"})
			equal(p, "message", w.opened.Mail[0].Message, words("a"))

			w.commit(journal.Batch{Read: []string{"a"}, Release: true})
			p.post(letter("a", first))
			w = p.take(first)
			equal(p, "mail after one was consumed and posted again", mailIDs(w.opened.Mail), []string{"b"})
			w.end(event.RunCompleted)
			p.post(letter("a", first))
			p.post(letter("b", first))
		}},
		{"the same id for something else is a conflict", func(p *probe) {
			sent := journal.Mail{
				ID: "a", Run: first, Kind: journal.MailAnswer, Token: "t", Value: json.RawMessage(`"yes"`), Message: words("a"),
			}
			look := func(when string) {
				p.Helper()
				for what, change := range map[string]func(*journal.Mail){
					"kind":       func(m *journal.Mail) { m.Kind = journal.MailChild },
					"token":      func(m *journal.Mail) { m.Token = "u" },
					"no token":   func(m *journal.Mail) { m.Token = "" },
					"value":      func(m *journal.Mail) { m.Value = json.RawMessage(`"no"`) },
					"no value":   func(m *journal.Mail) { m.Value = nil },
					"message":    func(m *journal.Mail) { m.Message = words("b") },
					"block":      func(m *journal.Mail) { m.Message = []event.Block{&event.Thinking{Text: "a"}} },
					"longer":     func(m *journal.Mail) { m.Message = append(words("a"), words("a")...) },
					"no message": func(m *journal.Mail) { m.Message = nil },
				} {
					m := sent
					change(&m)
					p.refused("Post with another "+what+" "+when, p.Store.Post(p.ctx, m), event.ErrConflict)
				}
				m := sent
				m.By, m.Posted, m.Early = "bob", noon, true
				p.post(m)
			}
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.post(sent)
			look("while it is unread")
			w := p.take(first)
			sent.Posted = w.opened.Mail[0].Posted
			equal(p, "mail", w.opened.Mail, []journal.Mail{sent})
			b := w.batch(note("read"))
			b.Read = []string{"a"}
			w.commit(b)
			look("after it was consumed")
			equal(p, "news", w.renew().Mail, nil)
			w.end(event.RunCompleted)
			look("after the end")
			p.refused("Post of a cancel with its id",
				p.Store.Post(p.ctx, journal.Mail{ID: "a", Run: first, Kind: journal.MailCancel}), event.ErrConflict)
			equal(p, "cancelled", p.row(journal.Run{ID: first, Conversation: talk}).Cancelled, false)
		}},
		{"an id is the run's own", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			p.admit(journal.Run{ID: next, Conversation: other, Tenant: "zeta"})
			p.post(letter("a", first))
			p.post(letter("a", next))
			w := p.take(first)
			w.commit(journal.Batch{Read: []string{"a"}})
			equal(p, "mail of the other run", mailIDs(p.acquire(next, 0).Mail), []string{"a"})
		}},
		{"another run of the conversation does not get it", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.post(letter("a", first))
			p.post(letter("b", next))
			w := p.take(first)
			equal(p, "mail of the first run", mailIDs(w.opened.Mail), []string{"a"})
			b := w.batch(note("x"))
			b.Read = []string{"b"}
			w.refused("commit that reads another run's mail", b, event.ErrConflict)
			b = w.ending(event.RunCompleted)
			b.Read = []string{"a"}
			w.commit(b)
			equal(p, "mail of the second run", mailIDs(p.acquire(next, 0).Mail), []string{"b"})
		}},
		{"mail that comes during a lease stays for the next", func(p *probe) {
			w := p.start()
			equal(p, "mail", mailIDs(w.opened.Mail), nil)
			p.post(letter("a", first))
			w.write(note("busy"))
			p.post(letter("b", first))
			w.park(time.Time{})
			p.post(letter("c", first))
			equal(p, "mail", mailIDs(p.acquire(first, 0).Mail), []string{"a", "b", "c"})
		}},
		{"a driver may read mail that came during its lease", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			p.post(letter("b", first))
			b := w.batch(note("read b"))
			b.Read = []string{"b"}
			w.commit(b)
			w.release()
			equal(p, "mail", mailIDs(p.acquire(first, 0).Mail), []string{"a"})
		}},
		{"mail is consumed with the events or not at all", func(p *probe) {
			w := p.start()
			for _, id := range []string{"a", "b", "c", "d"} {
				p.post(letter(id, first))
			}
			b := w.batch(note("answer"))
			b.Read = []string{"d", "b", "b"}
			w.commit(b)
			stale := *w
			stale.last--
			gone := stale.batch(begun("t", 1, event.StepTool))
			gone.Read = []string{"a"}
			stale.lost("commit over an event", gone)
			w.release()
			w = p.take(first)
			equal(p, "mail", mailIDs(w.opened.Mail), []string{"a", "c"})
			w.release()
			equal(p, "mail that was not read", mailIDs(p.acquire(first, 0).Mail), []string{"a", "c"})
		}},
		{"mail is consumed once", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			b := w.batch(note("x"))
			b.Read = []string{"a"}
			w.commit(b)
			b = w.batch(note("y"))
			b.Read = []string{"a"}
			w.refused("commit that reads it again", b, event.ErrConflict)
			b.Read = []string{"nothing"}
			w.refused("commit that reads what is not there", b, event.ErrConflict)
			w.refused("one that does nothing else", journal.Batch{Read: []string{"a"}}, event.ErrConflict)
			w.write(note("y"))
		}},
		{"an unknown run is not found", func(p *probe) {
			p.refused("Post", p.Store.Post(p.ctx, letter("a", first)), event.ErrNotFound)
		}},
		{"a run that has ended takes no new mail", func(p *probe) {
			w := p.start()
			p.post(letter("a", first))
			w.end(event.RunCompleted)
			p.refused("Post", p.Store.Post(p.ctx, letter("b", first)), event.ErrConflict)
			p.refused("Post of a cancel",
				p.Store.Post(p.ctx, journal.Mail{ID: "c", Run: first, Kind: journal.MailCancel}), event.ErrConflict)
			equal(p, "cancelled", p.row(journal.Run{ID: first, Conversation: talk}).Cancelled, false)
		}},
		{"mail without an id, a run or a kind is invalid", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			for _, m := range []journal.Mail{
				{Run: first, Kind: journal.MailMessage}, {ID: "a", Kind: journal.MailMessage}, {ID: "a", Run: first},
			} {
				p.refused("Post", p.Store.Post(p.ctx, m), event.ErrInvalid)
			}
			equal(p, "mail", mailIDs(p.acquire(first, 0).Mail), nil)
		}},
		{"what is not UTF-8 is invalid", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			for _, m := range []journal.Mail{
				{ID: "\xff", Run: first, Kind: journal.MailMessage},
				{ID: "a", Run: first + "\xff", Kind: journal.MailMessage},
				{ID: "a", Run: first, Kind: "\xff"},
				{ID: "a", Run: first, Kind: journal.MailAnswer, Token: "\xff"},
				{ID: "a", Run: first, Kind: journal.MailMessage, By: "\xff"},
			} {
				p.refused("Post", p.Store.Post(p.ctx, m), event.ErrInvalid)
			}
			equal(p, "mail", mailIDs(p.acquire(first, 0).Mail), nil)
		}},
		{"a cancel is told by Renew and stands on the row", func(p *probe) {
			r := journal.Run{ID: first, Conversation: talk}
			w := p.start()
			p.admit(journal.Run{ID: next, Conversation: talk})
			p.post(letter("a", first))
			equal(p, "cancelled by other mail", w.renew().Cancelled, false)

			p.post(journal.Mail{ID: "c", Run: first, Kind: journal.MailCancel})
			equal(p, "cancelled", w.renew().Cancelled, true)
			equal(p, "cancelled on the row", p.row(r).Cancelled, true)

			w.commit(journal.Batch{Read: []string{"c"}, Release: true})
			w = p.take(first)
			equal(p, "cancelled after the mail was consumed", w.opened.Run.Cancelled, true)
			equal(p, "mail", mailIDs(w.opened.Mail), []string{"a"})
			w.end(event.RunCancelled)
			equal(p, "cancelled after the end", p.row(r).Cancelled, true)
			equal(p, "the next run cancelled", p.acquire(next, 0).Run.Cancelled, false)
		}},
		{"a queued or waiting run can be cancelled", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.admit(journal.Run{ID: next, Conversation: other})
			p.take(next).park(time.Time{})
			for _, run := range []string{first, next} {
				p.post(journal.Mail{ID: "c", Run: run, Kind: journal.MailCancel})
				p.post(journal.Mail{ID: "b", Run: run, Kind: journal.MailAnswer, Token: "t", Value: []byte("true")})
				o := p.acquire(run, 0)
				equal(p, "cancelled before an answer", o.Run.Cancelled, true)
				equal(p, "mail", mailIDs(o.Mail), []string{"c", "b"})
			}
		}},
	}
}
