package demotool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Bounds of the scratch folder.
const (
	// MaxFile is how large a file may be, in bytes.
	MaxFile = 64 << 10
	// MaxFiles is how many files write_file lets there be.
	MaxFiles = 100
	maxName  = 100
)

// Files are four tools over the folder dir, which must exist: write_file,
// read_file, list_files and delete_file. They see plain text files directly in
// the folder and nothing else: a name is a name, never a path, and links are
// not followed. delete_file asks the person first. The folder is opened for each
// call and closed behind it, so there is nothing to close.
//
// The errors are *[event.Error]s, of kind ErrNotFound where there is no such
// folder.
func Files(dir string) ([]tool.Tool, error) {
	f := &folder{open: func(context.Context) (*os.Root, error) { return os.OpenRoot(dir) }}
	if err := f.in(context.Background(), func(*os.Root) error { return nil }); err != nil {
		return nil, err
	}
	return f.tools(), nil
}

// FilesIn is [Files] over a folder that is open already. root stays the
// caller's and must stay open while the tools are used.
func FilesIn(root *os.Root) []tool.Tool {
	f := &folder{open: func(context.Context) (*os.Root, error) { return root.OpenRoot(".") }}
	return f.tools()
}

// FilesOf is [Files] over the folder that open gives for the context of a call, which
// the tools close behind it.
func FilesOf(open func(ctx context.Context) (*os.Root, error)) []tool.Tool {
	f := &folder{open: open}
	return f.tools()
}

// folder is the scratch folder. mu keeps the count of files right.
type folder struct {
	open func(ctx context.Context) (*os.Root, error)
	mu   sync.Mutex
}

type fileName struct {
	Name string `json:"name" jsonschema:"the file's name, such as notes.txt; no folders"`
}

type fileContent struct {
	Name    string `json:"name"    jsonschema:"the file's name, such as notes.txt; no folders"`
	Content string `json:"content" jsonschema:"the whole text of the file"`
}

type nothing struct{}

func (f *folder) tools() []tool.Tool {
	return []tool.Tool{
		tool.Func("write_file", "Writes a text file to the scratch folder, or replaces it.",
			func(ctx context.Context, in fileContent) (string, error) { return f.write(ctx, in.Name, in.Content) }, tool.Idempotent()),
		tool.Func("read_file", "Reads a text file of the scratch folder.",
			func(ctx context.Context, in fileName) (string, error) { return f.read(ctx, in.Name) }, tool.Idempotent()),
		tool.Func("list_files", "Lists the files of the scratch folder.",
			func(ctx context.Context, _ nothing) (string, error) { return f.list(ctx) }, tool.Idempotent()),
		tool.Func("delete_file", "Deletes a file of the scratch folder, after asking the person.", f.remove, tool.Reconcile(f.removed)),
	}
}

// in opens the folder for do.
func (f *folder) in(ctx context.Context, do func(*os.Root) error) error {
	root, err := f.open(ctx)
	if err != nil {
		e := problem(err, "the scratch folder cannot be opened")
		if errors.Is(err, fs.ErrNotExist) {
			e.Kind, e.Message, e.Hint = event.ErrNotFound, "there is no scratch folder", "make it, or name another"
		}
		return e
	}
	defer root.Close()
	return do(root)
}

func (f *folder) write(ctx context.Context, name, content string) (out string, err error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	switch {
	case len(content) > MaxFile:
		return "", &event.Error{
			Kind: event.ErrTooLarge, Message: "the text is larger than " + strconv.Itoa(MaxFile>>10) + " KiB",
			Hint: "write less, or several files",
		}
	case !utf8.ValidString(content):
		return "", refused("the content is no text", "send it as UTF-8")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.in(ctx, func(root *os.Root) error {
		switch size, err := stat(root, name); {
		case err == nil && size >= 0:
		case event.KindOf(err) == event.ErrNotFound:
			files, err := entries(root)
			if err != nil {
				return err
			}
			if len(files) >= MaxFiles {
				return &event.Error{
					Kind: event.ErrTooLarge, Message: "the scratch folder is full: it holds " + strconv.Itoa(MaxFiles) + " files",
					Hint: "delete one first",
				}
			}
		default:
			return err
		}
		// Beside the file and then in its place, so that it is never half written.
		draft := "." + name + ".draft"
		if err := writeNew(root, draft, content); err != nil {
			_ = root.Remove(draft)
			return problem(err, "the file cannot be written")
		}
		if err := root.Rename(draft, name); err != nil {
			_ = root.Remove(draft)
			return problem(err, "the file cannot be written")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return "Wrote " + amount(int64(len(content))) + " to " + name + ".", nil
}

// writeNew writes a file anew. What stands there, such as a draft that a crash has left or a pipe that would never be read, goes.
func writeNew(root *os.Root, name, content string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}

func (f *folder) read(ctx context.Context, name string) (out string, err error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	err = f.in(ctx, func(root *os.Root) error {
		if _, err := stat(root, name); err != nil {
			return err
		}
		file, err := open(root, name)
		if err != nil {
			return err
		}
		defer file.Close()
		data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
		switch {
		case err != nil:
			return problem(err, "the file cannot be read")
		case len(data) > MaxFile:
			return &event.Error{
				Kind: event.ErrTooLarge, Message: name + " is larger than " + strconv.Itoa(MaxFile>>10) + " KiB",
				Hint: "read another file",
			}
		case !utf8.Valid(data):
			return refused(name+" is no text", "read another file")
		}
		out = string(data)
		return nil
	})
	if err == nil && out == "" {
		out = "(" + name + " is empty)"
	}
	return out, err
}

func (f *folder) list(ctx context.Context) (out string, err error) {
	err = f.in(ctx, func(root *os.Root) error {
		files, err := entries(root)
		if err != nil {
			return err
		}
		lines := make([]string, 0, len(files)+1)
		for i, file := range files {
			if i == MaxFiles {
				lines = append(lines, "(and more)")
				break
			}
			lines = append(lines, file.Name()+" ("+amount(file.Size())+")")
		}
		out = strings.Join(lines, "\n")
		return nil
	})
	if err == nil && out == "" {
		out = "(no files)"
	}
	return out, err
}

// remove asks before the effect, as [tool.Ask] wants it: what stands before
// the question happens again with the answer.
func (f *folder) remove(ctx context.Context, in fileName) (string, error) {
	if err := checkName(in.Name); err != nil {
		return "", err
	}
	var size int64
	if err := f.in(ctx, func(root *os.Root) (err error) {
		size, err = stat(root, in.Name)
		return err
	}); err != nil {
		return "", err
	}
	yes, err := tool.Ask[bool](ctx, "Delete "+in.Name+" ("+amount(size)+")?")
	if err != nil {
		return "", err
	}
	if !yes {
		return "The person said no: " + in.Name + " is kept.", nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.in(ctx, func(root *os.Root) error {
		if err := root.Remove(in.Name); err != nil {
			return problem(err, "the file cannot be deleted")
		}
		return nil
	}); err != nil {
		return "", err
	}
	return deleted(in.Name), nil
}

func deleted(name string) string { return name + " is deleted." }

// removed tells what became of a deletion that was in flight when its driver
// died: a file that is gone was deleted, one that is there was not.
func (f *folder) removed(ctx context.Context, args json.RawMessage) (out tool.Output, known bool, err error) {
	var in fileName
	if json.Unmarshal(args, &in) != nil || checkName(in.Name) != nil {
		return out, false, nil //nolint:nilerr // such a call did nothing, and says itself what is wrong
	}
	err = f.in(ctx, func(root *os.Root) error {
		_, err := stat(root, in.Name)
		return err
	})
	if event.KindOf(err) == event.ErrNotFound {
		return tool.Text(deleted(in.Name)), true, nil
	}
	return out, false, err
}

// checkName lets through what is a plain file name on every system.
func checkName(name string) error {
	odd := func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune(" ._-", r)
	}
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) ||
		name[0] == '.' || strings.HasSuffix(name, ".") || strings.TrimSpace(name) != name || !filepath.IsLocal(name) {
		return refused("that is no name for a file",
			"use up to "+strconv.Itoa(maxName)+" letters, digits, spaces, \".\", \"_\" and \"-\", without folders and not beginning with \".\"")
	}
	return nil
}

// open opens a plain file for reading. Another program may put something else in the file's place at
// any time, so opening does not wait, as that of a named pipe would, and what was opened is looked at.
func open(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, problem(err, "the file cannot be read")
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = problem(err, "the file cannot be looked at")
	case !info.Mode().IsRegular():
		err = refused(name+" is no plain file", "use another name")
	default:
		return file, nil
	}
	_ = file.Close()
	return nil, err
}

// stat gives the size of a plain file.
func stat(root *os.Root, name string) (int64, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, &event.Error{Kind: event.ErrNotFound, Message: "there is no file " + name, Hint: "call list_files for the names", Err: err}
	case err != nil:
		return 0, problem(err, "the file cannot be looked at")
	case !info.Mode().IsRegular():
		return 0, refused(name+" is no plain file", "use another name")
	}
	return info.Size(), nil
}

// entries lists the plain files by name, at most one more than MaxFiles of
// what the system gives first.
func entries(root *os.Root) ([]fs.FileInfo, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, problem(err, "the scratch folder cannot be read")
	}
	defer dir.Close()
	var out []fs.FileInfo
	for len(out) <= MaxFiles {
		batch, err := dir.ReadDir(256)
		for _, e := range batch {
			if !e.Type().IsRegular() || checkName(e.Name()) != nil {
				continue
			}
			if info, err := e.Info(); err == nil && len(out) <= MaxFiles { // one that is gone by now is none
				out = append(out, info)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, problem(err, "the scratch folder cannot be read")
		}
	}
	slices.SortFunc(out, func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

// problem wraps what the system said without its words, which hold paths.
func problem(err error, message string) *event.Error {
	e := &event.Error{Kind: event.ErrUnavailable, Message: message, Hint: "try again, or look at the folder", Err: err}
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Message, e.Hint = event.ErrPermission, message+": the system does not allow it", "change who may use the folder"
	case errors.Is(err, syscall.ENOSPC):
		e.Kind, e.Message, e.Hint = event.ErrStorageFull, message+": there is no space left", "make space on the disk"
	}
	return e
}

func amount(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
