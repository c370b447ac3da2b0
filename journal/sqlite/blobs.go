package sqlite

import (
	"cmp"
	"context"
	"io"

	"github.com/braidrun/braid/blob"
)

// Blobs implements [journal.Journal]: the blobs are in the journal's file.
func (s *Store) Blobs() blob.Store { return s.blobs() }

func (s *Store) blobs() blobs { return blobs{blobReader{s.reader}, s} }

// blobs is the [blob.Store] in the journal's file. A piece reaches the disk with the next commit.
// The commit that makes a blob reachable waits for the disk, so every reachable blob is complete.
type blobs struct {
	blobReader

	s *Store
}

const (
	insertBlob  = `INSERT INTO blob (tenant, size, at) VALUES (?, 0, ?)`
	extendBlob  = `UPDATE blob SET size = ?, at = ? WHERE key = ? AND digest IS NULL AND at > 0`
	insertPiece = `INSERT INTO blob_piece (blob, first, sum, data) VALUES (?, ?, ?, ?)`
	finishBlob  = `UPDATE blob SET digest = ? WHERE key = ? AND digest IS NULL AND at > 0`
	dropBlob    = `UPDATE blob SET at = 0 WHERE key = ?`

	selectBlob = `SELECT key, size FROM blob WHERE tenant = ? AND digest = ?`
	upsertRef  = `INSERT INTO blob_ref (tenant, conversation, kind, name, blob) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (tenant, conversation, kind, name) DO UPDATE SET blob = excluded.blob`
	deleteRef    = `DELETE FROM blob_ref WHERE tenant = ? AND conversation = ? AND kind = ? AND name = ?`
	deleteRefsOf = `DELETE FROM blob_ref WHERE tenant = ? AND conversation = ?`
)

// Put implements [blob.Store].
func (b blobs) Put(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
	const op = "blob put"
	if err := ref.Check(op, tenant); err != nil {
		return blob.Blob{}, err
	}
	var key int64
	stored, err := blob.Split(ctx, op, r, limit, func(first int64, data []byte) error {
		return b.s.write(ctx, op, true, func(x *tx) (err error) { return b.add(x, op, tenant, &key, first, data) })
	})
	if err == nil {
		err = b.s.write(ctx, op, false, func(x *tx) error { return finish(x, op, tenant, ref, key, stored) })
	}
	if err != nil {
		b.drop(ctx, op, tenant, key)
		return blob.Blob{}, err
	}
	b.clean(ctx, op, tenant)
	return stored, nil
}

// add stores a piece. The first piece creates the blob and sets key.
func (b blobs) add(x *tx, op, tenant string, key *int64, first int64, data []byte) (err error) {
	now := x.now.UnixMicro()
	if first == 0 {
		if *key, err = x.insert(insertBlob, tenant, now); err != nil {
			return err
		}
	}
	n, err := x.exec(extendBlob, first+int64(len(data)), now, *key)
	if err != nil {
		return err
	}
	if n == 0 {
		return blob.TooSlow(op)
	}
	sum := blob.SumOf(*key, first, data)
	_, err = x.insert(insertPiece, *key, first, sum[:], data)
	return err
}

// finish makes a blob reachable: the one with the key, or an equal one that the tenant has.
func finish(x *tx, op, tenant string, ref blob.Ref, key int64, stored blob.Blob) error {
	if err := x.admits(op, tenant, ref); err != nil {
		return err
	}
	var same, size int64
	there, err := x.row(selectBlob, []any{tenant, stored.Digest[:]}, &same, &size)
	switch {
	case err != nil:
		return err
	case there && key != 0:
		if _, err := x.exec(dropBlob, key); err != nil {
			return err
		}
		key = same
	case there:
		key = same
	default:
		if key == 0 { // an empty blob has no pieces
			if key, err = x.insert(insertBlob, tenant, x.now.UnixMicro()); err != nil {
				return err
			}
		}
		n, err := x.exec(finishBlob, stored.Digest[:], key)
		if err != nil {
			return err
		}
		if n == 0 {
			return blob.TooSlow(op)
		}
	}
	return x.link(tenant, ref, key)
}

// admits refuses a reference of a conversation with a tombstone.
func (x *tx) admits(op, tenant string, ref blob.Ref) error {
	if ref.Incarnation == "" {
		return nil
	}
	over, err := x.row(selectTombstone, []any{tenant, ref.Conversation, ref.Incarnation}, new(int))
	if err == nil && over {
		err = blob.Gone(op)
	}
	return err
}

func (x *tx) link(tenant string, ref blob.Ref, key int64) error {
	_, err := x.exec(upsertRef, tenant, ref.Conversation, ref.Kind, ref.Name, key)
	return err
}

// Link implements [blob.Store].
func (b blobs) Link(ctx context.Context, tenant string, ref blob.Ref, digest blob.Digest) (blob.Blob, error) {
	const op = "blob link"
	if err := ref.Check(op, tenant); err != nil {
		return blob.Blob{}, err
	}
	found := blob.Blob{Digest: digest}
	err := b.s.write(ctx, op, false, func(x *tx) error {
		if err := x.admits(op, tenant, ref); err != nil {
			return err
		}
		var key int64
		there, err := x.row(selectBlob, []any{tenant, digest[:]}, &key, &found.Size)
		if err == nil && !there {
			err = blob.NotFound(op)
		}
		if err != nil {
			return err
		}
		return x.link(tenant, ref, key)
	})
	if err != nil {
		return blob.Blob{}, err
	}
	b.clean(ctx, op, tenant)
	return found, nil
}

// Unlink implements [blob.Store].
func (b blobs) Unlink(ctx context.Context, tenant string, ref blob.Ref) error {
	const op = "blob unlink"
	if err := ref.Check(op, tenant); err != nil {
		return err
	}
	return b.remove(ctx, op, tenant, deleteRef, tenant, ref.Conversation, ref.Kind, ref.Name)
}

// RemoveConversation implements [blob.Store].
func (b blobs) RemoveConversation(ctx context.Context, tenant, conversation string) error {
	const op = "blob remove conversation"
	if conversation == "" {
		return noID(op, "a conversation needs an id")
	}
	if err := blob.CheckText(op, tenant, conversation); err != nil {
		return err
	}
	return b.remove(ctx, op, tenant, deleteRefsOf, tenant, conversation)
}

// remove removes references, and then the blobs that only they referred to.
func (b blobs) remove(ctx context.Context, op, tenant, statement string, args ...any) error {
	err := b.s.write(ctx, op, false, func(x *tx) error {
		_, err := x.exec(statement, args...)
		return err
	})
	if err == nil {
		b.clean(ctx, op, tenant)
	}
	return err
}

// RemoveTenant implements [blob.Store].
func (b blobs) RemoveTenant(ctx context.Context, tenant string) error {
	const op = "blob remove tenant"
	if err := cmp.Or(alive(ctx, op), blob.CheckText(op, tenant)); err != nil {
		return err
	}
	for more := true; more; {
		err := b.s.write(ctx, op, false, func(x *tx) error {
			n, err := x.exec(deleteSomeRefs, tenant, refsAtOnce)
			more = n > 0
			return err
		})
		if err != nil {
			return err
		}
	}
	return b.collect(ctx, op, selectLooseOf, tenant)
}
