package filetool

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/workspace"
)

// MaxEdit bounds a file that edit changes, in bytes.
const MaxEdit = 4 << 20

type writeCall struct {
	Path    string `json:"path"    jsonschema:"the path of the file"`
	Content string `json:"content" jsonschema:"the whole text of the file"`
}

// closed returns an error for a file of version control: git runs programs that its configuration and hooks name,
// outside of every sandbox.
func closed(op, path string) error {
	if !hidden(path) {
		return nil
	}
	return refused(op, strconv.Quote(path)+" belongs to git, which runs programs that its files name", "change other files")
}

func (s *Set) write(ctx context.Context, in writeCall) (string, error) {
	if err := closed("write file", in.Path); err != nil {
		return "", err
	}
	files, err := s.files(ctx)
	if err != nil {
		return "", err
	}
	kind := workspace.Added
	if _, err := files.Stat(ctx, in.Path); err == nil {
		kind = workspace.Changed
	}
	f, err := files.Put(ctx, in.Path, strings.NewReader(in.Content), workspace.Condition{})
	if err != nil {
		return "", err
	}
	tool.FilesChanged(ctx, workspace.Change{Path: f.Path, Kind: kind, Size: f.Size})
	return "Wrote " + f.Path + " (" + size(f.Size) + ").", nil
}

type editCall struct {
	Path string `json:"path"          jsonschema:"the path of the file"`
	Old  string `json:"old"           jsonschema:"the text to replace, exactly as it stands in the file, without line numbers"`
	New  string `json:"new"           jsonschema:"the text to put in its place"`
	All  bool   `json:"all,omitempty" jsonschema:"replace every occurrence"`
}

// tries bounds how often an edit begins again because another changed the file. Models often ask for several edits of one
// file at once.
const tries = 20

func (s *Set) edit(ctx context.Context, in editCall) (string, error) {
	const op = "edit file"
	switch in.Old {
	case "":
		return "", refused(op, "the old text is empty", "pass the text to replace, or use write for a new file")
	case in.New:
		return "", refused(op, "the old text and the new text are the same", "pass another new text")
	}
	if err := closed(op, in.Path); err != nil {
		return "", err
	}
	files, err := s.files(ctx)
	if err != nil {
		return "", err
	}
	for try := 1; ; try++ {
		before, f, err := text(ctx, files, in.Path, MaxEdit)
		if err != nil {
			return "", err
		}
		n := strings.Count(before, in.Old)
		if windows := strings.ReplaceAll(in.Old, "\n", "\r\n"); n == 0 && strings.Contains(before, windows) {
			// read shows lines without their ends, so the model cannot know that they end as on Windows.
			in.Old, in.New = windows, strings.ReplaceAll(in.New, "\n", "\r\n")
			n = strings.Count(before, in.Old)
		}
		switch {
		case n == 0:
			return "", refused(op, "the old text does not stand in "+strconv.Quote(in.Path),
				"read the file, and pass the text exactly as it stands there")
		case n > 1 && !in.All:
			return "", refused(op, "the old text stands in "+strconv.Quote(in.Path)+" "+strconv.Itoa(n)+" times",
				"pass a longer old text that occurs once, or set all to true")
		}
		now, err := files.Put(ctx, in.Path, strings.NewReader(strings.ReplaceAll(before, in.Old, in.New)), workspace.Condition{Version: f.Version})
		if event.KindOf(err) == event.ErrConflict && try < tries {
			continue
		}
		if err != nil {
			return "", err
		}
		tool.FilesChanged(ctx, workspace.Change{Path: now.Path, Kind: workspace.Changed, Size: now.Size})
		above, _, _ := strings.Cut(before, in.Old)
		line := 1 + strings.Count(above, "\n")
		return done(in.Path, n) + " The first is in line " + strconv.Itoa(line) + ".", nil
	}
}

func done(path string, n int) string {
	times := strconv.Itoa(n) + " times"
	if n == 1 {
		times = "once"
	}
	return "Replaced the text " + times + " in " + path + "."
}

// edited finds out what became of an edit that was in flight when its driver died.
func (s *Set) edited(ctx context.Context, args json.RawMessage) (out tool.Output, known bool, err error) {
	var in editCall
	if json.Unmarshal(args, &in) != nil || in.Old == "" || in.Old == in.New {
		return out, false, nil //nolint:nilerr // such a call is refused, and did nothing
	}
	files, err := s.files(ctx)
	if err != nil {
		return out, false, err
	}
	now, f, err := text(ctx, files, in.Path, MaxEdit)
	if err != nil {
		return out, false, err
	}
	n := strings.Count(now, in.Old)
	switch {
	case n > 0 && !strings.Contains(in.New, in.Old):
		return out, false, nil // an edit leaves no old text, so it has not happened
	case n == 0 && in.New != "" && strings.Contains(now, in.New):
		tool.FilesChanged(ctx, workspace.Change{Path: f.Path, Kind: workspace.Changed, Size: f.Size})
		return tool.Text("Replaced the text in " + in.Path + "."), true, nil
	default:
		return out, false, &event.Error{
			Op: "edit file", Kind: event.ErrConflict, Hint: "read the file",
			Message: "whether " + strconv.Quote(in.Path) + " was changed cannot be seen in it",
		}
	}
}

func size(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
