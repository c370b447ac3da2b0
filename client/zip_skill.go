package client

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/braidrun/braid/event"
)

// MostSkillBytes bounds the bytes of a folder that [ZipSkill] reads, as the server does.
const MostSkillBytes = 32 << 20

// ZipSkill makes a zip archive of the folder of a skill, for [Admin.UploadSkill]. It leaves out .git,
// .DS_Store and __pycache__. It returns [event.ErrInvalid] for a link or a device in the folder, and
// [event.ErrTooLarge] for more than [MostSkillBytes].
func ZipSkill(dir string) ([]byte, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, unreadable(err)
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		return nil, unreadable(err)
	}
	defer root.Close()
	var out bytes.Buffer
	z := &skillZip{root: root, archive: zip.NewWriter(&out), name: filepath.Base(whole), left: MostSkillBytes}
	if err := fs.WalkDir(root.FS(), ".", z.add); err != nil {
		return nil, unreadable(err)
	}
	if err := z.archive.Close(); err != nil {
		return nil, unreadable(err)
	}
	return out.Bytes(), nil
}

// skillZip writes the files of a folder into an archive.
type skillZip struct {
	root    *os.Root
	archive *zip.Writer
	name    string
	left    int64
}

// notSkill are names of files and folders that are no part of a skill.
var notSkill = []string{".git", ".DS_Store", "__pycache__"}

func (z *skillZip) add(path string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case slices.Contains(notSkill, entry.Name()) && entry.IsDir():
		return fs.SkipDir
	case slices.Contains(notSkill, entry.Name()), entry.IsDir():
		return nil
	case !entry.Type().IsRegular():
		return &event.Error{
			Op: "skill", Kind: event.ErrInvalid, Message: fmt.Sprintf("%q is a link, or no plain file", path),
			Hint: "put the file itself in its place",
		}
	}
	f, err := z.root.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	head := &zip.FileHeader{Name: z.name + "/" + path, Method: zip.Deflate}
	head.SetMode(0o600 | info.Mode().Perm()&0o100)
	into, err := z.archive.CreateHeader(head)
	if err != nil {
		return err
	}
	n, err := io.Copy(into, io.LimitReader(f, z.left+1))
	if z.left -= n; z.left < 0 {
		return &event.Error{
			Op: "skill", Kind: event.ErrTooLarge, Message: fmt.Sprintf("the folder has more than %d MiB", MostSkillBytes>>20),
			Hint: "leave out what the skill does not need",
		}
	}
	return err
}

// unreadable returns the error for a folder that cannot be read.
func unreadable(err error) error {
	if _, ours := err.(*event.Error); ours { //nolint:errorlint // add returns it as it is
		return err
	}
	return &event.Error{
		Op: "skill", Kind: event.ErrInvalid, Message: "the folder of the skill cannot be read", Hint: "name a folder with a SKILL.md", Err: err,
	}
}
