package skill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Put stores a file for an agent's other tools, at a relative path with slashes, in place of one that is
// there. Its errors are shown to the model.
type Put func(ctx context.Context, path string, r io.Reader) error

// These bound what one call copies.
const (
	mostCopied      = 500
	mostCopiedBytes = 32 << 20
	mostCopiedDepth = 32
)

// CopyFolder is the folder below which the tool copies skills, each into a folder with its name.
const CopyFolder = "skills"

// CopyTo returns a set whose tool also copies the files of a skill, below [CopyFolder], to where the
// agent's other tools work. A skill's scripts are copied as they are; this package executes nothing. put is
// called with the context of the tool's call. It does not change s.
func (s *Set) CopyTo(put Put) *Set { return &Set{list: s.list, preferred: s.preferred, put: put} }

// copyRequest is what a tool that copies is called with.
type copyRequest struct {
	request

	Copy bool `json:"copy,omitempty" jsonschema:"true copies the skill's files into the workspace, for the tools that work there"`
}

func (s *Set) copyingTool() tool.Tool {
	return tool.Func(
		ToolName, "Loads a skill, which says how to go about a certain kind of task, or a file that the skill refers to. "+
			"With copy it copies the skill's files into the folder "+CopyFolder+"/NAME of the workspace.",
		func(ctx context.Context, in copyRequest) (string, error) {
			if in.Copy {
				return s.copy(ctx, in.request)
			}
			return s.load(ctx, in.request)
		}, tool.Idempotent(),
	)
}

// copy copies a skill.
func (s *Set) copy(ctx context.Context, in request) (string, error) {
	if in.File != "" {
		return "", invalid("a skill is copied as a whole", "leave file out, or leave copy out to read the file")
	}
	one, err := s.find(in.Name)
	if err != nil {
		return "", err
	}
	own, err := one.open(ctx)
	if err != nil {
		return "", err
	}
	defer own.Close()
	names, err := every(own, ".", 1, nil)
	if err != nil {
		return "", err
	}
	into, left := CopyFolder+"/"+one.Name, int64(mostCopiedBytes)
	for _, name := range names {
		if left, err = s.copyFile(ctx, own, name, into+"/"+name, left); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Copied %d files into the folder %s of the workspace.", len(names), into), nil
}

// copyFile copies a file of at most left bytes, and returns how many are left then.
func (s *Set) copyFile(ctx context.Context, own content, name, to string, left int64) (int64, error) {
	r, err := own.open(name)
	if err != nil {
		return 0, &event.Error{
			Kind: event.ErrPermission, Message: fmt.Sprintf("%q cannot be read", shown(name)), Err: err,
			Hint: "go on without the copy, and read the files",
		}
	}
	defer r.Close()
	bounded := &boundedReader{r: r, left: left}
	err = s.put(ctx, to, bounded)
	if bounded.left < 0 {
		err = &event.Error{
			Kind: event.ErrTooLarge, Message: fmt.Sprintf("the files of the skill have more than %d MiB", mostCopiedBytes>>20),
			Hint: "go on without the copy, and read the files",
		}
	}
	return bounded.left, err
}

var errTooLong = errors.New("there are more bytes than are copied")

// boundedReader ends with an error after its bytes.
type boundedReader struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// every lists all files below a folder, without links, and adds them to list.
func every(own content, dir string, depth int, list []string) ([]string, error) {
	tooMany := func(what string) error {
		return &event.Error{
			Kind: event.ErrTooLarge, Message: "the skill has " + what, Hint: "go on without the copy, and read the files",
		}
	}
	if depth > mostCopiedDepth {
		return nil, tooMany("too many folders in each other")
	}
	found, all, err := own.entries(dir, maxEntries)
	if err != nil {
		return nil, gone(err)
	}
	if !all {
		return nil, tooMany("too many files")
	}
	for _, e := range found {
		name := strings.TrimPrefix(path.Join(dir, e.Name()), "./")
		switch {
		case e.IsDir():
			if list, err = every(own, name, depth+1, list); err != nil {
				return nil, err
			}
		case e.Type().IsRegular() && len(list) == mostCopied:
			return nil, tooMany(fmt.Sprintf("more than %d files", mostCopied))
		case e.Type().IsRegular():
			list = append(list, name)
		}
	}
	return list, nil
}
