package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

func readCases() []testCase {
	return []testCase{
		{"ranges", func(p *probe) {
			data := content(1, 2*piece+100)
			d := p.put(acme, file("a"), data).Digest
			n := int64(len(data))
			for _, r := range [][2]int64{
				{0, 0},
				{0, 1},
				{0, piece},
				{0, piece + 1},
				{1, 5},
				{piece - 1, 2},
				{piece, piece},
				{piece, -1},
				{2*piece + 99, 1},
				{n - 1, -1},
				{n, -1},
				{n, 5},
				{n + 10, 5},
				{n - 3, 100},
				{17, n},
				{0, n},
				{0, -1},
			} {
				from := min(r[0], n)
				to := n
				if r[1] >= 0 {
					to = min(n, from+r[1])
				}
				got, err := p.read(acme, d, r[0], r[1])
				if err != nil || !bytes.Equal(got, data[from:to]) {
					p.Fatalf("%d bytes from %d on: %d bytes, %v; want those from %d to %d", r[1], r[0], len(got), err, from, to)
				}
			}
			_, err := p.Store.Get(p.ctx, acme, d, -1, 5)
			p.refused("Get from before the beginning", err, event.ErrInvalid)
		}},
		{"a reader that is closed, or whose context ends", func(p *probe) {
			data := content(1, 2*piece)
			d := p.put(acme, file("a"), data).Digest
			ctx, cancel := context.WithCancel(p.ctx)
			defer cancel()
			one := make([]byte, 1)
			closed, err := p.Store.Get(p.ctx, acme, d, 0, -1)
			p.ok("Get", err)
			_, err = io.ReadFull(closed, one)
			p.ok("reading", err)
			p.ok("Close", closed.Close())
			if n, err := closed.Read(one); n != 0 || err == nil || errors.Is(err, io.EOF) {
				p.Fatalf("a closed reader returned %d bytes and %v", n, err)
			}
			r, err := p.Store.Get(ctx, acme, d, piece-1, -1)
			p.ok("Get", err)
			_, err = io.ReadFull(r, one)
			p.ok("reading", err)
			cancel()
			_, err = r.Read(one)
			p.refused("reading after the end of the context", err, event.ErrCancelled)
			p.ok("Close", r.Close())
		}},
		{"a reader holds nothing in the store", func(p *probe) {
			data := content(1, 3*piece)
			d := p.put(acme, file("a"), data).Digest
			var readers []io.ReadCloser
			for range 20 { // more than a store's connections
				r, err := p.Store.Get(p.ctx, acme, d, 0, -1)
				p.ok("Get", err)
				_, err = io.ReadFull(r, make([]byte, 1))
				p.ok("reading", err)
				readers = append(readers, r)
			}
			more := content(2, 10)
			p.put(acme, file("b"), more)
			p.holds(acme, file("b"), more)
			for _, r := range readers {
				rest, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(rest, data[1:]) {
					p.Fatalf("%d more bytes: %v", len(rest), err)
				}
				p.ok("Close", r.Close())
			}
		}},
		{"what is removed while it is read", func(p *probe) {
			data := content(1, 3*piece)
			d := p.put(acme, file("a"), data).Digest
			half := func() io.ReadCloser {
				r, err := p.Store.Get(p.ctx, acme, d, 0, -1)
				p.ok("Get", err)
				if _, err := io.ReadFull(r, make([]byte, piece)); err != nil {
					p.Fatalf("reading: %v", err)
				}
				return r
			}
			left, again := half(), half()
			p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("a")))
			p.pieces(0)
			p.put(other, file("a"), content(2, 3*piece))
			_, err := io.ReadAll(left)
			p.refused("reading on", err, event.ErrNotFound)
			p.put(acme, file("b"), data)
			if rest, err := io.ReadAll(again); err != nil || !bytes.Equal(rest, data[piece:]) {
				p.Fatalf("reading on what was put again: %d bytes, %v", len(rest), err)
			}
		}},
		{"damage is an error and never bytes", func(p *probe) {
			if p.Damage == nil {
				p.Skip("the store's bytes cannot be reached")
			}
			whole := content(9, 2*piece)
			p.put(acme, file("whole"), whole)
			data := content(1, 2*piece+50)
			for i, at := range []int64{0, piece + 17, 2*piece + 49} {
				data := append(bytes.Clone(data), byte(i))
				d := p.put(acme, file("a"), data).Digest
				p.Damage(acme, d, at)
				got, err := p.read(acme, d, 0, -1)
				if e, ok := errors.AsType[*event.Error](err); !ok || e.Code != blob.CodeDamaged || e.Kind != event.ErrInternal {
					p.Fatalf("reading with the byte %d damaged: %v", at, err)
				}
				if int64(len(got)) > at/piece*piece || !bytes.Equal(got, data[:len(got)]) {
					p.Fatalf("reading with the byte %d damaged returned %d bytes", at, len(got))
				}
				if got, err := p.read(acme, d, at, 1); err == nil || len(got) > 0 {
					p.Fatalf("the damaged byte %d itself was read", at)
				}
				p.ok("Unlink", p.Store.Unlink(p.ctx, acme, file("a")))
			}
			p.holds(acme, file("whole"), whole)
		}},
	}
}
