package service

import (
	"context"
	"io"

	"github.com/braidrun/braid/workspace"
)

// countedFiles holds the writer of files to the tenant's quota.
type countedFiles struct {
	workspace.Files

	quotas *quotas
	tenant string
	// there reports whether the conversation still exists. nil means that it does.
	there func(ctx context.Context) bool
}

// Put implements [workspace.Files]. A file that arrives while its conversation is deleted goes with it.
func (f *countedFiles) Put(ctx context.Context, path string, r io.Reader, c workspace.Condition) (workspace.File, error) {
	counted := &countedReader{r: r, take: func(n int64) error { return f.quotas.admit(ctx, f.tenant, n, true) }}
	f.quotas.storage.begin(f.tenant)
	file, err := f.Files.Put(ctx, path, counted, c)
	if err != nil {
		f.quotas.storage.end(f.tenant, counted.taken, 0)
		return file, err
	}
	f.quotas.storage.end(f.tenant, counted.taken, file.Size)
	if f.there != nil && !f.there(ctx) {
		_ = f.Remove(context.WithoutCancel(ctx), path) // the tenant's erasure removes it otherwise
		return workspace.File{}, notFound("write file", "conversation")
	}
	return file, nil
}

// countedReader asks for the room of what it reads before it passes it on.
type countedReader struct {
	r     io.Reader
	take  func(n int64) error
	taken int64
	err   error
}

// Read implements io.Reader.
func (c *countedReader) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p)
	if n > 0 {
		if c.err = c.take(int64(n)); c.err != nil {
			return 0, c.err
		}
		c.taken += int64(n)
	}
	return n, err
}
