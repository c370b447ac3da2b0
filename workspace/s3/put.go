package s3

import (
	"context"
	"crypto/md5" //nolint:gosec // the protocol's sum against damage on the way
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// putHeader holds a name of one Put, by which it finds its own object again.
const putHeader = "X-Amz-Meta-Braid-Put"

// Put implements [workspace.Files]. It keeps the bytes in a temporary file until the store has them.
func (f *files) Put(ctx context.Context, path string, r io.Reader, c workspace.Condition) (workspace.File, error) {
	const op = "write file"
	key, err := f.key(ctx, op, path)
	if err != nil {
		return workspace.File{}, err
	}
	draft, err := f.spool(ctx, op, path, r)
	if err != nil {
		return workspace.File{}, err
	}
	defer draft.discard()
	f.changing.Lock()
	defer f.changing.Unlock()
	list, err := f.List(ctx, workspace.Query{})
	if err != nil {
		return workspace.File{}, err
	}
	if err := workspace.Admit(op, list, path, draft.size, c, f.in.quota); err != nil {
		return workspace.File{}, err
	}
	version, err := f.store(ctx, op, path, key, draft, c)
	if err != nil {
		return workspace.File{}, err
	}
	f.in.totals.add(f.tenant, draft.size-sizeAt(list, path))
	return workspace.File{Path: path, Size: draft.size, Version: version, Modified: time.Now().UTC().Truncate(time.Second)}, nil
}

func sizeAt(list []workspace.File, path string) int64 {
	for _, f := range list {
		if f.Path == path {
			return f.Size
		}
	}
	return 0
}

// draft is a temporary file with what is to be stored.
type draft struct {
	file *os.File
	size int64
	sum  string
	md5  string
}

func (d *draft) discard() {
	_ = d.file.Close()
	_ = os.Remove(d.file.Name()) // it is in the system's folder for temporary files
}

// spool reads what is to be stored.
func (f *files) spool(ctx context.Context, op, path string, r io.Reader) (*draft, error) {
	most := f.in.quota.File
	if most <= 0 {
		most = workspace.DefaultFile
	}
	file, err := os.CreateTemp("", "braid-put-*")
	if err != nil {
		return nil, described(op, path, errors.Join(errNoDraft, err))
	}
	d := &draft{file: file}
	long, short := sha256.New(), md5.New() //nolint:gosec // as above
	source := &source{ctx: ctx, op: op, r: r}
	d.size, err = io.Copy(io.MultiWriter(file, long, short), io.LimitReader(source, most+1))
	switch {
	case source.err != nil:
		err = source.err
	case err != nil:
		err = described(op, path, errors.Join(errNoDraft, err))
	case d.size > most:
		err = &event.Error{
			Op: op, Kind: event.ErrTooLarge, Message: "the file has more than " + strconv.FormatInt(most, 10) + " bytes",
			Hint: "store a smaller file, or several",
		}
	default:
		d.sum, d.md5 = hex.EncodeToString(long.Sum(nil)), base64.StdEncoding.EncodeToString(short.Sum(nil))
		return d, nil
	}
	d.discard()
	return nil, err
}

// source reads what is to be stored. Its errors are not those of the store.
type source struct {
	ctx context.Context //nolint:containedctx // one call of Put
	op  string
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		s.err = described(s.op, "", err)
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		s.err = e
	} else {
		s.err = &event.Error{Op: s.op, Kind: event.ErrStreamCut, Message: "the bytes to store ended with an error", Hint: "send them again", Err: err}
	}
	return n, s.err
}

// store sends a draft, and returns the version of the file.
func (f *files) store(ctx context.Context, op, path, key string, d *draft, c workspace.Condition) (string, error) {
	name := rand.Text()
	put := &call{
		method: http.MethodPut, key: key, size: d.size, sum: d.sum,
		headers: map[string]string{"Content-Md5": d.md5, "Content-Type": "application/octet-stream", sumHeader: d.sum, putHeader: name},
		body:    func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(d.file, 0, d.size)), nil },
	}
	switch {
	case c.Absent:
		put.headers["If-None-Match"] = "*"
	case c.Version != "":
		put.headers["If-Match"] = c.Version
	}
	_, head, err := f.in.read(ctx, put)
	refused, _ := errors.AsType[*refusal](err)
	switch {
	case refused == nil:
	case refused.status == http.StatusNotImplemented && c != (workspace.Condition{}):
		delete(put.headers, "If-None-Match")
		delete(put.headers, "If-Match")
		_, head, err = f.in.read(ctx, put)
	case refused.status == http.StatusPreconditionFailed && refused.again > 0 || refused.status == http.StatusConflict:
		// An attempt whose answer was lost may have stored the file.
		_, there, look := f.in.read(ctx, &call{method: http.MethodHead, key: key})
		if look == nil && there.Get(putHeader) == name {
			head, err = there, nil
		}
	}
	if err != nil {
		return "", described(op, path, err)
	}
	if head.Get("ETag") == "" {
		return "", described(op, path, errOdd)
	}
	return head.Get("ETag"), nil
}
