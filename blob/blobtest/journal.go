package blobtest

import (
	"bytes"
	"context"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// begin admits a run of the conversation "talk" and acquires it.
func (p *probe) begin(run, incarnation string) journal.Lease {
	p.Helper()
	if p.Journal == nil {
		p.Skip("the store is in no journal")
	}
	_, err := p.Journal.Admit(p.ctx, journal.Run{ID: run, Conversation: "talk", Tenant: acme, Incarnation: incarnation})
	p.ok("Admit", err)
	o, err := p.Journal.Acquire(p.ctx, run, 0)
	p.ok("Acquire", err)
	return o.Lease
}

// end ends the run.
func (p *probe) end(l journal.Lease) {
	p.Helper()
	events := []*event.Event{
		{Header: event.Header{Conversation: l.Conversation, Run: l.Run, Seq: 1}, Body: &event.RunStarted{Session: 1}},
		{Header: event.Header{Conversation: l.Conversation, Run: l.Run, Seq: 2}, Body: &event.RunEnded{Status: event.RunCompleted}},
	}
	p.ok("Commit", p.Journal.Commit(p.ctx, l, journal.Batch{Events: events, Status: event.RunCompleted}))
}

func journalCases() []testCase {
	return []testCase{
		{"a journal counts blobs, and a removed conversation takes them along", func(p *probe) {
			l := p.begin("run", "")
			before := p.Bytes(acme)
			data := content(1, 2*piece)
			p.put(acme, file("a"), data)
			if got := p.Bytes(acme) - before; got < int64(len(data)) || got > int64(len(data))+1000 {
				p.Fatalf("%d bytes more are counted, want %d", got, len(data))
			}
			p.refused("Remove while a run is open", p.Journal.Remove(p.ctx, acme, "talk"), event.ErrLocked)
			p.holds(acme, file("a"), data)
			p.end(l)
			p.put(acme, blob.Ref{Kind: "file", Name: "of the tenant"}, []byte("x"))
			p.ok("Remove", p.Journal.Remove(p.ctx, acme, "talk"))
			p.gone(acme, data)
			p.lacks(acme, file("a"))
			p.holds(acme, blob.Ref{Kind: "file", Name: "of the tenant"}, []byte("x"))
			p.counts(acme, 1)
			p.pieces(1)
		}},
		{"a buried conversation takes no more references", func(p *probe) {
			l := p.begin("run", "one")
			data := content(1, 10)
			one, two := file("a"), file("a")
			one.Incarnation, two.Incarnation = "one", "two"
			p.put(acme, one, data)
			p.end(l)
			p.ok("Tombstone", p.Journal.Tombstone(p.ctx, acme, "talk", "one"))
			p.gone(acme, data)
			_, err := p.Store.Put(p.ctx, acme, one, bytes.NewReader(data), 0)
			p.refused("Put for a buried conversation", err, event.ErrNotFound)
			p.gone(acme, data)
			p.put(acme, two, data)
			p.holds(acme, file("a"), data)
			_, err = p.Store.Link(p.ctx, acme, one, digestOf(data))
			p.refused("Link for a buried conversation", err, event.ErrNotFound)
			p.ok("Tombstone once more", p.Journal.Tombstone(p.ctx, acme, "talk", "one"))
			p.holds(acme, file("a"), data)
			p.pieces(1)
		}},
		{"a conversation without a run is buried with its blobs", func(p *probe) {
			if p.Journal == nil {
				p.Skip("the store is in no journal")
			}
			data := content(1, 10)
			p.put(acme, file("a"), data)
			p.put(other, file("a"), data)
			p.ok("Tombstone", p.Journal.Tombstone(p.ctx, acme, "talk", "one"))
			p.gone(acme, data)
			p.holds(other, file("a"), data)
			p.counts(acme, 0)
		}},
		{"a removed tenant takes its blobs along", func(p *probe) {
			l := p.begin("run", "")
			data := content(1, piece+1)
			p.put(acme, file("a"), data)
			p.put(acme, blob.Ref{Kind: "file", Name: "of the tenant"}, data)
			p.put(other, file("a"), data)
			p.refused("RemoveTenant while a run is open", p.Journal.RemoveTenant(p.ctx, acme), event.ErrLocked)
			p.holds(acme, file("a"), data)
			p.end(l)
			p.ok("RemoveTenant", p.Journal.RemoveTenant(p.ctx, acme))
			p.gone(acme, data)
			p.lacks(acme, file("a"))
			p.counts(acme, 0)
			p.holds(other, file("a"), data)
			p.pieces(2)
			p.put(acme, file("b"), []byte("anew"))
			p.counts(acme, 4)
		}},
		{"scrubbing a journal sweeps", func(p *probe) {
			if p.Journal == nil {
				p.Skip("the store is in no journal")
			}
			p.put(acme, file("a"), content(1, piece))
			p.ok("Scrub", p.Journal.Scrub(p.ctx))
			ctx, cancel := context.WithCancel(p.ctx)
			cancel()
			p.refused("Scrub", p.Journal.Scrub(ctx), event.ErrCancelled)
			p.holds(acme, file("a"), content(1, piece))
		}},
	}
}
