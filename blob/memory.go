package blob

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
)

// Memory is a [Store] in memory. The zero value is ready for use.
type Memory struct {
	// Guard, if set, runs every change of a reference. A journal holds its own lock meanwhile, or refuses it.
	Guard func(tenant string, ref Ref, change func() error) error

	mu      sync.Mutex
	tenants map[string]*memoryTenant
}

var _ Store = (*Memory)(nil)

// memoryTenant holds what one tenant has.
type memoryTenant struct {
	blobs map[Digest]*memoryBlob
	refs  map[Ref]*memoryBlob
	bytes int64
}

type memoryBlob struct {
	Blob

	pieces []Piece
	refs   int
}

// change runs a change of a reference under the lock.
func (m *Memory) change(tenant string, ref Ref, do func(t *memoryTenant) error) error {
	locked := func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		t := m.tenants[tenant]
		if t == nil {
			t = &memoryTenant{blobs: make(map[Digest]*memoryBlob), refs: make(map[Ref]*memoryBlob)}
		}
		err := do(t)
		switch {
		case len(t.refs) == 0:
			delete(m.tenants, tenant)
		case m.tenants == nil:
			m.tenants = map[string]*memoryTenant{tenant: t}
		default:
			m.tenants[tenant] = t
		}
		return err
	}
	if m.Guard != nil {
		return m.Guard(tenant, ref, locked)
	}
	return locked()
}

// link has ref name b; nil removes it.
func (t *memoryTenant) link(ref Ref, b *memoryBlob) {
	ref.Incarnation = ""
	old := t.refs[ref]
	if old == b {
		return
	}
	if b != nil {
		t.refs[ref] = b
		b.refs++
	}
	if old == nil {
		return
	}
	if b == nil {
		delete(t.refs, ref)
	}
	if old.refs--; old.refs == 0 {
		delete(t.blobs, old.Digest)
		t.bytes -= old.Size
	}
}

// Put implements [Store].
func (m *Memory) Put(ctx context.Context, tenant string, ref Ref, r io.Reader, limit int64) (Blob, error) {
	const op = "blob put"
	if err := ref.Check(op, tenant); err != nil {
		return Blob{}, err
	}
	fresh := &memoryBlob{}
	b, err := Split(ctx, op, r, limit, func(first int64, data []byte) error {
		data = slices.Clip(data)
		fresh.pieces = append(fresh.pieces, Piece{First: first, Data: data, Sum: SumOf(0, first, data)})
		return nil
	})
	if err != nil {
		return Blob{}, err
	}
	fresh.Blob = b
	err = m.change(tenant, ref, func(t *memoryTenant) error {
		stored := t.blobs[b.Digest]
		if stored == nil {
			stored = fresh
			t.blobs[b.Digest] = stored
			t.bytes += b.Size
		}
		t.link(ref, stored)
		return nil
	})
	if err != nil {
		return Blob{}, err
	}
	return b, nil
}

// find returns a blob, or nil.
func (m *Memory) find(tenant string, digest Digest) *memoryBlob {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tenants[tenant]; t != nil {
		return t.blobs[digest]
	}
	return nil
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, tenant string, digest Digest, offset, length int64) (io.ReadCloser, error) {
	const op = "blob get"
	b, err := m.Stat(ctx, tenant, digest)
	if err != nil {
		return nil, err
	}
	return NewReader(op, b, offset, length, func(at int64) (Piece, error) {
		if err := alive(ctx, op); err != nil {
			return Piece{}, err
		}
		stored := m.find(tenant, digest)
		if stored == nil {
			return Piece{}, NotFound(op)
		}
		return stored.pieces[at/PieceSize], nil
	})
}

// Stat implements [Store].
func (m *Memory) Stat(ctx context.Context, tenant string, digest Digest) (Blob, error) {
	const op = "blob stat"
	if err := cmp.Or(alive(ctx, op), CheckText(op, tenant)); err != nil {
		return Blob{}, err
	}
	if b := m.find(tenant, digest); b != nil {
		return b.Blob, nil
	}
	return Blob{}, NotFound(op)
}

// Link implements [Store].
func (m *Memory) Link(ctx context.Context, tenant string, ref Ref, digest Digest) (b Blob, err error) {
	const op = "blob link"
	if err := cmp.Or(alive(ctx, op), ref.Check(op, tenant)); err != nil {
		return Blob{}, err
	}
	err = m.change(tenant, ref, func(t *memoryTenant) error {
		stored := t.blobs[digest]
		if stored == nil {
			return NotFound(op)
		}
		b = stored.Blob
		t.link(ref, stored)
		return nil
	})
	return b, err
}

// Lookup implements [Store].
func (m *Memory) Lookup(ctx context.Context, tenant string, ref Ref) (Blob, error) {
	const op = "blob lookup"
	if err := cmp.Or(alive(ctx, op), ref.Check(op, tenant)); err != nil {
		return Blob{}, err
	}
	ref.Incarnation = ""
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tenants[tenant]; t != nil {
		if b := t.refs[ref]; b != nil {
			return b.Blob, nil
		}
	}
	return Blob{}, NotFound(op)
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, tenant string, q Query) ([]Entry, error) {
	const op = "blob list"
	if err := cmp.Or(alive(ctx, op), q.Check(op, tenant)); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tenants[tenant]
	if t == nil {
		return nil, nil
	}
	var list []Entry
	for ref, b := range t.refs {
		if ref.Conversation == q.Conversation && ref.Kind == q.Kind && ref.Name > q.After {
			list = append(list, Entry{ref, b.Blob})
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Ref.Name, b.Ref.Name) })
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit:q.Limit]
	}
	return list, nil
}

// Unlink implements [Store].
func (m *Memory) Unlink(ctx context.Context, tenant string, ref Ref) error {
	const op = "blob unlink"
	if err := cmp.Or(alive(ctx, op), ref.Check(op, tenant)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tenants[tenant]; t != nil {
		t.link(ref, nil)
	}
	return nil
}

// RemoveConversation implements [Store].
func (m *Memory) RemoveConversation(ctx context.Context, tenant, conversation string) error {
	const op = "blob remove conversation"
	if err := cmp.Or(alive(ctx, op), CheckText(op, tenant, conversation)); err != nil {
		return err
	}
	if conversation == "" {
		return invalid(op, "a conversation needs an id", "give it one that is not empty")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tenants[tenant]; t != nil {
		for ref := range t.refs {
			if ref.Conversation == conversation {
				t.link(ref, nil)
			}
		}
	}
	return nil
}

// RemoveTenant implements [Store].
func (m *Memory) RemoveTenant(ctx context.Context, tenant string) error {
	const op = "blob remove tenant"
	if err := cmp.Or(alive(ctx, op), CheckText(op, tenant)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tenants, tenant)
	return nil
}

// Sweep implements [Store]. A blob in memory goes with its last reference.
func (m *Memory) Sweep(ctx context.Context) error { return alive(ctx, "blob sweep") }

// Bytes returns how many bytes a tenant stores, each blob once.
func (m *Memory) Bytes(tenant string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tenants[tenant]; t != nil {
		return t.bytes
	}
	return 0
}
