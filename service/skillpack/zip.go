package skillpack

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// mostEntries bounds the entries of an archive, including folders and skipped files. Reading the list of an
// archive needs memory for each.
const mostEntries = 20 * MostFiles

// entryMark begins each entry in the list of an archive.
var entryMark = []byte("PK\x01\x02")

// FromZip reads a skill from a zip archive: of its folder, or of the files in it. data must not change
// while the skill is in use. It returns [event.ErrInvalid] with [Code], or [event.ErrTooLarge].
func FromZip(data []byte) (*Skill, error) {
	if bytes.Count(data, entryMark) > mostEntries {
		return nil, tooManyFiles()
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // such a path is refused below
		return nil, notZip(err)
	}
	var c collector
	for _, e := range r.File {
		mode := e.Mode()
		if name, folder := strings.CutSuffix(e.Name, "/"); folder || mode.IsDir() {
			if err := workspace.CheckPath(op, name); err != nil {
				return nil, inFile("the upload", err)
			}
			continue
		}
		switch {
		case mode&fs.ModeType != 0:
			return nil, invalid("archive the file itself", "%s is a link, or no plain file", shown(e.Name))
		case e.Flags&1 != 0:
			return nil, invalid("archive it without a password", "%s is encrypted", shown(e.Name))
		case e.UncompressedSize64 > MostBytes:
			return nil, tooManyBytes()
		}
		if err := c.add(file{e.Name, int64(e.UncompressedSize64), mode&0o111 != 0, opened(e)}); err != nil {
			return nil, err
		}
	}
	return fromFiles(&c)
}

func notZip(err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Code: Code, Message: "this is no zip archive, or it is damaged",
		Hint: "send the folder of a skill as application/zip or multipart/form-data", Err: err,
	}
}

// opened opens an entry. It ends with an error if there are more bytes than the list says.
func opened(e *zip.File) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		r, err := e.Open()
		if err != nil {
			return nil, damaged(e.Name, err)
		}
		return &entry{r, e.Name, int64(e.UncompressedSize64)}, nil
	}
}

// entry reads an entry of an archive.
type entry struct {
	io.ReadCloser

	name string
	left int64
}

// Read implements io.Reader.
func (e *entry) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if e.left -= int64(n); e.left < 0 {
		return 0, damaged(e.name, errors.New("it is longer than the list of the archive says"))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(e.name, err)
	}
	return n, err
}

func damaged(name string, err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Code: Code, Message: "the file " + shown(name) + " is damaged in the archive", Hint: "make the archive again",
		Err: err,
	}
}
