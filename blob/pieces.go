package blob

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"io/fs"
	"slices"

	"github.com/braidrun/braid/event"
)

// This file is for those who write a store: how bytes are cut into pieces, and put together again.

// Piece is a part of a blob as a store keeps it.
type Piece struct {
	// Of is the key under which the store keeps the blob's pieces.
	Of int64
	// First is the offset of the piece in the blob.
	First int64
	Data  []byte
	// Sum is what SumOf returned when the piece was stored.
	Sum Digest
}

// SumOf returns the sum that a store keeps with a piece. It depends on where the piece belongs, so a piece in another
// place is damage, too.
func SumOf(of, first int64, data []byte) Digest {
	h := sha256.New()
	var place [16]byte
	binary.BigEndian.PutUint64(place[:8], uint64(of))
	binary.BigEndian.PutUint64(place[8:], uint64(first))
	h.Write(place[:])
	h.Write(data)
	return Digest(h.Sum(nil))
}

// Split reads r to its end and hands its bytes to write in pieces. Every piece but the last has PieceSize bytes.
// write may keep what it gets. Limit is as for [Store].Put.
func Split(ctx context.Context, op string, r io.Reader, limit int64, write func(first int64, data []byte) error) (Blob, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	whole := sha256.New()
	b := Blob{}
	for start := firstRead; ; start = PieceSize {
		data, err := readPiece(r, start)
		if err := alive(ctx, op); err != nil {
			return Blob{}, err
		}
		if b.Size+int64(len(data)) > limit {
			return Blob{}, tooLarge(op)
		}
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return Blob{}, cut(op, err)
		}
		if len(data) > 0 {
			whole.Write(data)
			if err := write(b.Size, data); err != nil {
				return Blob{}, err
			}
			b.Size += int64(len(data))
		}
		if end {
			b.Digest = Digest(whole.Sum(nil))
			return b, nil
		}
	}
}

const (
	// firstRead is the first buffer of a blob: most are small.
	firstRead = 4 << 10
	// emptyReads is how often in a row a reader may return nothing.
	emptyReads = 100
)

// readPiece reads up to PieceSize bytes. The error is io.EOF at the end.
func readPiece(r io.Reader, start int) ([]byte, error) {
	data := make([]byte, 0, start)
	for empty := 0; len(data) < PieceSize; {
		if len(data) == cap(data) {
			data = slices.Grow(data, min(len(data), PieceSize-len(data)))
		}
		n, err := r.Read(data[len(data):min(cap(data), PieceSize)])
		data = data[:len(data)+n]
		if err != nil {
			return data, err
		}
		if empty++; n > 0 {
			empty = 0
		}
		if empty >= emptyReads {
			return data, io.ErrNoProgress
		}
	}
	return data, nil
}

// NewReader returns what [Store].Get does for a blob of a store. fetch returns the piece that holds the byte at an
// offset. The reader verifies what it gets.
func NewReader(op string, b Blob, offset, length int64, fetch func(at int64) (Piece, error)) (io.ReadCloser, error) {
	if offset < 0 {
		return nil, invalid(op, "the offset is below 0", "begin with 0")
	}
	r := &reader{op: op, blob: b, at: min(offset, b.Size), end: b.Size, fetch: fetch}
	if length >= 0 && length < b.Size-r.at {
		r.end = r.at + length
	}
	if r.at == 0 && r.end == b.Size {
		r.whole = sha256.New()
		if b.Size == 0 && Digest(r.whole.Sum(nil)) != b.Digest {
			return nil, Damaged(op, "there are none, and there should be some", nil)
		}
	}
	return r, nil
}

// reader reads a range of a blob piece by piece.
type reader struct {
	op      string
	blob    Blob
	at, end int64
	fetch   func(at int64) (Piece, error)
	// rest holds the unread bytes of the current piece.
	rest []byte
	// whole is the digest of what was read; nil for a part of a blob.
	whole hash.Hash
	err   error
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 || r.err != nil {
		return 0, r.err
	}
	if len(r.rest) == 0 {
		if r.err = r.next(); r.err != nil {
			return 0, r.err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next fetches and verifies the next piece.
func (r *reader) next() error {
	if r.at == r.end {
		return io.EOF
	}
	p, err := r.fetch(r.at)
	if err != nil {
		return err
	}
	skip := r.at - p.First
	size := int64(len(p.Data))
	switch {
	case skip < 0 || skip >= size || p.First+size > r.blob.Size:
		return Damaged(r.op, "a piece is missing", nil)
	case SumOf(p.Of, p.First, p.Data) != p.Sum:
		return Damaged(r.op, "a piece has changed", nil)
	}
	rest := p.Data[skip:min(size, r.end-p.First)]
	r.at += int64(len(rest))
	if r.whole != nil {
		r.whole.Write(rest)
		if r.at == r.end && Digest(r.whole.Sum(nil)) != r.blob.Digest {
			return Damaged(r.op, "they are not what their digest says", nil)
		}
	}
	r.rest = rest
	return nil
}

// Close implements [io.Closer].
func (r *reader) Close() error {
	r.rest, r.fetch = nil, nil
	r.err = &event.Error{Op: r.op, Kind: event.ErrInvalid, Err: fs.ErrClosed, Message: "the reader is closed", Hint: "open another one"}
	return nil
}
