package filetool

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// The bounds of a search.
const (
	// MaxMatches is how many lines grep returns.
	MaxMatches = 200
	// MaxSearched bounds a file that grep looks into, in bytes.
	MaxSearched = 4 << 20
	// MaxSearch bounds all bytes that one call looks into.
	MaxSearch = 256 << 20

	maxContext = 20
	// foundLine is after how many bytes a line of a search's result is cut.
	foundLine = 500
)

type grepCall struct {
	Pattern    string `json:"pattern"               jsonschema:"a regular expression (RE2) that matches inside a line"`
	Glob       string `json:"glob,omitempty"        jsonschema:"a pattern of the paths to search, such as *.go"`
	Folder     string `json:"folder,omitempty"      jsonschema:"the path of a folder to search in; leave it out for the whole workspace"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"upper and lower case are the same"`
	Context    int    `json:"context,omitempty"     jsonschema:"how many lines to show before and after each match, up to 20"`
	FilesOnly  bool   `json:"files_only,omitempty"  jsonschema:"name the files that match, without their lines"`
}

func (s *Set) grep(ctx context.Context, in grepCall) (string, error) {
	search, err := newSearch(in)
	if err != nil {
		return "", err
	}
	match := func(string) bool { return true }
	if in.Glob != "" {
		if match, err = matcher(in.Glob); err != nil {
			return "", err
		}
	}
	files, err := s.files(ctx)
	if err != nil {
		return "", err
	}
	found, err := s.find(ctx, in.Folder, "", 1<<30, match)
	if err != nil {
		return "", err
	}
	for _, f := range found {
		if search.full() {
			break
		}
		if err := search.in(ctx, files, f); err != nil {
			return "", err
		}
	}
	return search.result(), nil
}

// search collects what one call finds.
type search struct {
	pattern   *regexp.Regexp
	context   int
	filesOnly bool

	out     strings.Builder
	matches int
	bytes   int64
	large   int
}

func newSearch(in grepCall) (*search, error) {
	const op, longest = "search files", 1000
	pattern := in.Pattern
	switch {
	case pattern == "" || len(pattern) > longest:
		return nil, refused(op, "the pattern is empty, or longer than "+strconv.Itoa(longest)+" bytes", "pass a regular expression")
	case in.Context < 0 || in.Context > maxContext:
		return nil, refused(op, "the context is not from 0 to "+strconv.Itoa(maxContext), "ask for fewer lines")
	case in.IgnoreCase:
		pattern = "(?i:" + pattern + ")"
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, refused(op, "the pattern is no regular expression: "+err.Error(), "use the syntax of RE2, and escape special characters")
	}
	return &search{pattern: compiled, context: in.Context, filesOnly: in.FilesOnly}, nil
}

func (s *search) full() bool {
	return s.matches >= MaxMatches || s.out.Len() > MaxText || s.bytes > MaxSearch
}

// in searches one file. A file that is no text, or has gone, holds no match.
func (s *search) in(ctx context.Context, files workspace.Files, f workspace.File) error {
	if f.Size > MaxSearched {
		s.large++
		return nil
	}
	s.bytes += f.Size
	text, _, err := text(ctx, files, f.Path, MaxSearched)
	switch event.KindOf(err) {
	case "":
	case event.ErrInvalid, event.ErrNotFound, event.ErrConflict, event.ErrTooLarge:
		return nil
	default:
		return err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	shown := -1 // the last line that was shown
	for i, line := range lines {
		if !s.pattern.MatchString(strings.TrimSuffix(line, "\r")) {
			continue
		}
		s.matches++
		if s.filesOnly {
			s.out.WriteString(f.Path + "\n")
			return nil
		}
		from := max(i-s.context, shown+1)
		if s.context > 0 && shown >= 0 && from > shown+1 {
			s.out.WriteString("--\n")
		}
		for n := from; n < min(i+s.context+1, len(lines)); n++ {
			sign := "-"
			if n == i || s.pattern.MatchString(strings.TrimSuffix(lines[n], "\r")) {
				sign = ":"
			}
			s.out.WriteString(f.Path + sign + strconv.Itoa(n+1) + sign + cutLine(lines[n]) + "\n")
			shown = n
		}
		if s.full() {
			return nil
		}
	}
	return nil
}

func cutLine(line string) string {
	line = strings.TrimSuffix(line, "\r")
	if len(line) <= foundLine {
		return line
	}
	return strings.ToValidUTF8(line[:foundLine], "") + " (the line is cut)"
}

func (s *search) result() string {
	if s.matches == 0 {
		s.out.WriteString("(no line matches)\n")
	}
	if s.full() {
		s.out.WriteString("(there may be more: search in a folder, or for a longer pattern)\n")
	}
	if s.large > 0 {
		s.out.WriteString("(" + strconv.Itoa(s.large) + " files are too large to be searched)\n")
	}
	return s.out.String()
}
