package s3

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// files are the files of one conversation.
type files struct {
	in *Bucket
	// at begins the keys of all of them.
	at       string
	tenant   string
	changing *sync.Mutex
}

var _ workspace.Files = (*files)(nil)

// file describes an object. ok is false for one that is no file of a workspace, which another program has stored.
func (f *files) file(o object) (file workspace.File, ok bool) {
	path := strings.TrimPrefix(o.Key, f.at)
	if workspace.CheckPath("list files", path) != nil {
		return workspace.File{}, false
	}
	return workspace.File{Path: path, Size: o.Size, Version: o.ETag, Modified: o.LastModified}, true
}

// List implements [workspace.Files].
func (f *files) List(ctx context.Context, q workspace.Query) ([]workspace.File, error) {
	const op = "list files"
	prefix := f.at
	if q.Folder != "" {
		if err := workspace.CheckPath(op, q.Folder); err != nil {
			return nil, err
		}
		prefix += q.Folder + "/"
	}
	after := ""
	if q.After != "" {
		if after = f.at + q.After; after < prefix {
			after = ""
		}
	}
	var out []workspace.File
	err := f.in.each(ctx, prefix, after, max(q.Limit, 0), func(o object) bool {
		if file, ok := f.file(o); ok {
			out = append(out, file)
		}
		return q.Limit <= 0 || len(out) < q.Limit
	})
	return out, described(op, "", err)
}

// Stat implements [workspace.Files].
func (f *files) Stat(ctx context.Context, path string) (workspace.File, error) {
	const op = "stat file"
	key, err := f.key(ctx, op, path)
	if err != nil {
		return workspace.File{}, err
	}
	_, head, err := f.in.read(ctx, &call{method: http.MethodHead, key: key})
	if err != nil {
		return workspace.File{}, described(op, path, err)
	}
	return headed(path, head)
}

// headed describes a file by the head of an answer.
func headed(path string, head http.Header) (workspace.File, error) {
	size, err := sizeIn(head)
	if err != nil || head.Get("ETag") == "" {
		return workspace.File{}, described("stat file", path, errOdd)
	}
	modified, _ := http.ParseTime(head.Get("Last-Modified"))
	return workspace.File{Path: path, Size: size, Version: head.Get("ETag"), Modified: modified}, nil
}

// key checks a path and returns its key.
func (f *files) key(ctx context.Context, op, path string) (string, error) {
	if err := workspace.CheckPath(op, path); err != nil {
		return "", err
	}
	if len(f.at)+len(path) > maxKey {
		return "", &event.Error{Op: op, Kind: event.ErrInvalid, Message: "the path is too long for this server's storage", Hint: "use a shorter one"}
	}
	if err := ctx.Err(); err != nil {
		return "", described(op, path, err)
	}
	return f.at + path, nil
}

// Remove implements [workspace.Files].
func (f *files) Remove(ctx context.Context, path string) error {
	const op = "remove file"
	f.changing.Lock()
	defer f.changing.Unlock()
	file, err := f.Stat(ctx, path)
	if err != nil {
		return err
	}
	key, err := f.key(ctx, op, path)
	if err != nil {
		return err
	}
	if _, _, err := f.in.read(ctx, &call{method: http.MethodDelete, key: key}); err != nil {
		return described(op, path, err)
	}
	f.in.totals.add(f.tenant, -file.Size)
	return nil
}
