package sqlite

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// blobReader reads blobs. Reachable blobs are committed, so no reader waits for the writer.
type blobReader struct{ r *reader }

const (
	selectRef = `SELECT b.digest, b.size FROM blob_ref r JOIN blob b ON b.key = r.blob
		WHERE r.tenant = ? AND r.conversation = ? AND r.kind = ? AND r.name = ?`
	selectRefs = `SELECT r.name, b.digest, b.size FROM blob_ref r JOIN blob b ON b.key = r.blob
		WHERE r.tenant = ? AND r.conversation = ? AND r.kind = ? AND r.name > ? ORDER BY r.name LIMIT ?`

	// Each read finds the piece by digest, because a blob that was removed and stored again has
	// another key.
	selectPiece = `SELECT p.blob, p.first, p.sum, p.data FROM blob b JOIN blob_piece p ON p.blob = b.key
		WHERE b.tenant = ? AND b.digest = ? AND p.first <= ? ORDER BY p.first DESC LIMIT 1`

	selectNewest = `SELECT tenant, digest, size FROM blob WHERE digest IS NOT NULL ORDER BY key DESC LIMIT ?`
)

// Stat implements [blob.Store].
func (b blobReader) Stat(ctx context.Context, tenant string, digest blob.Digest) (blob.Blob, error) {
	const op = "blob stat"
	found := blob.Blob{Digest: digest}
	err := b.one(ctx, op, tenant, selectBlob, []any{tenant, digest[:]}, new(int64), &found.Size)
	return found, err
}

// Lookup implements [blob.Store].
func (b blobReader) Lookup(ctx context.Context, tenant string, ref blob.Ref) (blob.Blob, error) {
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
func (b blobReader) one(ctx context.Context, op, tenant, statement string, args []any, into ...any) error {
	if err := cmp.Or(alive(ctx, op), blob.CheckText(op, tenant)); err != nil {
		return err
	}
	return b.r.look(ctx, op, func(ask asker) error {
		rows, err := ask(statement, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		if !rows.Next() {
			return cmp.Or(rows.Err(), blob.NotFound(op))
		}
		return rows.Scan(into...)
	})
}

// List implements [blob.Store].
func (b blobReader) List(ctx context.Context, tenant string, q blob.Query) ([]blob.Entry, error) {
	const op = "blob list"
	if err := cmp.Or(alive(ctx, op), q.Check(op, tenant)); err != nil {
		return nil, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	var list []blob.Entry
	err := b.r.look(ctx, op, func(ask asker) error {
		list = nil
		rows, err := ask(selectRefs, tenant, q.Conversation, q.Kind, q.After, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			e := blob.Entry{Ref: blob.Ref{Conversation: q.Conversation, Kind: q.Kind}}
			var digest []byte
			if err := rows.Scan(&e.Ref.Name, &digest, &e.Blob.Size); err != nil {
				return err
			}
			if err := setDigest(op, &e.Blob.Digest, digest); err != nil {
				return err
			}
			list = append(list, e)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Get implements [blob.Store].
func (b blobReader) Get(ctx context.Context, tenant string, digest blob.Digest, offset, length int64) (io.ReadCloser, error) {
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

// CheckBlobs reads the newest blobs of all tenants and returns the damaged ones. limit and most
// bound the number of blobs and their bytes. It is safe for concurrent use.
func (r *Reader) CheckBlobs(ctx context.Context, limit int, most int64) (damaged []blob.Digest, err error) {
	const op = "blob check"
	b := blobReader{r.reader}
	newest, err := b.newest(ctx, op, limit)
	for i := 0; err == nil && i < len(newest) && newest[i].Size <= most; i++ {
		most -= newest[i].Size
		err = b.check(ctx, newest[i].tenant, newest[i].Digest)
		if e, ok := errors.AsType[*event.Error](err); ok && e.Code == blob.CodeDamaged {
			damaged = append(damaged, newest[i].Digest)
			err = nil
		}
	}
	return damaged, err
}

// check reads a blob. A blob that was removed meanwhile is not damaged.
func (b blobReader) check(ctx context.Context, tenant string, digest blob.Digest) error {
	content, err := b.Get(ctx, tenant, digest, 0, -1)
	if err == nil {
		_, err = io.Copy(io.Discard, content)
	}
	if event.KindOf(err) == event.ErrNotFound {
		return nil
	}
	return err
}

type tenantBlob struct {
	blob.Blob

	tenant string
}

func (b blobReader) newest(ctx context.Context, op string, limit int) (list []tenantBlob, err error) {
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	err = b.r.look(ctx, op, func(ask asker) error {
		rows, err := ask(selectNewest, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var found tenantBlob
			var digest []byte
			if err := rows.Scan(&found.tenant, &digest, &found.Size); err != nil {
				return err
			}
			if err := setDigest(op, &found.Digest, digest); err != nil {
				return err
			}
			list = append(list, found)
		}
		return rows.Err()
	})
	return list, err
}
