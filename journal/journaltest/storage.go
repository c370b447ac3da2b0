package journaltest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

const (
	// slack is a store's overhead for a text: headers, ids, times.
	slack = 8 << 10
	// large is a text that is above the lag of StoredBytes.
	large = 4 * journal.StorageLag
)

// stored returns the bytes of a tenant, or ends the case.
func (p *probe) stored(tenant string) int64 {
	p.Helper()
	n, err := p.Store.StoredBytes(p.ctx, tenant)
	p.ok("StoredBytes", err)
	return n
}

// holds requires at least least bytes, and at most least plus the slack and the lag.
func (p *probe) holds(what, tenant string, least int64) {
	p.Helper()
	if n := p.stored(tenant); n < least-journal.StorageLag || n > least+slack+journal.StorageLag {
		p.Fatalf("%s: the tenant holds %d bytes, want about %d", what, n, least)
	}
}

// holdsExactly requires at least least bytes and at most the slack more, for a tenant without open runs.
func (p *probe) holdsExactly(what, tenant string, least int64) {
	p.Helper()
	if n := p.stored(tenant); n < least || n > least+slack {
		p.Fatalf("%s: the tenant holds %d bytes, want %d to %d", what, n, least, least+slack)
	}
}

func storageCases() []testCase {
	text := func(n int) []event.Block { return words(strings.Repeat("x", n)) }
	said := func(n int) event.Event { return event.Event{Body: &event.UserMessage{Content: text(n)}} }
	return []testCase{
		{"commits add what they write, once", func(p *probe) {
			equal(p, "an unknown tenant", p.stored("acme"), 0)
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			w := p.take(first)
			b := w.write(event.Event{Body: &event.RunStarted{Session: 1}}, said(large))
			p.holds("a large commit", "acme", large)
			w.repeat("a repeat", b)
			p.holds("a repeat", "acme", large)
			for range 3 * slack / 512 {
				w.write(said(512))
			}
			w.end(event.RunCompleted)
			const small = 3 * slack
			// Small events need about as much again for everything but their text.
			if n := p.stored("acme"); n < large+small || n > large+4*small {
				p.Fatalf("after the run the tenant holds %d bytes", n)
			}
			equal(p, "another tenant", p.stored("other"), 0)
			equal(p, "the tenant without a name", p.stored(""), 0)
		}},
		{"inputs and mail count while they are there", func(p *probe) {
			past := []event.Message{{Role: event.RoleUser, Content: text(large)}}
			r := journal.Run{
				ID: first, Conversation: talk, Tenant: "acme", Key: "k", Past: past, Input: []event.Message{{Role: event.RoleUser, Content: text(large)}},
			}
			p.admit(r)
			p.holds("an input with what is before it", "acme", 2*large)
			p.admit(r)
			p.holds("the same run again", "acme", 2*large)
			again := r
			again.ID, again.Key = next, ""
			p.admit(again)
			p.holds("the input of a run that is not the first", "acme", 3*large)

			post := journal.Mail{ID: "m", Run: first, Kind: journal.MailMessage, Message: text(large)}
			p.post(post)
			p.post(post)
			p.post(journal.Mail{ID: "a", Run: first, Kind: journal.MailAnswer, Token: "t", Value: json.RawMessage(`"` + strings.Repeat("x", large) + `"`)})
			p.holds("mail", "acme", 5*large)
			w := p.take(first)
			b := w.batch(event.Event{Body: &event.RunStarted{Session: 1}})
			b.Read = []string{"m", "a"}
			w.commit(b)
			p.holds("mail that was read", "acme", 3*large)
			w.end(event.RunCompleted)
			p.take(next).end(event.RunCompleted)
			p.holdsExactly("after the runs", "acme", 3*large)
		}},
		{"mail that nobody has read goes on to count once", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			p.post(journal.Mail{ID: "m", Run: first, Kind: journal.MailMessage, Message: text(large)})
			p.take(first).end(event.RunCompleted)
			p.holds("what is left to the next run", "acme", large)
			w := p.take(first + "+")
			b := w.ending(event.RunCompleted)
			b.Read = []string{"m"}
			w.commit(b)
			p.holdsExactly("after that", "acme", 0)
		}},
		{"what a redaction erases counts no more", func(p *probe) {
			secret := []event.Message{{Role: event.RoleUser, Content: text(large)}}
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme", Input: secret})
			w := p.take(first)
			w.write(event.Event{Body: &event.RunStarted{Session: 1}}, said(large), said(large))
			p.holds("before", "acme", 3*large)
			w.write(redacts(2, "(no)"))
			w.end(event.RunCompleted)
			p.holdsExactly("after", "acme", large)
		}},
		{"rows of tools and messages count as they are", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			w := p.take(first)
			b := w.batch(event.Event{Body: &event.RunStarted{Session: 1}}, note("two"), note("three"))
			call := journal.ToolEntry{
				Step: "t1", Attempt: 1, Asked: 2, Input: json.RawMessage(`"` + strings.Repeat("x", large) + `"`), Status: journal.ToolRunning, Began: noon,
			}
			b.Tools = []journal.ToolEntry{call}
			w.commit(b)
			p.holds("a call", "acme", large)
			call.Input, call.Output, call.Status, call.End, call.Finished = nil, text(large), journal.ToolDone, 3, noon
			b = w.batch(note("four"))
			b.Tools = []journal.ToolEntry{call}
			w.commit(b)
			p.holds("its result", "acme", 2*large)
			w.repeat("a repeat", b)
			p.holds("a repeat", "acme", 2*large)
			w.write(redacts(3, "(no)"))
			p.holds("a result that was erased", "acme", large)
			w.write(redacts(2, "(no)"))
			w.end(event.RunCompleted)
			p.holdsExactly("after the run", "acme", 0)
			list := []journal.MessageEntry{says(1, 0, strings.Repeat("x", large)), says(2, 0, "short")}
			for range 2 {
				p.ok("KeepMessages", p.Store.KeepMessages(p.ctx, first, list))
				p.holdsExactly("messages", "acme", large)
			}
			list[0].Content = nil
			p.ok("KeepMessages", p.Store.KeepMessages(p.ctx, first, list))
			p.holdsExactly("messages that became short", "acme", 0)
		}},
		{"what is removed counts no more", func(p *probe) {
			before := p.stored("acme")
			made := func(tenant, conversation, run string, bytes int) {
				p.admit(journal.Run{ID: run, Conversation: conversation, Tenant: tenant, Input: asks("hello")})
				w := p.take(run)
				w.write(event.Event{Body: &event.RunStarted{Session: 1}}, said(bytes))
				w.end(event.RunCompleted)
			}
			made("acme", talk, first, large)
			one := p.stored("acme")
			made("acme", other, next, large)
			p.holdsExactly("two conversations", "acme", 2*large)
			p.ok("Remove", p.Store.Remove(p.ctx, "acme", other))
			equal(p, "one conversation", p.stored("acme"), one)
			p.ok("Remove", p.Store.Remove(p.ctx, "acme", talk))
			equal(p, "no conversation", p.stored("acme"), before)
		}},
		{"a tenant that is made anew holds nothing", func(p *probe) {
			made := func(tenant, conversation, run string) {
				p.admit(journal.Run{ID: run, Conversation: conversation, Tenant: tenant})
				w := p.take(run)
				w.write(event.Event{Body: &event.RunStarted{Session: 1}}, said(large))
				w.end(event.RunCompleted)
			}
			for i := range 20 {
				made("acme", fmt.Sprint("talk ", i), fmt.Sprint("run ", i))
			}
			made("else", "their talk", "their run")
			if n := p.stored("acme"); n < 20*large {
				p.Fatalf("20 conversations hold %d bytes", n)
			}
			p.ok("RemoveTenant", p.Store.RemoveTenant(p.ctx, "acme"))
			equal(p, "a removed tenant", p.stored("acme"), 0)
			p.holdsExactly("another tenant", "else", large)
			made("acme", "talk 1", "run 1")
			p.holdsExactly("the tenant made anew", "acme", large)
		}},
		{"a run that waits is counted", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			w := p.take(first)
			w.write(event.Event{Body: &event.RunStarted{Session: 1}}, said(slack))
			w.park(time.Time{})
			p.holdsExactly("a waiting run", "acme", slack)
		}},
		{"what is asked in vain", func(p *probe) {
			p.stored("acme")
			done, end := context.WithCancel(p.ctx)
			end()
			_, err := p.Store.StoredBytes(done, "acme")
			p.refused("StoredBytes after the end of its context", err, event.ErrCancelled)
			_, err = p.Store.StoredBytes(p.ctx, "\xff")
			p.refused("StoredBytes of a name that is not UTF-8", err, event.ErrInvalid)
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			w := p.take(first)
			w.write(event.Event{Body: &event.RunStarted{Session: 1}})
			w.refused("a step that has not begun", w.batch(said(large), ended("m1", 1, event.StepModel, event.OutcomeDone)), event.ErrConflict)
			w.end(event.RunCompleted)
			p.holdsExactly("what was refused", "acme", 0)
		}},
	}
}
