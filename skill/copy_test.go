package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// called calls the tool with these arguments.
func called(t *testing.T, s *Set, args string) (string, error) {
	t.Helper()
	out, err := s.Tools()[0].Call(t.Context(), json.RawMessage(args))
	return event.TextOf(out.Content), err
}

// A skill is copied as a whole, as it is, and its links are not followed.
func TestASkillIsCopied(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"pdf/SKILL.md": written("pdf", "x", "Run scripts/fill.py."), "pdf/scripts/fill.py": "print()", "pdf/a/b/c/d/e/f/g.txt": "deep", "pdf/logo.png": "\x89\xff",
	})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "pdf", "link")); err != nil {
		t.Fatal(err)
	}
	copied := map[string]string{}
	put := func(_ context.Context, path string, r io.Reader) error {
		raw, err := io.ReadAll(r)
		copied[path] = string(raw)
		return err
	}
	s := must(t, dir).With(Stored{Skill{Name: "word"}, func(context.Context) (fs.FS, error) {
		return fstest.MapFS{"SKILL.md": {Data: []byte(written("word", "x", ""))}, "t/a.dotx": {Data: []byte("PK")}}, nil
	}}).CopyTo(put)
	if effect := tool.TraitsOf(s.Tools()[0]).Effect; effect != event.EffectIdempotent {
		t.Errorf("the tool is %s", effect)
	}
	if got, err := called(t, s, `{"name":"pdf","copy":true}`); got != "Copied 4 files into the folder skills/pdf of the workspace." || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := called(t, s, `{"name":"word","copy":true}`); !strings.Contains(got, "2 files") || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	want := map[string]string{
		"skills/pdf/SKILL.md": written("pdf", "x", "Run scripts/fill.py."), "skills/pdf/scripts/fill.py": "print()", "skills/pdf/a/b/c/d/e/f/g.txt": "deep",
		"skills/pdf/logo.png": "\x89\xff", "skills/word/SKILL.md": written("word", "x", ""), "skills/word/t/a.dotx": "PK",
	}
	if diff := cmp.Diff(want, copied); diff != "" {
		t.Error(diff)
	}
	// It still reads.
	if got, err := called(t, s, `{"name":"pdf","file":"scripts/fill.py"}`); got != "print()" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	p, err := s.Prefer("pdf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := called(t, p, `{"name":"pdf","copy":true}`); err != nil {
		t.Errorf("preferred: %v", err)
	}
	for args, want := range map[string]event.ErrorKind{
		`{"name":"pdf","file":"a","copy":true}`: event.ErrInvalid, `{"name":"../pdf","copy":true}`: event.ErrNotFound,
	} {
		_, err := called(t, s, args)
		kind(t, err, want)
	}
	for s, offers := range map[*Set]bool{must(t, dir): false, p: true} {
		spec, err := json.Marshal(s.Tools()[0].Spec())
		if err != nil || strings.Contains(string(spec), `"copy"`) != offers {
			t.Errorf("offered as %s, %v", spec, err)
		}
	}
}

// A copy ends where it would be too much, and with the error of its place.
func TestACopyHasBounds(t *testing.T) {
	t.Parallel()
	stored := func(files fstest.MapFS) Stored {
		files["SKILL.md"] = &fstest.MapFile{Data: []byte(written("big", "x", ""))}
		return Stored{Skill{Name: "big"}, func(context.Context) (fs.FS, error) { return files, nil }}
	}
	drain := func(_ context.Context, _ string, r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	many, deep := fstest.MapFS{}, fstest.MapFS{strings.Repeat("a/", 40) + "b": {}}
	for i := range mostCopied {
		many[fmt.Sprintf("d%d/f", i)] = &fstest.MapFile{}
	}
	large := fstest.MapFS{"a": {Data: make([]byte, 20<<20)}, "b": {Data: make([]byte, 20<<20)}}
	for name, c := range map[string]struct {
		files fstest.MapFS
		words string
	}{"many": {many, "more than 500 files"}, "deep": {deep, "folders in each other"}, "large": {large, "more than 32 MiB"}} {
		_, err := called(t, (&Set{}).With(stored(c.files)).CopyTo(drain), `{"name":"big","copy":true}`)
		kind(t, err, event.ErrTooLarge)
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := errors.New("the workspace is full")
	n := 0
	s := (&Set{}).With(stored(fstest.MapFS{"a": {}, "b": {}})).CopyTo(func(context.Context, string, io.Reader) error {
		if n++; n == 2 {
			return full
		}
		return nil
	})
	if _, err := called(t, s, `{"name":"big","copy":true}`); !errors.Is(err, full) || n != 2 {
		t.Errorf("a full place: %v after %d files", err, n)
	}
}
