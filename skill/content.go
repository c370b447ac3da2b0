package skill

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"slices"
)

// content is the open folder of one skill.
type content interface {
	// open opens a file.
	open(name string) (io.ReadCloser, error)
	// read reads up to most bytes of a file. whole reports that these are all of them.
	read(name string, most int) (data []byte, whole bool, err error)
	// entries lists a folder by name. all reports that the list is complete.
	entries(name string, most int) (list []fs.DirEntry, all bool, err error)
	io.Closer
}

// rootContent is a folder of this machine.
type rootContent struct{ *os.Root }

func (t rootContent) open(name string) (io.ReadCloser, error) {
	f, err := openFile(t.Root, name)
	if err != nil {
		return nil, err // a nil *os.File is no nil reader
	}
	return f, nil
}

func (t rootContent) read(name string, most int) (data []byte, whole bool, err error) {
	return readFile(t.Root, name, most)
}

func (t rootContent) entries(name string, most int) (list []fs.DirEntry, all bool, err error) {
	return entries(t.Root, name, most)
}

// fsContent is the folder of a stored skill.
type fsContent struct{ files fs.FS }

func (t fsContent) read(name string, most int) (data []byte, whole bool, err error) {
	f, err := t.open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return upTo(f, most)
}

func (t fsContent) open(name string) (io.ReadCloser, error) {
	f, err := t.files.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

func (t fsContent) entries(name string, most int) (list []fs.DirEntry, all bool, err error) {
	if list, err = fs.ReadDir(t.files, name); err != nil {
		return nil, false, err
	}
	all = len(list) <= most
	list = list[:min(len(list), most)]
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, all, nil
}

func (fsContent) Close() error { return nil }
