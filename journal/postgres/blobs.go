package postgres

import (
	"cmp"
	"context"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// Blobs implements [journal.Journal]: the blobs are in the journal's tables.
func (s *Store) Blobs() blob.Store { return blobs{s} }

// blobs is the [blob.Store] in the journal's tables. Each piece is a transaction that does not
// wait for the disk. The transaction that makes a blob reachable waits, and the database's log
// keeps their order. So every reachable blob is complete.
type blobs struct{ s *Store }

const (
	// lockBlobs serialises changes of a tenant's references.
	lockBlobs = `SELECT pg_advisory_xact_lock(hashtextextended('braid blobs ' || $1, 0))`

	insertBlob  = `INSERT INTO blob (tenant, size, at) VALUES ($1, $2, (SELECT store_clock())) RETURNING key`
	extendBlob  = `UPDATE blob SET size = $2, at = (SELECT store_clock()) WHERE key = $1 AND digest IS NULL AND at > 0 RETURNING key`
	insertPiece = `INSERT INTO blob_piece (blob, first, tenant, sum, data) VALUES ($1, $2, $3, $4, $5)`
	finishBlob  = `UPDATE blob SET digest = $2 WHERE key = $1 AND digest IS NULL AND at > 0 RETURNING key`
	dropBlob    = `UPDATE blob SET at = 0 WHERE key = $1 AND refs = 0`

	selectBlob = `SELECT key, size FROM blob WHERE tenant = $1 AND digest = $2`
	selectRef  = `SELECT b.digest, b.size FROM blob_ref r JOIN blob b ON b.key = r.blob
		WHERE r.tenant = $1 AND r.conversation = $2 AND r.kind = $3 AND r.name = $4`
	upsertRef = `INSERT INTO blob_ref (tenant, conversation, kind, name, blob) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, conversation, kind, name) DO UPDATE SET blob = excluded.blob`
	deleteRef  = `DELETE FROM blob_ref WHERE tenant = $1 AND conversation = $2 AND kind = $3 AND name = $4`
	selectRefs = `SELECT r.name, b.digest, b.size FROM blob_ref r JOIN blob b ON b.key = r.blob
		WHERE r.tenant = $1 AND r.conversation = $2 AND r.kind = $3 AND r.name > $4 ORDER BY r.name LIMIT $5`
	deleteRefsOf = `DELETE FROM blob_ref WHERE tenant = $1 AND conversation = $2`

	// Each read finds the piece by digest, because a blob that was removed and stored again has
	// another key.
	selectPiece = `SELECT p.blob, p.first, p.sum, p.data FROM blob b JOIN blob_piece p ON p.blob = b.key
		WHERE b.tenant = $1 AND b.digest = $2 AND p.first <= $3 ORDER BY p.first DESC LIMIT 1`
)

// Put implements [blob.Store].
func (b blobs) Put(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
	const op = "blob put"
	if err := ref.Check(op, tenant); err != nil {
		return blob.Blob{}, err
	}
	var key int64
	stored, err := blob.Split(ctx, op, r, limit, func(first int64, data []byte) error {
		return b.s.transact(ctx, op, ofTenant(tenant), func(x *tx) error { return x.addPiece(op, tenant, &key, first, data) })
	})
	if err == nil {
		err = b.s.transact(ctx, op, ofTenant(tenant), func(x *tx) error { return x.finishBlob(op, tenant, ref, key, stored) })
	}
	if err != nil {
		b.drop(ctx, op, tenant, key)
		return blob.Blob{}, err
	}
	b.clean(ctx, op, tenant)
	return stored, nil
}

// addPiece stores a piece. The first piece creates the blob and sets key.
func (x *tx) addPiece(op, tenant string, key *int64, first int64, data []byte) error {
	size := first + int64(len(data))
	var there bool
	begins := ask(extendBlob, []any{*key, size}, &there)
	if first == 0 {
		begins = ask(insertBlob, []any{tenant, size}, &there, key)
	}
	if err := x.begin(beginWrite, begins); err != nil {
		return err
	}
	if !there {
		return blob.TooSlow(op)
	}
	sum := blob.SumOf(*key, first, data)
	return x.commitLazily(do(insertPiece, *key, first, tenant, sum[:], data))
}

// finishBlob makes a blob reachable: the one with the key, or an equal one that the tenant has.
func (x *tx) finishBlob(op, tenant string, ref blob.Ref, key int64, stored blob.Blob) error {
	var same, size int64
	there, err := x.beginRef(op, tenant, ref, stored.Digest, &same, &size)
	if err != nil {
		return err
	}
	if there {
		return x.commit(do(dropBlob, key), doLink(tenant, ref, same))
	}
	if key == 0 { // an empty blob has no pieces
		if err := x.more(ask(insertBlob, []any{tenant, 0}, &there, &key)); err != nil {
			return err
		}
	}
	if err := x.more(ask(finishBlob, []any{key, stored.Digest[:]}, &there)); err != nil {
		return err
	}
	if !there {
		return blob.TooSlow(op)
	}
	return x.commit(doLink(tenant, ref, key))
}

// beginRef begins a change of a reference, refuses a conversation with a tombstone, and looks the
// blob up.
func (x *tx) beginRef(op, tenant string, ref blob.Ref, digest blob.Digest, key, size *int64) (there bool, err error) {
	var over bool
	err = x.begin(beginWrite, do(lockBlobs, tenant),
		ask(selectTombstone, []any{tenant, ref.Conversation, ref.Incarnation}, &over),
		ask(selectBlob, []any{tenant, digest[:]}, &there, key, size))
	if err == nil && over && ref.Incarnation != "" {
		err = blob.Gone(op)
	}
	return there, err
}

func doLink(tenant string, ref blob.Ref, key int64) question {
	return do(upsertRef, tenant, ref.Conversation, ref.Kind, ref.Name, key)
}

// Link implements [blob.Store].
func (b blobs) Link(ctx context.Context, tenant string, ref blob.Ref, digest blob.Digest) (blob.Blob, error) {
	const op = "blob link"
	if err := cmp.Or(alive(ctx, op), ref.Check(op, tenant)); err != nil {
		return blob.Blob{}, err
	}
	found := blob.Blob{Digest: digest}
	err := b.s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
		var key int64
		there, err := x.beginRef(op, tenant, ref, digest, &key, &found.Size)
		if err == nil && !there {
			err = blob.NotFound(op)
		}
		if err != nil {
			return err
		}
		return x.commit(doLink(tenant, ref, key))
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
	if err := cmp.Or(alive(ctx, op), ref.Check(op, tenant)); err != nil {
		return err
	}
	return b.remove(ctx, op, tenant, do(deleteRef, tenant, ref.Conversation, ref.Kind, ref.Name))
}

// RemoveConversation implements [blob.Store].
func (b blobs) RemoveConversation(ctx context.Context, tenant, conversation string) error {
	const op = "blob remove conversation"
	if conversation == "" {
		return noID(op, "a conversation needs an id")
	}
	if err := cmp.Or(alive(ctx, op), blob.CheckText(op, tenant, conversation)); err != nil {
		return err
	}
	return b.remove(ctx, op, tenant, do(deleteRefsOf, tenant, conversation))
}

// remove removes references, and then the blobs that only they referred to.
func (b blobs) remove(ctx context.Context, op, tenant string, removal question) error {
	err := b.s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
		if err := x.begin(beginWrite, do(lockBlobs, tenant)); err != nil {
			return err
		}
		return x.commit(removal)
	})
	if err == nil {
		b.clean(ctx, op, tenant)
	}
	return err
}

// Stat implements [blob.Store].
func (b blobs) Stat(ctx context.Context, tenant string, digest blob.Digest) (blob.Blob, error) {
	const op = "blob stat"
	found := blob.Blob{Digest: digest}
	if err := b.one(ctx, op, tenant, selectBlob, []any{tenant, digest[:]}, new(int64), &found.Size); err != nil {
		return blob.Blob{}, err
	}
	return found, nil
}

// Lookup implements [blob.Store].
func (b blobs) Lookup(ctx context.Context, tenant string, ref blob.Ref) (blob.Blob, error) {
	const op = "blob lookup"
	if err := ref.Check(op, tenant); err != nil {
		return blob.Blob{}, err
	}
	var found blob.Blob
	var digest []byte
	if err := b.one(ctx, op, tenant, selectRef, []any{tenant, ref.Conversation, ref.Kind, ref.Name}, &digest, &found.Size); err != nil {
		return blob.Blob{}, err
	}
	return found, setDigest(op, &found.Digest, digest)
}

func setDigest(op string, d *blob.Digest, stored []byte) error {
	if len(stored) != len(d) {
		return blob.Damaged(op, "a digest cannot be read", nil)
	}
	copy(d[:], stored)
	return nil
}

// one reads the row of a blob that must exist.
func (b blobs) one(ctx context.Context, op, tenant, statement string, args []any, into ...any) error {
	if err := cmp.Or(alive(ctx, op), blob.CheckText(op, tenant)); err != nil {
		return err
	}
	var there bool
	err := b.s.look(ctx, op, ofTenant(tenant), ask(statement, args, &there, into...))
	if err == nil && !there {
		err = blob.NotFound(op)
	}
	return err
}

// List implements [blob.Store].
func (b blobs) List(ctx context.Context, tenant string, q blob.Query) ([]blob.Entry, error) {
	const op = "blob list"
	if err := cmp.Or(alive(ctx, op), q.Check(op, tenant)); err != nil {
		return nil, err
	}
	var entries []blob.Entry
	args := []any{tenant, q.Conversation, q.Kind, q.After, upTo(q.Limit)}
	err := b.s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
		entries = nil
		return x.begin(beginRead, list(selectRefs, args, func(rows pgx.Rows) error {
			e := blob.Entry{Ref: blob.Ref{Conversation: q.Conversation, Kind: q.Kind}}
			var digest []byte
			if err := rows.Scan(&e.Ref.Name, &digest, &e.Blob.Size); err != nil {
				return err
			}
			err := setDigest(op, &e.Blob.Digest, digest)
			entries = append(entries, e)
			return err
		}), do(`COMMIT`))
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Get implements [blob.Store].
func (b blobs) Get(ctx context.Context, tenant string, digest blob.Digest, offset, length int64) (io.ReadCloser, error) {
	const op = "blob get"
	found, err := b.Stat(ctx, tenant, digest)
	if err != nil {
		return nil, err
	}
	return blob.NewReader(op, found, offset, length, func(at int64) (p blob.Piece, err error) {
		var sum []byte
		err = b.one(ctx, op, tenant, selectPiece, []any{tenant, digest[:], at}, &p.Of, &p.First, &sum, &p.Data)
		if event.KindOf(err) == event.ErrNotFound {
			// The blob or its piece is missing.
			if _, err := b.Stat(ctx, tenant, digest); err != nil {
				return p, err
			}
			return p, blob.Damaged(op, "a piece is missing", nil)
		}
		if err == nil {
			err = setDigest(op, &p.Sum, sum)
		}
		return p, err
	})
}
