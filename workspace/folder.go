package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/braidrun/braid/event"
)

// Folder stores files in a local folder. Other programs may use the folder too. Files whose paths [CheckPath] refuses are
// not seen. A file that is replaced keeps its permissions; those of a new one follow the umask of the process.
type Folder struct {
	root  *os.Root
	quota Quota
	// changing keeps the quota and the conditions true for all writers of this Folder.
	changing sync.Mutex
}

var _ Files = (*Folder)(nil)

// visited bounds the entries of a folder that one call looks at.
const visited = 1 << 20

// OpenFolder opens the folder dir, which must exist. The caller closes it.
func OpenFolder(dir string, q Quota) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &event.Error{
				Op: "open workspace", Kind: event.ErrNotFound, Message: "there is no such folder", Hint: "make it, or name another", Err: err,
			}
		}
		return nil, system("open workspace", "the folder cannot be opened", err)
	}
	return &Folder{root: root, quota: q.filled()}, nil
}

// Close closes the folder. Readers that are open stay usable.
func (f *Folder) Close() error { return f.root.Close() }

// Dir returns the folder's path, as [OpenFolder] was given it.
func (f *Folder) Dir() string { return f.root.Name() }

// List implements [Files].
func (f *Folder) List(ctx context.Context, q Query) ([]File, error) {
	const op = "list files"
	if err := checkFolder(op, q.Folder); err != nil {
		return nil, err
	}
	var out []File
	err := f.walk(ctx, op, q.Folder, func(name string, info fs.FileInfo) {
		if name > q.After {
			out = append(out, describe(name, info))
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	if q.Limit > 0 && len(out) > q.Limit {
		out = slices.Clip(out[:q.Limit])
	}
	return out, nil
}

// walk calls see with each plain file of a folder.
func (f *Folder) walk(ctx context.Context, op, folder string, see func(name string, info fs.FileInfo)) error {
	left := visited
	start := cmp.Or(folder, ".")
	err := fs.WalkDir(f.root.FS(), start, func(name string, d fs.DirEntry, err error) error {
		if e := alive(ctx, op); e != nil {
			return e
		}
		if left--; left < 0 {
			return &event.Error{Op: op, Kind: event.ErrTooLarge, Message: "the folder holds too many files", Hint: "use a smaller folder"}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile, or never there
			return nil
		case err != nil:
			return err
		case name == ".", name == start && !d.IsDir():
			return nil
		case badName(path.Base(name)) != "":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() && name != start && strings.Count(name, "/") >= MaxDepth-1:
			return fs.SkipDir
		case !d.Type().IsRegular() || len(name) > MaxPath:
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() { // one that has gone by now is no file
			see(name, info)
		}
		return nil
	})
	if err != nil {
		return system(op, "the folder cannot be read", err)
	}
	return nil
}

func describe(name string, info fs.FileInfo) File {
	return File{
		Path: name, Size: info.Size(), Modified: info.ModTime(),
		Version: strconv.FormatInt(info.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(info.Size(), 36),
	}
}

// Stat implements [Files].
func (f *Folder) Stat(ctx context.Context, name string) (File, error) {
	const op = "stat file"
	if err := checkCall(ctx, op, name); err != nil {
		return File{}, err
	}
	return f.stat(op, name)
}

func (f *Folder) stat(op, name string) (File, error) {
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return File{}, notFound(op, name)
	case err != nil:
		return File{}, system(op, "the file cannot be looked at", err)
	case !info.Mode().IsRegular():
		return File{}, notPlain(op, name)
	}
	return describe(name, info), nil
}

func notPlain(op, name string) error {
	return invalid(op, strconv.Quote(name)+" is a folder, or no plain file", "pass the path of a file")
}

// Open implements [Files].
func (f *Folder) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	const op = "read file"
	if err := checkCall(ctx, op, name); err != nil {
		return nil, err
	}
	if _, err := f.stat(op, name); err != nil {
		return nil, err
	}
	// Another program may put a pipe in the file's place at any time. So opening does not wait, and what was opened is
	// looked at.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, notFound(op, name)
		}
		return nil, system(op, "the file cannot be read", err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, notPlain(op, name)
	}
	return &folderReader{ctx: ctx, file: file}, nil
}

// folderReader reads a file until its context is done.
type folderReader struct {
	ctx  context.Context //nolint:containedctx // Open promises that ctx is for the reads
	file *os.File
}

// Read implements io.Reader.
func (r *folderReader) Read(p []byte) (int, error) {
	if err := alive(r.ctx, "read file"); err != nil {
		return 0, err
	}
	n, err := r.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = system("read file", "the file cannot be read", err)
	}
	return n, err
}

// Close implements io.Closer.
func (r *folderReader) Close() error { return r.file.Close() }

// Put implements [Files].
func (f *Folder) Put(ctx context.Context, name string, r io.Reader, c Condition) (out File, err error) {
	const op = "write file"
	if err := checkCall(ctx, op, name); err != nil {
		return File{}, err
	}
	// The draft stands in the workspace's own folder until it has its place, so that a slow writer holds no lock.
	draft := draftPrefix + rand.Text()
	if err := f.write(ctx, op, draft, r); err != nil {
		_ = f.root.Remove(draft)
		return File{}, err
	}
	defer func() {
		if err != nil {
			_ = f.root.Remove(draft)
		}
	}()
	f.changing.Lock()
	defer f.changing.Unlock()
	if err := f.admit(ctx, op, name, draft, c); err != nil {
		return File{}, err
	}
	if info, err := f.root.Lstat(name); err == nil { // a program stays executable
		if err := f.root.Chmod(draft, info.Mode().Perm()); err != nil {
			return File{}, system(op, "the file cannot be written", err)
		}
	}
	if folder := path.Dir(name); folder != "." {
		if err := f.root.MkdirAll(folder, 0o777); err != nil {
			if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
				return File{}, inFile(op, name)
			}
			return File{}, system(op, "the file's folder cannot be made", err)
		}
	}
	if err := f.root.Rename(draft, name); err != nil {
		return File{}, system(op, "the file cannot be written", err)
	}
	return f.stat(op, name)
}

func inFile(op, name string) error {
	return invalid(op, "a folder of "+strconv.Quote(name)+" is a file", "choose another path")
}

// write stores the bytes of r as a new file.
func (f *Folder) write(ctx context.Context, op, draft string, r io.Reader) error {
	file, err := f.root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return system(op, "the file cannot be written", err)
	}
	source := &sourceReader{ctx: ctx, op: op, r: r}
	n, err := io.Copy(file, io.LimitReader(source, f.quota.File+1))
	if err == nil && n <= f.quota.File {
		err = file.Sync()
	}
	err = cmp.Or(err, file.Close())
	switch {
	case err != nil:
		return system(op, "the file cannot be written", err)
	case n > f.quota.File:
		return tooMany(op, f.quota.File, false)
	}
	return nil
}

// sourceReader reads what is to be stored. Its errors are not those of the store.
type sourceReader struct {
	ctx context.Context //nolint:containedctx // one call of Put
	op  string
	r   io.Reader
}

// Read implements io.Reader.
func (s *sourceReader) Read(p []byte) (int, error) {
	if err := alive(s.ctx, s.op); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		if e, ok := errors.AsType[*event.Error](err); ok {
			return n, e
		}
		err = &event.Error{Op: s.op, Kind: event.ErrStreamCut, Message: "the bytes to store ended with an error", Hint: "send them again", Err: err}
	}
	return n, err
}

// admit checks the quota and the condition for a draft that is to take its place.
func (f *Folder) admit(ctx context.Context, op, name, draft string, c Condition) error {
	info, err := f.root.Lstat(draft)
	if err != nil {
		return system(op, "the file cannot be written", err)
	}
	old, err := f.stat(op, name)
	there := err == nil
	if err != nil && event.KindOf(err) != event.ErrNotFound {
		return err
	}
	if err := c.holds(op, name, old, there); err != nil {
		return err
	}
	var u usage
	if err := f.walk(ctx, op, "", func(_ string, info fs.FileInfo) {
		u.files++
		u.bytes += info.Size()
	}); err != nil {
		return err
	}
	replaced := int64(-1)
	if there {
		replaced = old.Size
	}
	limit, all, err := f.quota.room(op, u, replaced)
	if err == nil && info.Size() > limit {
		err = tooMany(op, limit, all)
	}
	return err
}

// Remove implements [Files].
func (f *Folder) Remove(ctx context.Context, name string) error {
	const op = "remove file"
	if err := checkCall(ctx, op, name); err != nil {
		return err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	if _, err := f.stat(op, name); err != nil {
		return err
	}
	if err := f.root.Remove(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return notFound(op, name)
		}
		return system(op, "the file cannot be removed", err)
	}
	// Removing a folder that is not empty fails, and ends the loop.
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if f.root.Remove(folder) != nil {
			break
		}
	}
	return nil
}
