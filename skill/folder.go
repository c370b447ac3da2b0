package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
)

// These are the bounds of a folder.
const (
	maxEntries = 1000
	maxListed  = 200
	maxDepth   = 5
)

// openFile opens a file inside root. The operating system refuses paths and links that lead out.
// Pipes and devices are not opened.
func openFile(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() { // it was replaced in between
		err = errNoFile
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// readFile reads up to most bytes of a file inside root.
func readFile(root *os.Root, name string, most int) (data []byte, whole bool, err error) {
	f, err := openFile(root, name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return upTo(f, most)
}

// upTo reads up to most bytes. whole reports that these are all.
func upTo(r io.Reader, most int) (data []byte, whole bool, err error) {
	if data, err = io.ReadAll(io.LimitReader(r, int64(most)+1)); err != nil {
		return nil, false, err
	}
	return data[:min(len(data), most)], len(data) <= most, nil
}

var errNoFile = errors.New("it is no file")

// entries lists a folder inside root by name. all reports that the list is complete.
func entries(root *os.Root, name string, most int) (list []fs.DirEntry, all bool, err error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	list, err = f.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	all = len(list) <= most
	list = list[:min(len(list), most)]
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, all, nil
}

// files lists a skill's files beside its SKILL.md by path. all reports that the list is complete.
// It leaves out links and names that begin with a dot.
func files(own content) (list []string, all bool) {
	left := maxEntries
	all = true
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		found, whole, err := own.entries(dir, left)
		if err != nil {
			return
		}
		left -= len(found)
		all = all && whole
		for _, e := range found {
			name := path.Join(dir, e.Name())
			switch {
			case strings.HasPrefix(e.Name(), "."), name == File:
			case e.IsDir() && (depth == maxDepth || left <= 0):
				all = false
			case e.IsDir():
				walk(name, depth+1)
			case e.Type().IsRegular() && len(list) == maxListed:
				all = false
			case e.Type().IsRegular():
				list = append(list, name)
			}
		}
	}
	walk(".", 1)
	return list, all
}

// file reads a text file of a skill by its path in the skill's folder. Authors on systems that ignore
// case write FORMS.md for forms.md: a path that exists only in other letters is that file.
func file(own content, name string) (string, error) {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if !filepath.IsLocal(filepath.FromSlash(clean)) || path.IsAbs(name) {
		return "", &event.Error{
			Kind: event.ErrPermission, Message: fmt.Sprintf("%q leads out of the skill", shown(name)),
			Hint: "give a path from the skill's own folder, such as references/forms.md",
		}
	}
	data, whole, err := own.read(clean, MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if other := inOtherLetters(own, clean); other != "" {
			data, whole, err = own.read(other, MaxFile)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &event.Error{
			Kind: event.ErrNotFound, Message: fmt.Sprintf("the skill has no file %q", shown(name)),
			Hint: "call the tool without a file: the files are listed there",
		}
	case err != nil:
		return "", &event.Error{
			Kind: event.ErrPermission, Message: fmt.Sprintf("%q cannot be read", shown(name)), Err: err,
			Hint: "name a file inside the skill's folder; links out of it are not followed",
		}
	case !whole:
		return "", tooLarge(fmt.Sprintf("%q", shown(name)), MaxFile)
	case !utf8.Valid(data) || slices.Contains(data, 0):
		return "", invalid(fmt.Sprintf("%q is no text", shown(name)), "it cannot be read with this tool")
	}
	return string(data), nil
}

// inOtherLetters returns the only file whose path differs from name in upper and lower case alone, or
// "" if there is none or more than one.
func inOtherLetters(own content, name string) (found string) {
	list, _ := files(own)
	for _, f := range list {
		if strings.EqualFold(f, name) {
			if found != "" {
				return ""
			}
			found = f
		}
	}
	return found
}
