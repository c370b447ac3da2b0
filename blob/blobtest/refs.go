package blobtest

import (
	"strconv"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

func refCases() []testCase {
	return []testCase{
		{"a reference that is put anew takes its old bytes along", func(p *probe) {
			one, two := content(1, piece+1), content(2, 10)
			p.put(acme, file("a"), one)
			p.put(acme, file("a"), two)
			p.holds(acme, file("a"), two)
			p.gone(acme, one)
			p.counts(acme, len(two))
			p.pieces(1)
		}},
		{"a link keeps bytes", func(p *probe) {
			data, more := content(1, piece+1), content(2, 10)
			d := p.put(acme, file("a"), data).Digest
			fork := blob.Ref{Conversation: "fork", Kind: "file", Name: "a"}
			for range 2 {
				b, err := p.Store.Link(p.ctx, acme, fork, d)
				if err != nil || b.Size != int64(len(data)) || b.Digest != d {
					p.Fatalf("Link: %v, %v", b, err)
				}
			}
			p.counts(acme, len(data))
			p.put(acme, file("a"), more)
			p.holds(acme, fork, data)
			p.holds(acme, file("a"), more)
			_, err := p.Store.Link(p.ctx, acme, fork, digestOf(more))
			p.ok("Link of other bytes", err)
			p.gone(acme, data)
			p.counts(acme, len(more))
			_, err = p.Store.Link(p.ctx, acme, fork, d)
			p.refused("Link of bytes that are gone", err, event.ErrNotFound)
			p.holds(acme, fork, more)
		}},
		{"removing what is not there", func(p *probe) {
			data := content(1, 10)
			p.put(acme, file("a"), data)
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("b")))
			p.ok("Unlink", p.Store.Unlink(p.ctx, other, file("a")))
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, blob.Ref{Conversation: "talk", Kind: "else", Name: "a"}))
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, blob.Ref{Kind: "file", Name: "a"}))
			p.ok("RemoveConversation", p.Store.RemoveConversation(p.ctx, acme, "none"))
			p.ok("RemoveTenant", p.Store.RemoveTenant(p.ctx, "nobody"))
			p.holds(acme, file("a"), data)
		}},
		{"tenants are apart", func(p *probe) {
			data, own := content(1, piece+5), content(2, 10)
			d := p.put(acme, file("a"), data).Digest
			p.gone(other, data)
			p.lacks(other, file("a"))
			_, err := p.Store.Link(p.ctx, other, file("a"), d)
			p.refused("Link of another tenant's bytes", err, event.ErrNotFound)
			list, err := p.Store.List(p.ctx, other, blob.Query{Conversation: "talk", Kind: "file"})
			if err != nil || len(list) > 0 {
				p.Fatalf("another tenant's list: %v, %v", list, err)
			}
			p.counts(other, 0)
			p.put(other, file("a"), data)
			p.put(other, file("b"), own)
			p.counts(other, len(data)+len(own))
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("a")))
			p.gone(acme, data)
			p.holds(other, file("a"), data)
			p.put(acme, file("a"), data)
			p.ok("RemoveTenant", p.Store.RemoveTenant(p.ctx, other))
			p.holds(acme, file("a"), data)
			p.gone(other, data)
			p.gone(other, own)
			p.lacks(other, file("b"))
			p.counts(other, 0)
			p.counts(acme, len(data))
			p.pieces(2)
			p.put(other, file("b"), own)
			p.holds(other, file("b"), own)
			p.counts(other, len(own))
		}},
		{"lists", func(p *probe) {
			for i, name := range []string{"b", "a", "Z", "a/b", "ä", "a.txt"} {
				p.put(acme, file(name), content(uint64(i), i))
			}
			p.put(acme, blob.Ref{Conversation: "talk", Kind: "else", Name: "x"}, nil)
			p.put(acme, blob.Ref{Conversation: "talk 2", Kind: "file", Name: "y"}, nil)
			p.put(acme, blob.Ref{Kind: "file", Name: "of the tenant"}, nil)
			all := blob.Query{Conversation: "talk", Kind: "file"}
			p.names("all", all, "Z", "a", "a.txt", "a/b", "b", "ä")
			p.names("of the tenant", blob.Query{Kind: "file"}, "of the tenant")
			page := all
			page.Limit = 2
			p.names("the first page", page, "Z", "a")
			page.After = "a"
			p.names("the next page", page, "a.txt", "a/b")
			page.After = "b"
			p.names("the last page", page, "ä")
			page.After = "ä"
			p.names("after that", page)
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("a")))
			p.names("without one", all, "Z", "a.txt", "a/b", "b", "ä")
		}},
		{"a conversation takes its references along", func(p *probe) {
			mine, shared := content(1, piece+1), content(2, 10)
			for i := range 5 {
				p.put(acme, file(strconv.Itoa(i)), mine)
			}
			p.put(acme, file("shared"), shared)
			p.put(acme, blob.Ref{Conversation: "talk", Kind: "else", Name: "x"}, content(3, 5))
			p.put(acme, blob.Ref{Conversation: "next", Kind: "file", Name: "shared"}, shared)
			p.put(acme, blob.Ref{Kind: "file", Name: "of the tenant"}, nil)
			p.put(other, file("a"), mine)
			p.ok("RemoveConversation", p.Store.RemoveConversation(p.ctx, acme, "talk"))
			p.names("what is left", blob.Query{Conversation: "talk", Kind: "file"})
			p.gone(acme, mine)
			p.gone(acme, content(3, 5))
			p.holds(acme, blob.Ref{Conversation: "next", Kind: "file", Name: "shared"}, shared)
			p.holds(acme, blob.Ref{Kind: "file", Name: "of the tenant"}, nil)
			p.holds(other, file("a"), mine)
			p.counts(acme, len(shared))
			p.pieces(3)
		}},
	}
}
