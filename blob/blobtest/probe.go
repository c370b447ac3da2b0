package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// probe is a test and the store under test.
type probe struct {
	testingT
	Harness

	ctx context.Context //nolint:containedctx // a probe lives as long as its test
}

func newProbe(t testingT, h Harness) *probe { return &probe{testingT: t, Harness: h, ctx: t.Context()} }

const (
	acme  = "acme"
	other = "other"
	piece = blob.PieceSize
)

// file returns a reference to a file of the conversation "talk".
func file(name string) blob.Ref { return blob.Ref{Conversation: "talk", Kind: "file", Name: name} }

// content returns size bytes that differ by seed.
func content(seed uint64, size int) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = source.Read(data) // it never fails
	return data
}

func digestOf(data []byte) blob.Digest { return sha256.Sum256(data) }

// put stores bytes. It ends the case on an error.
func (p *probe) put(tenant string, ref blob.Ref, data []byte) blob.Blob {
	p.Helper()
	b, err := p.Store.Put(p.ctx, tenant, ref, bytes.NewReader(data), 0)
	if err != nil {
		p.Fatalf("Put of %d bytes: %v", len(data), err)
	}
	if b != (blob.Blob{Digest: digestOf(data), Size: int64(len(data))}) {
		p.Fatalf("Put of %d bytes returned %d bytes of %v", len(data), b.Size, b.Digest)
	}
	return b
}

// read reads a range.
func (p *probe) read(tenant string, d blob.Digest, offset, length int64) ([]byte, error) {
	r, err := p.Store.Get(p.ctx, tenant, d, offset, length)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// holds requires that the reference names the bytes and that all of them can be read.
func (p *probe) holds(tenant string, ref blob.Ref, data []byte) {
	p.Helper()
	want := blob.Blob{Digest: digestOf(data), Size: int64(len(data))}
	if b, err := p.Store.Lookup(p.ctx, tenant, ref); err != nil || b != want {
		p.Fatalf("Lookup of %q: %d bytes of %v, %v; want %d bytes of %v", ref.Name, b.Size, b.Digest, err, want.Size, want.Digest)
	}
	p.stored(tenant, data)
}

// stored requires that the tenant has the bytes.
func (p *probe) stored(tenant string, data []byte) {
	p.Helper()
	d := digestOf(data)
	if b, err := p.Store.Stat(p.ctx, tenant, d); err != nil || b.Size != int64(len(data)) || b.Digest != d {
		p.Fatalf("Stat: %d bytes of %v, %v; want %d bytes of %v", b.Size, b.Digest, err, len(data), d)
	}
	got, err := p.read(tenant, d, 0, -1)
	if err != nil {
		p.Fatalf("reading %d bytes: %v", len(data), err)
	}
	if !bytes.Equal(got, data) {
		p.Fatalf("%d bytes were put, and %d other ones were read", len(data), len(got))
	}
}

// lacks requires that the reference names nothing.
func (p *probe) lacks(tenant string, ref blob.Ref) {
	p.Helper()
	_, err := p.Store.Lookup(p.ctx, tenant, ref)
	p.refused("Lookup of a reference that is not there", err, event.ErrNotFound)
}

// gone requires that the tenant does not have the bytes.
func (p *probe) gone(tenant string, data []byte) {
	p.Helper()
	p.goneOf(tenant, digestOf(data))
}

// goneOf is gone for a known digest.
func (p *probe) goneOf(tenant string, d blob.Digest) {
	p.Helper()
	_, err := p.Store.Stat(p.ctx, tenant, d)
	p.refused("Stat of bytes that are not there", err, event.ErrNotFound)
	_, err = p.Store.Get(p.ctx, tenant, d, 0, -1)
	p.refused("Get of bytes that are not there", err, event.ErrNotFound)
}

// counts requires the number of a tenant's stored bytes.
func (p *probe) counts(tenant string, want int) {
	p.Helper()
	if got := p.Bytes(tenant); got != int64(want) {
		p.Fatalf("%s stores %d bytes, want %d", tenant, got, want)
	}
}

// pieces requires the number of stored pieces after a sweep.
func (p *probe) pieces(want int) {
	p.Helper()
	p.ok("Sweep", p.Store.Sweep(p.ctx))
	if p.Pieces == nil {
		return
	}
	if got := p.Pieces(); got != want {
		p.Fatalf("%d pieces are stored, want %d", got, want)
	}
}

func (p *probe) ok(what string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

// refused requires an error of the kind.
func (p *probe) refused(what string, err error, kind event.ErrorKind) {
	p.Helper()
	if e, ok := errors.AsType[*event.Error](err); !ok || e.Kind != kind || e.Message == "" {
		p.Fatalf("%s: %v, want an error of the kind %s", what, err, kind)
	}
}

// names requires a list to have these names.
func (p *probe) names(what string, q blob.Query, want ...string) {
	p.Helper()
	list, err := p.Store.List(p.ctx, acme, q)
	p.ok(what, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Ref.Name)
		if e.Ref.Conversation != q.Conversation || e.Ref.Kind != q.Kind {
			p.Fatalf("%s: %+v is in the list of %+v", what, e.Ref, q)
		}
		if b, err := p.Store.Lookup(p.ctx, acme, e.Ref); err != nil || b != e.Blob {
			p.Fatalf("%s: %q is %v in the list, and %v: %v", what, e.Ref.Name, e.Blob, b, err)
		}
	}
	if !slices.Equal(got, want) {
		p.Fatalf("%s: %q, want %q", what, got, want)
	}
}
