package filetool

import (
	"context"
	"path"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/braidrun/braid/workspace"
)

// MaxFiles bounds the files that one result of list or glob names.
const MaxFiles = 500

type listCall struct {
	Folder string `json:"folder,omitempty" jsonschema:"the path of a folder; leave it out for the whole workspace"`
	After  string `json:"after,omitempty"  jsonschema:"the last path of the list before, to go on after it"`
}

func (s *Set) list(ctx context.Context, in listCall) (string, error) {
	found, err := s.find(ctx, in.Folder, in.After, MaxFiles+1, func(string) bool { return true })
	if err != nil {
		return "", err
	}
	return names(found, "go on with after", "(no files)"), nil
}

type globCall struct {
	Pattern string `json:"pattern"          jsonschema:"such as **/*.md or src/*.{go,mod}; without a slash it matches names in any folder"`
	Folder  string `json:"folder,omitempty" jsonschema:"the path of a folder to search in; leave it out for the whole workspace"`
	After   string `json:"after,omitempty"  jsonschema:"the last path of the list before, to go on after it"`
}

func (s *Set) glob(ctx context.Context, in globCall) (string, error) {
	match, err := matcher(in.Pattern)
	if err != nil {
		return "", err
	}
	found, err := s.find(ctx, in.Folder, in.After, MaxFiles+1, match)
	if err != nil {
		return "", err
	}
	return names(found, "go on with after", "(no file matches)"), nil
}

// matcher returns a function that matches paths with a pattern. A pattern without a slash is for names.
func matcher(pattern string) (func(path string) bool, error) {
	// Each group in braces multiplies the time of a match, so that their number has a bound.
	const longest, groups = 1000, 5
	switch {
	case pattern == "" || len(pattern) > longest || !doublestar.ValidatePattern(pattern):
		return nil, refused("find files", "that is no pattern for paths", `pass a pattern such as "**/*.md"`)
	case strings.Count(pattern, "{") > groups:
		return nil, refused("find files", "the pattern has more than "+strconv.Itoa(groups)+" groups in braces", "search several times")
	}
	return func(p string) bool {
		if !strings.Contains(pattern, "/") {
			p = path.Base(p)
		}
		return doublestar.MatchUnvalidated(pattern, p)
	}, nil
}

// find returns at most limit files of a folder that match.
func (s *Set) find(ctx context.Context, folder, after string, limit int, match func(path string) bool) ([]workspace.File, error) {
	files, err := s.files(ctx)
	if err != nil {
		return nil, err
	}
	folder = strings.TrimSuffix(folder, "/")
	if folder == "." {
		folder = ""
	}
	all, err := files.List(ctx, workspace.Query{Folder: folder, After: after})
	if err != nil {
		return nil, err
	}
	found := all[:0]
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(found) < limit && (hidden(folder) || !hidden(f.Path)) && match(f.Path) {
			found = append(found, f)
		}
	}
	return found, nil
}

// hidden reports whether a path belongs to version control.
func hidden(p string) bool { return workspace.OfGit(p) }

// names lists files, one a line.
func names(found []workspace.File, more, none string) string {
	if len(found) == 0 {
		return none
	}
	var b strings.Builder
	for i, f := range found {
		if i == MaxFiles {
			b.WriteString("(there is more: " + more + " " + strconv.Quote(found[i-1].Path) + ")\n")
			break
		}
		b.WriteString(f.Path + " (" + size(f.Size) + ")\n")
	}
	return b.String()
}
