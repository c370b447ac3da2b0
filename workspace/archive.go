package workspace

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// WriteArchive writes all files of a workspace as a zip archive. A file that is removed meanwhile is left out.
// It holds one piece of one file in memory.
func WriteArchive(ctx context.Context, w io.Writer, from Files) error {
	list, err := from.List(ctx, Query{})
	if err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	for _, f := range list {
		if err := addTo(ctx, archive, from, f); err != nil {
			return err
		}
	}
	return archived(archive.Close())
}

func addTo(ctx context.Context, archive *zip.Writer, from Files, f File) error {
	r, err := from.Open(ctx, f.Path)
	if kind := event.KindOf(err); kind == event.ErrNotFound || kind == event.ErrConflict {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	head := &zip.FileHeader{Name: f.Path, Method: zip.Deflate, Modified: f.Modified}
	head.SetMode(0o600)
	entry, err := archive.CreateHeader(head)
	if err == nil {
		_, err = io.Copy(entry, r)
	}
	return archived(err)
}

func archived(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	return &event.Error{Op: "write archive", Kind: event.ErrUnavailable, Message: "the archive cannot be written", Hint: "try again", Err: err}
}

// ReadArchive stores the files of a zip archive of size bytes in a workspace, each in place of one with its path. It
// checks the whole list of the archive first: a path that [CheckPath] refuses, a path that occurs twice, a link, and more
// files or bytes than q allows are refused before anything is stored. An entry with more bytes than the list says is an
// error too, so that an archive cannot unpack to more than it admits.
//
// After a later error, which the system or the workspace's own quota may cause, the files before it are stored.
func ReadArchive(ctx context.Context, to Files, archive io.ReaderAt, size int64, q Quota) ([]File, error) {
	const op = "read archive"
	q = q.filled()
	r, err := zip.NewReader(archive, size)
	if err != nil {
		return nil, &event.Error{Op: op, Kind: event.ErrInvalid, Message: "this is no zip archive, or it is damaged", Hint: "make it again", Err: err}
	}
	entries, err := checkEntries(op, r.File, q)
	if err != nil {
		return nil, err
	}
	out := make([]File, 0, len(entries))
	for _, e := range entries {
		f, err := store(ctx, op, to, e)
		if err != nil {
			return out, err
		}
		out = append(out, f)
	}
	return out, nil
}

// checkEntries returns the entries that are files.
func checkEntries(op string, all []*zip.File, q Quota) (files []*zip.File, err error) {
	seen := make(map[string]bool, min(len(all), q.Files))
	left := uint64(q.Bytes)
	for _, e := range all {
		mode := e.Mode()
		if mode.IsDir() || strings.HasSuffix(e.Name, "/") {
			continue
		}
		if err := CheckPath(op, e.Name); err != nil {
			return nil, err
		}
		switch {
		case mode&fs.ModeType != 0:
			return nil, invalid(op, "the entry "+shown(e.Name)+" is a link, or no plain file", "archive plain files only")
		case seen[e.Name]:
			return nil, invalid(op, "the archive has two entries "+shown(e.Name), "archive each file once")
		case len(files) == q.Files:
			return nil, full(op, "the archive has more than "+strconv.Itoa(q.Files)+" files", "archive fewer files")
		case e.UncompressedSize64 > uint64(q.File):
			return nil, tooMany(op, q.File, false)
		case e.UncompressedSize64 > left:
			return nil, full(op, "the files of the archive have more than "+amount(q.Bytes), "archive fewer files")
		}
		left -= e.UncompressedSize64
		seen[e.Name] = true
		files = append(files, e)
	}
	return files, nil
}

func store(ctx context.Context, op string, to Files, e *zip.File) (File, error) {
	damaged := func(err error) error {
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the entry " + shown(e.Name) + " is damaged", Hint: "make the archive again", Err: err,
		}
	}
	r, err := e.Open()
	if err != nil {
		return File{}, damaged(err)
	}
	defer r.Close()
	return to.Put(ctx, e.Name, &entryReader{r: r, damaged: damaged}, Condition{})
}

// entryReader reads an entry and describes its errors. archive/zip checks the size and the sum that the list gives.
type entryReader struct {
	r       io.Reader
	damaged func(error) error
}

// Read implements io.Reader.
func (e *entryReader) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = e.damaged(err)
	}
	return n, err
}
