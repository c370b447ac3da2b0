package journaltest

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// posted asks for all runs that the cases use, and for unknown ones.
func (p *probe) posted() map[string]journal.Posted {
	p.Helper()
	posted, err := p.Store.Posted(p.ctx, []string{first, "", "nowhere", "no\x00text", next, "\xff"})
	p.ok("Posted", err)
	return posted
}

// marked returns the runs that have mail.
func marked(posted map[string]journal.Posted) []string {
	var ids []string
	for id, of := range posted {
		if of.Mark > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func tellCases() []testCase {
	return []testCase{
		{"how far conversations are", func(p *probe) {
			heads := func() map[string]int64 {
				p.Helper()
				heads, err := p.Store.LastSeqs(p.ctx, []string{talk, "", "nowhere", "no\x00text", other})
				p.ok("LastSeqs", err)
				return heads
			}
			equal(p, "nothing is there", len(heads()), 0)
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			equal(p, "one without events", heads(), map[string]int64{talk: 0})
			w := p.take(first)
			w.write(note("a"), note("b"))
			p.admit(journal.Run{ID: next, Conversation: other, Tenant: "zeta"})
			p.take(next).write(note("c"))
			equal(p, "two of two tenants", heads(), map[string]int64{talk: 2, other: 1})
			w.write(note("d"))
			equal(p, "one has moved", heads(), map[string]int64{talk: 3, other: 1})
			w.end(event.RunCompleted)
			p.ok("Remove", p.Store.Remove(p.ctx, "acme", talk))
			equal(p, "one has gone", heads(), map[string]int64{other: 1})
			none, err := p.Store.LastSeqs(p.ctx, nil)
			p.ok("LastSeqs of none", err)
			equal(p, "none were asked for", len(none), 0)
		}},
		{"who has mail", func(p *probe) {
			equal(p, "nothing is there", marked(p.posted()), nil)
			p.admit(journal.Run{ID: first, Conversation: talk, Tenant: "acme"})
			p.admit(journal.Run{ID: next, Conversation: other, Tenant: "zeta"})
			equal(p, "no mail yet", marked(p.posted()), nil)
			p.post(letter("a", first))
			one := p.posted()
			equal(p, "who has some", marked(one), []string{first})
			equal(p, "without anything new", p.posted(), one)
			p.post(letter("a", first))
			equal(p, "after a repeat", p.posted(), one)
			p.post(reply("b", first))
			p.post(letter("a", next))
			two := p.posted()
			equal(p, "who has some then", marked(two), []string{first, next})
			if two[first].Mark <= one[first].Mark {
				p.Errorf("the mark was %d before another letter and is %d", one[first].Mark, two[first].Mark)
			}
			w := p.take(first)
			b := w.batch(note("read"))
			b.Read = []string{"a", "b"}
			w.commit(b)
			equal(p, "who has some that is unread", marked(p.posted()), []string{next})
			p.post(letter("c", first))
			if three := p.posted(); three[first].Mark <= two[first].Mark {
				p.Errorf("the mark was %d before another letter and is %d", two[first].Mark, three[first].Mark)
			}
			b = w.ending(event.RunCompleted)
			b.Read = []string{"c"}
			w.commit(b)
			equal(p, "who has some once the run has ended", marked(p.posted()), []string{next})
		}},
		{"who is to be cancelled", func(p *probe) {
			w := p.start()
			p.post(journal.Mail{ID: "stop", Run: first, Kind: journal.MailCancel, By: "ann"})
			equal(p, "cancelled", p.posted()[first].Cancelled, true)
			b := w.batch(note("read"))
			b.Read = []string{"stop"}
			w.commit(b)
			equal(p, "cancelled, and heard", p.posted()[first], journal.Posted{Cancelled: true})
			w.end(event.RunCancelled)
			equal(p, "ended", len(p.posted()), 0)
		}},
	}
}
