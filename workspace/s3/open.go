package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
)

// sumHeader holds the SHA-256 of a file, which Braid stores beside it.
const sumHeader = "X-Amz-Meta-Braid-Sha256"

var (
	// errOdd says that an answer is not what the protocol says.
	errOdd = errors.New("the store gives an answer that cannot be used")
	// errDamaged says that the store gives other bytes than were stored.
	errDamaged = errors.New("the store gives other bytes than were stored")
)

func sizeIn(head http.Header) (int64, error) {
	return strconv.ParseInt(head.Get("Content-Length"), 10, 64)
}

// Open implements [workspace.Files]. It checks the size and the sum of what it reads.
func (f *files) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	const op = "read file"
	key, err := f.key(ctx, op, path)
	if err != nil {
		return nil, err
	}
	res, err := f.in.send(ctx, &call{method: http.MethodGet, key: key, headers: map[string]string{"Accept-Encoding": "identity"}})
	if err != nil {
		return nil, described(op, path, err)
	}
	if res.ContentLength < 0 {
		_ = res.Body.Close()
		return nil, described(op, path, errOdd)
	}
	return &reader{ctx: ctx, path: path, from: res.Body, left: res.ContentLength, want: res.Header.Get(sumHeader), sum: sha256.New()}, nil
}

// reader reads a file and checks it at its end.
type reader struct {
	ctx  context.Context //nolint:containedctx // that of Open, for its errors
	path string
	from io.ReadCloser
	left int64
	// want is the sum that was stored; empty for a file that another program has stored.
	want string
	sum  hash.Hash
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.left -= int64(n)
	_, _ = r.sum.Write(p[:n]) // a hash never fails
	switch {
	case r.ctx.Err() != nil:
		return n, described("read file", r.path, r.ctx.Err())
	case errors.Is(err, io.EOF) && (r.left != 0 || r.want != "" && r.want != hex.EncodeToString(r.sum.Sum(nil))):
		return n, described("read file", r.path, errDamaged)
	case err != nil && !errors.Is(err, io.EOF):
		return n, described("read file", r.path, err)
	}
	return n, err
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.from.Close() }
