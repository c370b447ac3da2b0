package skillpack

import (
	"io"
	"slices"
	"strings"

	"github.com/braidrun/braid/workspace"
)

// file is a file of an upload.
type file struct {
	// path is its path in the upload, later in the skill's folder.
	path string
	size int64
	// runs reports that it is marked as executable.
	runs bool
	open func() (io.ReadCloser, error)
}

// collector collects the files of an upload and checks each. The zero value is ready for use.
type collector struct {
	files []file
	bytes int64
	// seen has the paths in lower case: some systems do not tell apart paths that differ in case.
	seen map[string]string
	// left counts the files that are left out.
	left int
}

// add adds a file. It leaves out what tools for archives and versions put beside files.
func (c *collector) add(f file) error {
	if err := workspace.CheckPath(op, f.path); err != nil {
		return inFile("the upload", err)
	}
	for name := range strings.SplitSeq(f.path, "/") {
		if slices.Contains(leftOut, name) {
			c.left++
			return nil
		}
	}
	if c.seen == nil {
		c.seen = make(map[string]string)
	}
	low := strings.ToLower(f.path)
	switch other, twice := c.seen[low]; {
	case twice && other == f.path:
		return invalid("upload each file once", "there are two files %s", shown(f.path))
	case twice:
		return invalid("rename one of them", "the files %s and %s differ in case only", shown(other), shown(f.path))
	case len(c.files) == MostFiles:
		return tooManyFiles()
	case f.size < 0 || f.size > MostBytes-c.bytes:
		return tooManyBytes()
	}
	c.seen[low] = f.path
	c.bytes += f.size
	c.files = append(c.files, f)
	return nil
}

// leftOut are names of files and folders that are no part of a skill.
var leftOut = []string{".git", ".DS_Store", "__MACOSX", "__pycache__"}

// check returns an error if a file stands where another one needs a folder.
func (c *collector) check() error {
	for _, f := range c.files {
		for i := range len(f.path) {
			if f.path[i] != '/' {
				continue
			}
			if other, there := c.seen[strings.ToLower(f.path[:i])]; there {
				return invalid("rename one of them", "%s is both a file and a folder", shown(other))
			}
		}
	}
	return nil
}
