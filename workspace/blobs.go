package workspace

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"strings"
	"sync"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// BlobKind is the Kind of the references of a workspace's files.
const BlobKind = "workspace"

// draftKind is the Kind of the references of files that are not stored yet.
const draftKind = "workspace-draft"

// Store opens the workspaces of conversations in a [blob.Store], which stores the same bytes once for a tenant. It is safe
// for concurrent use.
type Store struct {
	blobs blob.Store
	quota Quota
	// changing keeps the quotas and the conditions true for all writers of this Store. Conversations share the locks, so
	// that their number needs no bound.
	changing [64]sync.Mutex
}

// NewStore returns a Store whose workspaces have a quota each.
func NewStore(blobs blob.Store, q Quota) *Store { return &Store{blobs: blobs, quota: q.filled()} }

// Open returns the workspace of a conversation of a tenant. incarnation is that of [blob.Ref], and may be empty.
func (s *Store) Open(tenant, conversation, incarnation string) *Blobs {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(tenant + "\x00" + conversation))
	return &Blobs{
		store: s.blobs, tenant: tenant, quota: s.quota, changing: &s.changing[sum.Sum32()%uint32(len(s.changing))],
		owner: blob.Ref{Conversation: conversation, Incarnation: incarnation, Kind: BlobKind},
	}
}

// Blobs are the files of a conversation in a [Store].
type Blobs struct {
	store    blob.Store
	tenant   string
	owner    blob.Ref
	quota    Quota
	changing *sync.Mutex
}

var _ Files = (*Blobs)(nil)

func (b *Blobs) ref(path string) blob.Ref {
	ref := b.owner
	ref.Name = path
	return ref
}

func described(path string, of blob.Blob) File {
	return File{Path: path, Size: of.Size, Version: of.Digest.String()}
}

// List implements [Files].
func (b *Blobs) List(ctx context.Context, q Query) ([]File, error) {
	const op = "list files"
	if err := checkFolder(op, q.Folder); err != nil {
		return nil, err
	}
	prefix := ""
	if q.Folder != "" {
		prefix = q.Folder + "/"
	}
	after := max(q.After, prefix)
	var out []File
	for {
		const page = 1000
		size := page
		if q.Limit > 0 {
			size = min(page, q.Limit-len(out))
		}
		entries, err := b.store.List(ctx, b.tenant, blob.Query{Conversation: b.owner.Conversation, Kind: BlobKind, After: after, Limit: size})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Ref.Name, prefix) {
				return out, nil
			}
			out = append(out, described(e.Ref.Name, e.Blob))
			after = e.Ref.Name
		}
		if len(entries) < size || len(out) == q.Limit {
			return out, nil
		}
	}
}

// Stat implements [Files].
func (b *Blobs) Stat(ctx context.Context, path string) (File, error) {
	const op = "stat file"
	if err := CheckPath(op, path); err != nil {
		return File{}, err
	}
	return b.lookup(ctx, op, path)
}

func (b *Blobs) lookup(ctx context.Context, op, path string) (File, error) {
	of, err := b.store.Lookup(ctx, b.tenant, b.ref(path))
	if event.KindOf(err) == event.ErrNotFound {
		return File{}, notFound(op, path)
	}
	if err != nil {
		return File{}, err
	}
	return described(path, of), nil
}

// Open implements [Files].
func (b *Blobs) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	const op = "read file"
	if err := CheckPath(op, path); err != nil {
		return nil, err
	}
	f, err := b.lookup(ctx, op, path)
	if err != nil {
		return nil, err
	}
	digest, err := blob.ParseDigest(f.Version)
	if err != nil {
		return nil, err
	}
	r, err := b.store.Get(ctx, b.tenant, digest, 0, -1)
	if event.KindOf(err) == event.ErrNotFound { // replaced since it was looked up
		return nil, conflict(op, path, "was replaced meanwhile", "read it again")
	}
	return r, err
}

// Put implements [Files].
func (b *Blobs) Put(ctx context.Context, path string, r io.Reader, c Condition) (File, error) {
	const op = "write file"
	if err := checkCall(ctx, op, path); err != nil {
		return File{}, err
	}
	// The draft is no file of the workspace, so that a slow writer holds no lock. The next draft of the same path replaces
	// what a crash has left of this one.
	draft := b.ref(path)
	draft.Kind = draftKind
	source := &countingReader{r: r, left: b.quota.File}
	// A store takes a limit of 0 for its default. So one byte more is allowed, and noticed.
	of, err := b.store.Put(ctx, b.tenant, draft, source, b.quota.File+1)
	if source.over {
		return File{}, tooMany(op, b.quota.File, false)
	}
	if err != nil {
		return File{}, err
	}
	defer func() { _ = b.store.Unlink(context.WithoutCancel(ctx), b.tenant, draft) }()
	b.changing.Lock()
	defer b.changing.Unlock()
	if err := b.admit(ctx, op, path, of.Size, c); err != nil {
		return File{}, err
	}
	_, err = b.store.Link(ctx, b.tenant, b.ref(path), of.Digest)
	if event.KindOf(err) == event.ErrNotFound {
		if _, gone := b.store.Stat(ctx, b.tenant, of.Digest); gone != nil {
			err = conflict(op, path, "was written by another at the same time", "write it again")
		}
	}
	if err != nil {
		return File{}, err
	}
	return described(path, of), nil
}

// admit checks the quota, the condition and the place for a new content of a file.
func (b *Blobs) admit(ctx context.Context, op, path string, size int64, c Condition) error {
	old, err := b.lookup(ctx, op, path)
	there := err == nil
	if err != nil && event.KindOf(err) != event.ErrNotFound {
		return err
	}
	if err := c.holds(op, path, old, there); err != nil {
		return err
	}
	replaced := int64(-1)
	if there {
		replaced = old.Size
	} else if err := b.free(ctx, op, path); err != nil {
		return err
	}
	u, err := b.usage(ctx)
	if err != nil {
		return err
	}
	limit, all, err := b.quota.room(op, u, replaced)
	if err == nil && size > limit {
		err = tooMany(op, limit, all)
	}
	return err
}

var errOver = errors.New("more bytes than there is room for")

// countingReader fails at the first byte for which there is no room.
type countingReader struct {
	r    io.Reader
	left int64
	over bool
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		c.over = true
		return 0, errOver
	}
	return n, err
}

// free checks that a new path is no folder and stands in no file.
func (b *Blobs) free(ctx context.Context, op, path string) error {
	below, err := b.List(ctx, Query{Folder: path, Limit: 1})
	if err != nil {
		return err
	}
	if len(below) > 0 {
		return notPlain(op, path)
	}
	return parents(path, func(folder string) error {
		_, err := b.lookup(ctx, op, folder)
		if event.KindOf(err) == event.ErrNotFound {
			return nil
		}
		if err == nil {
			err = inFile(op, path)
		}
		return err
	})
}

func (b *Blobs) usage(ctx context.Context) (u usage, err error) {
	files, err := b.List(ctx, Query{})
	for _, f := range files {
		u.files++
		u.bytes += f.Size
	}
	return u, err
}

// Remove implements [Files].
func (b *Blobs) Remove(ctx context.Context, path string) error {
	const op = "remove file"
	if err := CheckPath(op, path); err != nil {
		return err
	}
	b.changing.Lock()
	defer b.changing.Unlock()
	if _, err := b.lookup(ctx, op, path); err != nil {
		return err
	}
	return b.store.Unlink(ctx, b.tenant, b.ref(path))
}

// LinkTo has another workspace of the same tenant hold the same files, as a fork of a conversation does. No bytes are
// copied. The quota of the other one does not count. A file that is replaced meanwhile may be missing in the other.
func (b *Blobs) LinkTo(ctx context.Context, other *Blobs) error {
	files, err := b.List(ctx, Query{})
	if err != nil {
		return err
	}
	for _, f := range files {
		digest, err := blob.ParseDigest(f.Version)
		if err == nil {
			_, err = b.store.Link(ctx, b.tenant, other.ref(f.Path), digest)
		}
		if err != nil && event.KindOf(err) != event.ErrNotFound {
			return err
		}
	}
	return nil
}
