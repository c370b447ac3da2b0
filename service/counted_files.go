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
	// there reports whether the conversation still exists.
	there func(ctx context.Context) bool
}

// Put implements [workspace.Files]. A file that arrives while its conversation is deleted goes with it.
func (f *countedFiles) Put(ctx context.Context, path string, r io.Reader, c workspace.Condition) (workspace.File, error) {
	file, err := f.Files.Put(ctx, path, &countedReader{r: r, stores: func(n int64) error { return f.quotas.stores(ctx, f.tenant, n) }}, c)
	if err == nil && !f.there(ctx) {
		_ = f.Remove(context.WithoutCancel(ctx), path) // the tenant's erasure removes it otherwise
		return workspace.File{}, notFound("write file", "conversation")
	}
	return file, err
}

// countedEach is after how many bytes the quota is asked.
const countedEach = 256 << 10

// countedReader asks for the room of what it reads.
type countedReader struct {
	r      io.Reader
	stores func(n int64) error
	room   int64
}

// Read implements io.Reader.
func (c *countedReader) Read(p []byte) (int, error) {
	if c.room <= 0 {
		if err := c.stores(countedEach); err != nil {
			return 0, err
		}
		c.room = countedEach
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.room)])
	c.room -= int64(n)
	return n, err
}
