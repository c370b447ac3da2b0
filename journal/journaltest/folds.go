package journaltest

import (
	"context"
	"math"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// storeFold stores a fold at the end of the log.
func (w *pen) storeFold(head string, before int, parts ...string) {
	w.p.Helper()
	w.p.ok("StoreFold", w.p.Store.StoreFold(w.p.ctx, w.lease, foldAt(w.last, head, before, parts...)))
}

func foldAt(seq int64, head string, before int, parts ...string) journal.StoredFold {
	f := journal.StoredFold{Seq: seq, Head: []byte(head), Before: before}
	for _, part := range parts {
		f.Parts = append(f.Parts, []byte(part))
	}
	return f
}

// folds skips the case for a store without stored folds.
func (p *probe) folds() {
	p.Helper()
	if p.NoFolds {
		p.Skip("the store keeps no stored folds (Harness.NoFolds is set)")
	}
}

// storedTail reads a stored fold. A store may show it only after the next commit.
func (p *probe) storedTail(conversation string) journal.StoredTail {
	p.Helper()
	p.admit(journal.Run{ID: "a commit", Conversation: "of another conversation"})
	t, err := p.Store.StoredTail(p.ctx, conversation)
	p.ok("StoredTail", err)
	return t
}

// holdsFold requires that the conversation's stored fold is this one, and that the events begin at its position.
func (p *probe) holdsFold(what, conversation string, want journal.StoredFold) {
	p.Helper()
	t := p.storedTail(conversation)
	equal(p, what+": the position", t.Seq, want.Seq)
	equal(p, what+": the head", string(t.Head), string(want.Head))
	log := p.log(conversation)
	equal(p, what+": the events", t.Events, log[want.Seq-1:])
	equal(p, what+": the last event", t.Last, int64(len(log)))
	parts, err := p.Store.StoredParts(p.ctx, conversation)
	p.ok("StoredParts", err)
	equal(p, what+": the parts", parts, want.Parts)
}

// holdsNoFold requires that the conversation has no stored fold, and that StoredTail returns what Tail returns.
func (p *probe) holdsNoFold(what, conversation string) {
	p.Helper()
	want, err := p.Store.Tail(p.ctx, conversation)
	p.ok("Tail", err)
	t := p.storedTail(conversation)
	equal(p, what+": the stored tail", t, journal.StoredTail{Tail: want})
	parts, err := p.Store.StoredParts(p.ctx, conversation)
	p.ok("StoredParts", err)
	equal(p, what+": the parts", parts, nil)
}

func foldCases() []testCase {
	said := func(text string) event.Event { return event.Event{Body: &event.UserMessage{Content: words(text)}} }
	acme := func(run, conversation string) journal.Run {
		return journal.Run{ID: run, Conversation: conversation, Tenant: "acme"}
	}
	return []testCase{
		{"without one there is the tail", func(p *probe) {
			p.holdsNoFold("an unknown conversation", talk)
			w := p.start()
			w.write(said("a"), said("b"))
			p.holdsNoFold("a conversation without one", talk)
		}},
		{"one comes with what follows it", func(p *probe) {
			p.folds()
			w := p.start()
			w.write(said("a"), said("b"))
			w.storeFold("head", 0, "part 1", "part 2")
			want := foldAt(2, "head", 0, "part 1", "part 2")
			p.holdsFold("at the end of the log", talk, want)
			w.write(said("c"), said("d"))
			p.holdsFold("later", talk, want)
			w.end(event.RunCompleted)
			w.storeFold("another head", 2)
			p.holdsFold("stored under a lease that was given back", talk, foldAt(5, "another head", 0, "part 1", "part 2"))
			p.holdsNoFold("another conversation", other)
		}},
		{"parts are added and replaced", func(p *probe) {
			p.folds()
			w := p.start()
			w.write(said("a"))
			w.storeFold("1", 0, "a", "b", "c")
			w.storeFold("2", 3, "d")
			p.holdsFold("one more", talk, foldAt(1, "2", 0, "a", "b", "c", "d"))
			w.storeFold("3", 1, "x")
			p.holdsFold("others behind the first", talk, foldAt(1, "3", 0, "a", "x"))
			w.storeFold("4", 1)
			p.holdsFold("none behind the first", talk, foldAt(1, "4", 0, "a"))
			w.storeFold("5", 0, "y", "z")
			p.holdsFold("all new", talk, foldAt(1, "5", 0, "y", "z"))
		}},
		{"one that does not fit is refused", func(p *probe) {
			p.folds()
			refused := func(what string, l journal.Lease, f journal.StoredFold, kind event.ErrorKind) {
				p.Helper()
				p.refused("StoreFold "+what, p.Store.StoreFold(p.ctx, l, f), kind)
			}
			w := p.start()
			w.write(said("a"), said("b"))
			w.storeFold("head", 0, "part")
			want := foldAt(2, "head", 0, "part")
			refused("before the end of the log", w.lease, foldAt(1, "x", 0), event.ErrConflict)
			refused("behind the end of the log", w.lease, foldAt(3, "x", 0), event.ErrConflict)
			refused("after parts that are not there", w.lease, foldAt(2, "x", 2, "y"), event.ErrConflict)
			refused("without a position", w.lease, foldAt(0, "x", 0), event.ErrInvalid)
			refused("without a head", w.lease, foldAt(2, "", 0), event.ErrInvalid)
			refused("after fewer than no parts", w.lease, foldAt(2, "x", -1), event.ErrInvalid)
			refused("far behind", w.lease, foldAt(math.MaxInt64, "x", 0), event.ErrConflict)
			l := w.lease
			l.Run = "unknown"
			refused("of an unknown run", l, foldAt(2, "x", 0), event.ErrConflict)
			l = w.lease
			l.Conversation = other
			refused("of another conversation", l, foldAt(2, "x", 0), event.ErrConflict)
			l = w.lease
			l.Epoch++
			refused("under a lease that nobody has", l, foldAt(2, "x", 0), event.ErrConflict)
			w.release()
			p.acquire(first, 0)
			refused("after another driver has the conversation", w.lease, foldAt(2, "x", 0), event.ErrConflict)
			p.holdsFold("in the end", talk, want)
		}},
		{"a redaction removes one that repeats its target", func(p *probe) {
			p.folds()
			w := p.start()
			w.write(said("the secret"), said("b"))
			w.storeFold("with the secret", 0, "the secret")
			w.write(said("c"), event.Event{Body: &event.Redacted{Target: 1, Clean: true}}, redacts(3, "(no)"))
			p.holdsFold("of what comes later", talk, foldAt(2, "with the secret", 0, "the secret"))
			w.write(redacts(2, "(no)"))
			p.holdsNoFold("of the last event in it", talk)
			w.storeFold("anew", 0, "part")
			w.end(event.RunCompleted)
			p.holdsFold("stored anew", talk, foldAt(6, "anew", 0, "part"))
		}},
		{"it is removed with its conversation", func(p *probe) {
			p.folds()
			for i, remove := range []func(context.Context) error{
				func(ctx context.Context) error { return p.Store.Remove(ctx, "acme", talk) },
				func(ctx context.Context) error { return p.Store.Tombstone(ctx, "acme", talk, "a life") },
				func(ctx context.Context) error { return p.Store.RemoveTenant(ctx, "acme") },
			} {
				p.admit(acme(first, talk))
				w := p.take(first)
				w.write(said("a"))
				w.end(event.RunCompleted)
				w.storeFold("head", 0, "part")
				p.ok("removing", remove(p.ctx))
				p.refused("StoreFold afterwards", p.Store.StoreFold(p.ctx, w.lease, foldAt(2, "x", 0)), event.ErrConflict)
				p.holdsNoFold("what was removed", talk)
				// Another conversation with the name has as many events.
				run := next + string(rune('a'+i))
				p.admit(journal.Run{ID: run, Conversation: talk, Tenant: "acme"})
				v := p.take(run)
				v.write(said("b"))
				v.end(event.RunCompleted)
				p.refused("StoreFold for the one before", p.Store.StoreFold(p.ctx, w.lease, foldAt(2, "x", 0)), event.ErrConflict)
				p.holdsNoFold("another one with its name", talk)
				p.ok("Remove", p.Store.Remove(p.ctx, "acme", talk))
			}
		}},
		{"its bytes are nobody's, and no quota counts them", func(p *probe) {
			p.folds()
			p.admit(acme(first, talk))
			w := p.take(first)
			w.write(said("a"))
			before := p.stored("acme")
			f := foldAt(1, "head", 0, "part")
			p.ok("StoreFold", p.Store.StoreFold(p.ctx, w.lease, f))
			want := foldAt(1, "head", 0, "part")
			f.Parts[0][0], f.Head[0] = 'x', 'x'
			t := p.storedTail(talk)
			t.Head[0] = 'x'
			parts, err := p.Store.StoredParts(p.ctx, talk)
			p.ok("StoredParts", err)
			parts[0][0] = 'x'
			p.holdsFold("after the caller has changed its bytes", talk, want)
			w.end(event.RunCompleted)
			if n := p.stored("acme"); n > before+slack {
				p.Fatalf("the tenant holds %d bytes, %d before", n, before)
			}
		}},
	}
}
