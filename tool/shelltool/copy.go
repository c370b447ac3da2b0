package shelltool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/sandbox"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/workspace"
)

// inCopy runs a command on copies of the files, and stores what it has changed.
func inCopy(ctx context.Context, files workspace.Files, o *sandbox.Options) (out tool.Output, err error) {
	dir, err := os.MkdirTemp("", "braid-shell-")
	if err != nil {
		return tool.Output{}, system("the temporary folder cannot be made", err)
	}
	defer func() {
		if e := remove(context.WithoutCancel(ctx), dir); e != nil && err == nil {
			err = e
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return tool.Output{}, system("the temporary folder cannot be opened", err)
	}
	defer root.Close()
	c := &copied{files: files, root: root}
	if err := c.lay(ctx); err != nil {
		return tool.Output{}, err
	}
	o.Folder = dir
	r, err := sandbox.Run(ctx, *o)
	if err != nil {
		return tool.Output{}, err
	}
	did, err := c.store(ctx)
	tool.FilesChanged(ctx, did.changes...)
	if err != nil {
		return tool.Output{}, err
	}
	return told(&r, o, did), nil
}

// copied are copies of the files of a workspace.
type copied struct {
	files workspace.Files
	root  *os.Root
	// laid are the files as they were laid out, by path.
	laid map[string]laid
}

// laid is a file that was laid out.
type laid struct {
	version string
	sum     [sha256.Size]byte
}

// lay copies all files of the workspace.
func (c *copied) lay(ctx context.Context) error {
	list, err := c.files.List(ctx, workspace.Query{})
	if err != nil {
		return err
	}
	c.laid = make(map[string]laid, len(list))
	for _, f := range list {
		if err := c.layOne(ctx, f); err != nil && event.KindOf(err) != event.ErrNotFound { // one that is gone by now is no file
			return err
		}
	}
	return nil
}

func (c *copied) layOne(ctx context.Context, f workspace.File) error {
	r, err := c.files.Open(ctx, f.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	if folder := path.Dir(f.Path); folder != "." {
		if err := c.root.MkdirAll(folder, 0o700); err != nil {
			return system("a file cannot be copied", err)
		}
	}
	to, err := c.root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700) // scripts run, and nobody else sees them
	if err != nil {
		return system("a file cannot be copied", err)
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, sum), r)
	if err = cmp.Or(err, to.Close()); err != nil {
		return system("a file cannot be copied", err)
	}
	c.laid[f.Path] = laid{f.Version, [sha256.Size]byte(sum.Sum(nil))}
	return nil
}

// mostFound bounds the entries that a command may leave in its folder.
const mostFound = 100_000

// found are the files that a command has left.
type found struct {
	// files are the plain files with paths that a workspace takes, sorted.
	files []string
	// others counts links, devices and the like, and files with other paths.
	others int
}

// find lists what the command has left. No link is followed.
func (c *copied) find(ctx context.Context) (f found, err error) {
	left := mostFound
	err = fs.WalkDir(c.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if e := ctx.Err(); e != nil {
			return e
		}
		if left--; left < 0 {
			return &event.Error{
				Op: "run command", Kind: event.ErrQuota, Message: "the command has left more than " + strconv.Itoa(mostFound) + " files and folders",
				Hint: "write fewer files; none of them was stored",
			}
		}
		switch {
		case err != nil: // a folder that its owner may not read
			f.others++
			return fs.SkipDir
		case name == ".":
		case d.IsDir() && workspace.CheckPath("", name) != nil:
			f.others++
			return fs.SkipDir
		case d.IsDir():
		case d.Type().IsRegular() && workspace.CheckPath("", name) == nil:
			f.files = append(f.files, name)
		default:
			f.others++
		}
		return nil
	})
	slices.Sort(f.files)
	return f, err
}

// mostLeft bounds the files that the model is told were not stored.
const mostLeft = 10

// store brings the changes of the command into the workspace. Also beside an error it returns those that it has stored.
func (c *copied) store(ctx context.Context) (*outcome, error) {
	did := &outcome{}
	f, err := c.find(ctx)
	if err != nil {
		return did, system("the files of the command cannot be read", err)
	}
	failed := 0
	leave := func(name string, err error) {
		if failed++; failed <= mostLeft {
			did.left = append(did.left, "Not stored: "+strconv.QuoteToGraphic(name)+": "+reason(err)+".")
		}
	}
	there := make(map[string]bool, len(f.files))
	for _, name := range f.files {
		there[name] = true
	}
	// Removals come first: they make room, and a file may have become a folder.
	for name, was := range c.laid {
		if !there[name] {
			if change, err := c.removed(ctx, name, was); err != nil {
				leave(name, err)
			} else if change != nil {
				did.changes = append(did.changes, *change)
			}
		}
	}
	for _, name := range f.files {
		if change, err := c.changed(ctx, name); err != nil {
			if e := ctx.Err(); e != nil {
				return did, system("", e)
			}
			leave(name, err)
		} else if change != nil {
			did.changes = append(did.changes, *change)
		}
	}
	if failed > mostLeft {
		did.left = append(did.left, "Not stored: "+strconv.Itoa(failed-mostLeft)+" more.")
	}
	if f.others > 0 {
		did.left = append(did.left, "Not stored: "+strconv.Itoa(f.others)+
			" links, devices, unreadable folders or files with names that the workspace does not take.")
	}
	slices.SortFunc(did.changes, func(a, b workspace.Change) int { return cmp.Compare(a.Path, b.Path) })
	return did, nil
}

var errMeanwhile = &event.Error{Op: "run command", Kind: event.ErrConflict, Message: "somebody else has changed it meanwhile"}

// removed removes a file that the command has removed.
func (c *copied) removed(ctx context.Context, name string, was laid) (*workspace.Change, error) {
	now, err := c.files.Stat(ctx, name)
	if event.KindOf(err) == event.ErrNotFound {
		return nil, nil //nolint:nilnil // it is gone already
	}
	switch {
	case err != nil:
	case workspace.OfGit(name):
		err = errGit
	case now.Version != was.version:
		err = errMeanwhile
	}
	if err == nil {
		err = c.files.Remove(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return &workspace.Change{Path: name, Kind: workspace.Removed}, nil
}

// changed stores a file if the command has made or changed it.
func (c *copied) changed(ctx context.Context, name string) (*workspace.Change, error) {
	was, old := c.laid[name]
	f, err := c.root.Open(name)
	if err != nil {
		return nil, system("it cannot be read", err)
	}
	defer f.Close()
	change, condition := &workspace.Change{Path: name, Kind: workspace.Added}, workspace.Condition{Absent: true}
	if old {
		sum := sha256.New()
		if _, err := io.Copy(sum, f); err != nil {
			return nil, system("it cannot be read", err)
		}
		if [sha256.Size]byte(sum.Sum(nil)) == was.sum {
			return nil, nil //nolint:nilnil // nothing has changed
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, system("it cannot be read", err)
		}
		change.Kind, condition = workspace.Changed, workspace.Condition{Version: was.version}
	}
	if workspace.OfGit(name) {
		return nil, errGit
	}
	stored, err := c.files.Put(ctx, name, f, condition)
	if event.KindOf(err) == event.ErrConflict {
		err = errMeanwhile
	}
	if err != nil {
		return nil, err
	}
	change.Size = stored.Size
	return change, nil
}

// remove removes the temporary folder. A command may have made folders that cannot be read, or that are nested more deeply
// than a program can open; then a command in a sandbox removes them.
func remove(ctx context.Context, dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_, _ = sandbox.Run(ctx, sandbox.Options{
		Folder: dir, Least: sandbox.Namespaces,
		Args: []string{"/bin/sh", "-c", "chmod -R u+rwX . ; rm -rf ./* ./.[!.]* ./..?*"},
	})
	return system("the temporary folder cannot be removed", os.RemoveAll(dir))
}

// reason returns the message of an error.
func reason(err error) string {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// system describes an error of the operating system; nil for nil.
func system(message string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	e := &event.Error{Op: "run command", Kind: event.ErrUnavailable, Message: message, Hint: "try again", Err: err}
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message, e.Hint = event.ErrCancelled, "the command was cancelled", ""
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message, e.Hint = event.ErrTimeout, "the time was over", "use fewer or smaller files"
	}
	return e
}
