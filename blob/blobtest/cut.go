package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

var errSource = errors.New("the source is cut")

// cutSource returns some bytes, then calls then, and continues with its result.
type cutSource struct {
	io.Reader

	then func() error
}

func (c *cutSource) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = c.then()
	}
	return n, err
}

func cutCases() []testCase {
	return []testCase{
		{"a source that is cut leaves nothing", func(p *probe) {
			before, data := content(1, 100), content(2, 3*piece+10)
			p.put(acme, file("a"), before)
			for _, at := range []int{0, 1, piece - 1, piece, piece + 1, 2 * piece, 3 * piece, 3*piece + 9} {
				source := &cutSource{bytes.NewReader(data[:at]), func() error { return errSource }}
				_, err := p.Store.Put(p.ctx, acme, file("a"), source, 0)
				p.refused("Put from a source that is cut", err, event.ErrStreamCut)
				if !errors.Is(err, errSource) {
					p.Fatalf("the cause of %v is not the source's error", err)
				}
				p.gone(acme, data)
				p.gone(acme, data[:at])
				p.holds(acme, file("a"), before)
				p.counts(acme, len(before))
				p.pieces(1)
			}
		}},
		{"a caller who gives up leaves nothing", func(p *probe) {
			data := content(2, 2*piece+10)
			for _, at := range []int{0, piece, 2 * piece} {
				ctx, cancel := context.WithCancel(p.ctx)
				source := io.MultiReader(&cutSource{bytes.NewReader(data[:at]), func() error { cancel(); return io.EOF }}, bytes.NewReader(data[at:]))
				_, err := p.Store.Put(ctx, acme, file("a"), source, 0)
				p.refused("Put", err, event.ErrCancelled)
				p.gone(acme, data)
				p.lacks(acme, file("a"))
				p.counts(acme, 0)
				p.pieces(0)
			}
		}},
		{"bytes cannot be reached before the last one is there", func(p *probe) {
			data := content(2, 2*piece+10)
			looks := 0
			source := io.MultiReader(bytes.NewReader(data[:2*piece+9]), &cutSource{bytes.NewReader(nil), func() error {
				looks++
				p.gone(acme, data)
				p.gone(acme, data[:2*piece])
				p.lacks(acme, file("a"))
				p.counts(acme, 0)
				return io.EOF
			}}, bytes.NewReader(data[2*piece+9:]))
			_, err := p.Store.Put(p.ctx, acme, file("a"), source, 0)
			p.ok("Put", err)
			p.holds(acme, file("a"), data)
			if looks == 0 {
				p.Fatalf("nobody looked")
			}
		}},
		{"the tenant is removed meanwhile", func(p *probe) {
			data := content(2, 3*piece)
			source := io.MultiReader(bytes.NewReader(data[:2*piece]), &cutSource{bytes.NewReader(nil), func() error {
				p.ok("RemoveTenant", p.Store.RemoveTenant(p.ctx, acme))
				return io.EOF
			}}, bytes.NewReader(data[2*piece:]))
			_, err := p.Store.Put(p.ctx, acme, file("a"), source, 0)
			if err == nil { // the blob is either complete or missing
				p.holds(acme, file("a"), data)
				return
			}
			p.refused("Put", err, event.ErrGone)
			p.gone(acme, data)
			p.pieces(0)
		}},
		{"what was put is there after a crash, and nothing else", func(p *probe) {
			if p.Reopen == nil {
				p.Skip("the store keeps nothing")
			}
			data, half := content(1, 2*piece+10), content(2, 3*piece)
			p.put(acme, file("a"), data)
			source := io.MultiReader(bytes.NewReader(half[:2*piece]), &cutSource{bytes.NewReader(nil), func() error {
				p.Store = p.Reopen()
				return io.EOF
			}}, bytes.NewReader(half[2*piece:]))
			_, err := p.Store.Put(p.ctx, acme, file("b"), source, 0)
			if err == nil {
				p.Fatalf("a store that is closed took bytes")
			}
			p.holds(acme, file("a"), data)
			p.gone(acme, half)
			p.gone(acme, half[:2*piece])
			p.lacks(acme, file("b"))
			p.counts(acme, len(data))
			list, err := p.Store.List(p.ctx, acme, blob.Query{Conversation: "talk", Kind: "file"})
			if err != nil || len(list) != 1 {
				p.Fatalf("List: %v, %v", list, err)
			}
			p.put(acme, file("b"), half)
			p.holds(acme, file("b"), half)
			if p.Later != nil {
				p.Later()
			}
			p.pieces(3 + 3)
		}},
	}
}
