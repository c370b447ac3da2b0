package skill

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/braidrun/braid/event"
)

// A stored skill is used as one of a folder is, and takes the place of one with its name.
func TestStoredSkills(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"pdf/SKILL.md": written("pdf", "of the folder", "folder"), "word/SKILL.md": written("word", "x", "word"), "word/Notes/A.md": "notes",
	})
	files := fstest.MapFS{
		"SKILL.md": {Data: []byte(written("pdf", "stored", "See forms.md."))}, "forms.md": {Data: []byte("Fill.")}, "sub/forms.md": {Data: []byte("Sub.")},
		"sub/FORMS.md": {Data: []byte("SUB.")}, ".hidden": {Data: []byte("x")}, "logo.png": {Data: []byte("\x89\xff")},
		"large.md": {Data: []byte(strings.Repeat("a", MaxFile+1))},
	}
	open := func(context.Context) (fs.FS, error) { return files, nil }
	plain := must(t, dir)
	s := plain.With(
		Stored{Skill{Name: "pdf", Description: "stored"}, open}, Stored{Skill{Name: "pdf", Description: "again"}, nil},
		Stored{Skill{Name: "zip", Description: "broken"}, func(context.Context) (fs.FS, error) { return nil, errors.New("gone") }},
	)
	if got := namesOf(s); !slices.Equal(got, []string{"pdf", "word", "zip"}) || s.Skills()[0].Description != "stored" {
		t.Errorf("there are %q", s.Skills())
	}
	if got := namesOf(plain); !slices.Equal(got, []string{"pdf", "word"}) || plain.Skills()[0].Description != "of the folder" || plain.With() != plain {
		t.Errorf("the first set has %q", plain.Skills())
	}
	want := "See forms.md.\n\nFiles of this skill, which the tool skill reads:\n- forms.md\n- large.md\n- logo.png\n- sub/FORMS.md\n- sub/forms.md\n"
	if got, err := used(t, s, "pdf", ""); got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for name, want := range map[string]string{"forms.md": "Fill.", "FORMS.md": "Fill.", "./Forms.MD": "Fill.", "sub/forms.md": "Sub.", "sub/FORMS.md": "SUB."} {
		if got, err := used(t, s, "pdf", name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := used(t, s, "word", "notes/a.md"); got != "notes" || err != nil {
		t.Errorf("in a folder: %q, %v", got, err)
	}
	for name, want := range map[string]event.ErrorKind{
		"absent.md": event.ErrNotFound, "sub/Forms.md": event.ErrNotFound, "sub": event.ErrPermission, "large.md": event.ErrTooLarge, "logo.png": event.ErrInvalid,
		"../word/SKILL.md": event.ErrPermission, "/etc/passwd": event.ErrPermission, "sub/../../x": event.ErrPermission,
	} {
		_, err := used(t, s, "pdf", name)
		kind(t, err, want)
	}
	if _, err := used(t, s, "zip", ""); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("one that cannot be opened: %v", err)
	}
	p, err := s.Prefer("zip", "pdf")
	if err != nil || !strings.Contains(p.Prompt(""), "- zip: broken\n- pdf: stored\n- word: x\n") {
		t.Errorf("%s, %v", p.Prompt(""), err)
	}
	// What was stored may have another front matter than what was listed.
	files["SKILL.md"].Data = []byte("none")
	_, err = used(t, s, "pdf", "")
	kind(t, err, event.ErrInvalid)
}
