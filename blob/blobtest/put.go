package blobtest

import (
	"bytes"
	"context"
	"strings"
	"testing/iotest"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

func putCases() []testCase {
	return []testCase{
		{"what is put is read", func(p *probe) {
			for i, size := range []int{0, 1, piece - 1, piece, piece + 1, 3*piece + 7} {
				data := content(uint64(i), size)
				p.put(acme, file("a"), data)
				p.holds(acme, file("a"), data)
			}
			p.counts(acme, 3*piece+7)
			p.pieces(4)
		}},
		{"a source may return little at a time", func(p *probe) {
			data := content(1, 5000)
			for _, r := range []*bytes.Reader{bytes.NewReader(data), bytes.NewReader(data)} {
				_, err := p.Store.Put(p.ctx, acme, file("a"), iotest.DataErrReader(iotest.OneByteReader(r)), 0)
				p.ok("Put", err)
			}
			p.holds(acme, file("a"), data)
		}},
		{"the same bytes are stored once", func(p *probe) {
			data := content(1, 2*piece)
			p.put(acme, file("a"), data)
			p.put(acme, file("b"), data)
			p.put(acme, file("b"), data)
			p.counts(acme, len(data))
			p.pieces(2)
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("a")))
			p.holds(acme, file("b"), data)
			p.lacks(acme, file("a"))
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("b")))
			p.gone(acme, data)
			p.counts(acme, 0)
			p.pieces(0)
			p.put(acme, file("c"), data)
			p.holds(acme, file("c"), data)
		}},
		{"no bytes are a blob as well", func(p *probe) {
			p.put(acme, file("a"), nil)
			p.put(acme, file("b"), nil)
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("a")))
			p.holds(acme, file("b"), nil)
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("b")))
			p.gone(acme, nil)
		}},
		{"a limit is the most that is stored", func(p *probe) {
			before := content(1, 100)
			p.put(acme, file("a"), before)
			for _, limit := range []int64{1, piece - 1, piece, 2*piece + 5} {
				data := content(2, int(limit))
				_, err := p.Store.Put(p.ctx, acme, file("b"), bytes.NewReader(data), limit)
				p.ok("Put of as many bytes as the limit", err)
				p.holds(acme, file("b"), data)
				p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("b")))
				more := content(3, int(limit)+1)
				_, err = p.Store.Put(p.ctx, acme, file("a"), bytes.NewReader(more), limit)
				p.refused("Put of one byte more than the limit", err, event.ErrTooLarge)
				p.gone(acme, more)
			}
			p.holds(acme, file("a"), before)
			p.counts(acme, len(before))
			p.pieces(1)
		}},
		{"names that no store takes", func(p *probe) {
			put := func(tenant string, ref blob.Ref) error {
				_, err := p.Store.Put(p.ctx, tenant, ref, strings.NewReader("x"), 0)
				return err
			}
			bad := []blob.Ref{
				{Kind: "file"},
				{Name: "a"},
				file("\xff"), file("a\x00b"),
				{Kind: "\xff", Name: "a"},
				{Conversation: "\x00", Kind: "file", Name: "a"},
				file(strings.Repeat("x", blob.MaxName)),
			}
			for _, ref := range bad {
				p.refused("Put", put(acme, ref), event.ErrInvalid)
				_, err := p.Store.Link(p.ctx, acme, ref, blob.Digest{})
				p.refused("Link", err, event.ErrInvalid)
				_, err = p.Store.Lookup(p.ctx, acme, ref)
				p.refused("Lookup", err, event.ErrInvalid)
				p.refused("Unlink", p.Store.Unlink(p.ctx, acme, ref), event.ErrInvalid)
			}
			p.refused("Put for a tenant", put("\xff", file("a")), event.ErrInvalid)
			_, err := p.Store.Stat(p.ctx, "\x00", blob.Digest{})
			p.refused("Stat", err, event.ErrInvalid)
			_, err = p.Store.List(p.ctx, acme, blob.Query{Conversation: "talk"})
			p.refused("List without a kind", err, event.ErrInvalid)
			p.refused("RemoveConversation", p.Store.RemoveConversation(p.ctx, acme, ""), event.ErrInvalid)
			p.refused("RemoveTenant", p.Store.RemoveTenant(p.ctx, "\xff"), event.ErrInvalid)
			p.pieces(0)
			long := file(strings.Repeat("x", blob.MaxName-len("talk")-len("file")))
			p.put("", long, []byte("the tenant without a name"))
			p.holds("", long, []byte("the tenant without a name"))
		}},
		{"a context that is done", func(p *probe) {
			data := content(1, 10)
			p.put(acme, file("a"), data)
			ctx, cancel := context.WithCancel(p.ctx)
			cancel()
			_, err := p.Store.Put(ctx, acme, file("b"), bytes.NewReader(data), 0)
			p.refused("Put", err, event.ErrCancelled)
			_, err = p.Store.Get(ctx, acme, digestOf(data), 0, -1)
			p.refused("Get", err, event.ErrCancelled)
			_, err = p.Store.Stat(ctx, acme, digestOf(data))
			p.refused("Stat", err, event.ErrCancelled)
			_, err = p.Store.Link(ctx, acme, file("b"), digestOf(data))
			p.refused("Link", err, event.ErrCancelled)
			_, err = p.Store.Lookup(ctx, acme, file("a"))
			p.refused("Lookup", err, event.ErrCancelled)
			_, err = p.Store.List(ctx, acme, blob.Query{Conversation: "talk", Kind: "file"})
			p.refused("List", err, event.ErrCancelled)
			p.refused("Unlink", p.Store.Unlink(ctx, acme, file("a")), event.ErrCancelled)
			p.refused("RemoveConversation", p.Store.RemoveConversation(ctx, acme, "talk"), event.ErrCancelled)
			p.refused("RemoveTenant", p.Store.RemoveTenant(ctx, acme), event.ErrCancelled)
			p.refused("Sweep", p.Store.Sweep(ctx), event.ErrCancelled)
			p.holds(acme, file("a"), data)
			p.lacks(acme, file("b"))
		}},
	}
}
