package service

import (
	"context"
	"io"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// Files returns the workspace of a conversation. What is stored there counts towards the tenant's quota. It returns
// [event.ErrUnsupported] if the service has no workspaces.
func (s *Service) Files(ctx context.Context, p Principal, id string) (workspace.Files, error) {
	const op = "workspace"
	row, err := s.row(ctx, p, op, id)
	if err != nil {
		return nil, err
	}
	if s.workspaces == nil {
		return nil, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "this server has no workspaces", Hint: "ask the operator of this service to enable them",
		}
	}
	return &countedFiles{Files: openFiles(s.workspaces, row.Key()), quotas: s.quotas, tenant: row.Tenant}, nil
}

func openFiles(in *workspace.Store, key ConversationKey) *workspace.Blobs {
	return in.Open(key.Tenant, key.ID, key.Life)
}

// WorkspaceOf returns the workspace of the run that a tool works for. It is for [filetool.ForEach]. It returns nil outside a
// run, and if the service has no workspaces. A run whose tenant stores too much ends before its next model call, so that
// these files need no count of their own.
//
// [filetool.ForEach]: https://pkg.go.dev/github.com/braidrun/braid/tool/filetool#ForEach
func WorkspaceOf(ctx context.Context) (workspace.Files, error) {
	in, _ := ctx.Value(conversationKey{}).(runsIn)
	if in.workspaces == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	return openFiles(in.workspaces, in.conversation), nil
}

// countedFiles holds the writer of files to the tenant's quota.
type countedFiles struct {
	workspace.Files

	quotas *quotas
	tenant string
}

// Put implements [workspace.Files].
func (f *countedFiles) Put(ctx context.Context, path string, r io.Reader, c workspace.Condition) (workspace.File, error) {
	return f.Files.Put(ctx, path, &countedReader{r: r, stores: func(n int64) error { return f.quotas.stores(ctx, f.tenant, n) }}, c)
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

// forkFiles gives a fork the files of its origin.
func (s *Service) forkFiles(ctx context.Context, origin, fork *Row) error {
	if s.workspaces == nil {
		return nil
	}
	return openFiles(s.workspaces, origin.Key()).LinkTo(ctx, openFiles(s.workspaces, fork.Key()))
}
