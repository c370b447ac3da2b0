package workspace

import (
	"context"
	"io"
	"time"
)

// Files are the files of one workspace. All methods are safe for concurrent use, honour ctx and return
// *[event.Error]s. A path that [CheckPath] refuses is ErrInvalid. A call that is refused changes nothing.
type Files interface {
	// List returns the files that q selects, in the order of their paths.
	List(ctx context.Context, q Query) ([]File, error)
	// Stat returns one file, or ErrNotFound.
	Stat(ctx context.Context, path string) (File, error)
	// Open returns a reader of a file's bytes, for one goroutine, or ErrNotFound. ctx is for the reads, too. A file that
	// is replaced meanwhile is read to its end as it was, or ends with an error.
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	// Put stores all bytes of r as a file, in place of one with this path. Nobody sees a part of it. After any error the
	// file is as it was before, but ErrUnavailable leaves it open. More bytes than the quota allows are ErrTooLarge for one
	// file and ErrQuota for all of them. A condition that does not hold is ErrConflict.
	Put(ctx context.Context, path string, r io.Reader, c Condition) (File, error)
	// Remove removes a file. One that is not there is ErrNotFound.
	Remove(ctx context.Context, path string) error
}

// File describes a file.
type File struct {
	// Path is where the file stands in its workspace.
	Path string
	// Size is in bytes.
	Size int64
	// Modified is when the file was stored; zero if the store does not record it.
	Modified time.Time
	// Version differs between two contents of a path. It has no other meaning.
	Version string
}

// Query selects files. The zero value selects all.
type Query struct {
	// Folder is the path of the folder in which the files stand, at any depth; empty means the workspace.
	Folder string
	// After is the Path of the last file of the page before; empty begins.
	After string
	// Limit bounds the number of files; 0 or less means all.
	Limit int
}

// Condition says what must stand at a path for [Files].Put to replace it. The zero value always holds. It protects one
// writer from another that uses the same Files; a writer elsewhere may come between the check and the change.
type Condition struct {
	// Version is the version that the file must have; empty means any.
	Version string
	// Absent says that there must be no file.
	Absent bool
}

// holds reports whether the condition allows the change of a file. there says whether it exists.
func (c Condition) holds(op, path string, f File, there bool) error {
	switch {
	case c.Absent && there:
		return conflict(op, path, "exists already", "choose another path, or replace the file")
	case c.Version != "" && (!there || f.Version != c.Version):
		return conflict(op, path, "has changed", "read it again")
	}
	return nil
}

// Quota bounds a workspace. A field of 0 or less means its default.
type Quota struct {
	// File bounds the bytes of one file; by default [DefaultFile].
	File int64
	// Bytes bounds the bytes of all files; by default [DefaultBytes].
	Bytes int64
	// Files bounds the number of files; by default [DefaultFiles].
	Files int
}

// The defaults of a [Quota].
const (
	DefaultFile  = 32 << 20
	DefaultBytes = 1 << 30
	DefaultFiles = 10_000
)

// filled returns the quota with its defaults.
func (q Quota) filled() Quota {
	if q.File <= 0 {
		q.File = DefaultFile
	}
	if q.Bytes <= 0 {
		q.Bytes = DefaultBytes
	}
	if q.Files <= 0 {
		q.Files = DefaultFiles
	}
	return q
}

// usage is what a workspace holds.
type usage struct {
	files int
	bytes int64
}

// room returns how many bytes a new content of a file may have. old is the size of the file that it replaces; -1 means
// that there is none. all says that the bound is that of all files, not that of one.
func (q Quota) room(op string, u usage, old int64) (limit int64, all bool, err error) {
	if old < 0 && u.files >= q.Files {
		return 0, false, full(op, "the workspace holds as many files as it may", "remove a file first")
	}
	left := q.Bytes - u.bytes + max(old, 0)
	if left < 0 {
		return 0, false, full(op, "the workspace holds as many bytes as it may", "remove a file first")
	}
	return min(q.File, left), left < q.File, nil
}
