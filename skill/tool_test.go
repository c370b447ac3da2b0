package skill

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// used calls the tool as a model does.
func used(t *testing.T, s *Set, name, file string) (string, error) {
	t.Helper()
	args, err := json.Marshal(request{name, file})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Tools()[0].Call(t.Context(), args)
	return event.TextOf(out.Content), err
}

// must loads folders in which nothing is wrong.
func must(t *testing.T, dirs ...string) *Set {
	t.Helper()
	s, problems := Load(dirs...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func TestASkillIsLoadedOnDemand(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"pdf/SKILL.md": written("pdf", "Reads PDFs.", "# PDF\n\nSee references/forms.md."), "pdf/references/forms.md": "Fill them.",
		"pdf/scripts/run.py": "print()", "pdf/.git/config": "", "pdf/a/b/c/d/e/f.md": "", "word/SKILL.md": written("word", "x", "Only this."),
	})
	s := must(t, dir)
	if effect := tool.TraitsOf(s.Tools()[0]).Effect; effect != event.EffectPure {
		t.Errorf("the tool is %s", effect)
	}
	want := "# PDF\n\nSee references/forms.md.\n\nFiles of this skill, which the tool skill reads:\n- references/forms.md\n- scripts/run.py\n- and more\n"
	if got, err := used(t, s, "pdf", ""); got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := used(t, s, "word", ""); got != "Only this." || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"references/forms.md", "./references/forms.md", `references\forms.md`, "scripts/../references/forms.md"} {
		if got, err := used(t, s, "pdf", name); got != "Fill them." || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// What was changed since counts: the body is read when it is asked for.
	if err := os.WriteFile(filepath.Join(dir, "word", File), []byte(written("word", "x", "Now this.")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := used(t, s, "word", ""); got != "Now this." || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "word")); err != nil {
		t.Fatal(err)
	}
	_, err := used(t, s, "word", "")
	kind(t, err, event.ErrNotFound)
}

// A canary outside of a skill's folder: no path and no link leads to it.
func TestNothingOutsideIsRead(t *testing.T) {
	t.Parallel()
	const canary = "canary-5b1c"
	top := tree(t, map[string]string{
		"secret.txt": canary, "skills/other/SKILL.md": written("other", "x", canary), "skills/pdf/SKILL.md": written("pdf", "x", "body"),
		"skills/pdf/in/note.md": "fine", "skills/canary.md": canary,
	})
	skills := filepath.Join(top, "skills")
	for name, to := range map[string]string{
		"link.md": filepath.Join(top, "secret.txt"), "up.md": "../../secret.txt", "sibling": "../other", "all": top, "etc": "/etc", "in/back.md": "../../canary.md",
		"inside.md": "in/note.md",
	} {
		if err := os.Symlink(to, filepath.Join(skills, "pdf", filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	s := must(t, skills)
	for _, name := range []string{
		"../canary.md", "../other/SKILL.md", "../../secret.txt", "in/../../canary.md", `..\canary.md`, filepath.Join(top, "secret.txt"), "/etc/passwd",
		"link.md", "up.md", "sibling/SKILL.md", "all/secret.txt", "etc/passwd", "in/back.md", "./../canary.md", "//etc/passwd", "..",
	} {
		got, err := used(t, s, "pdf", name)
		if err == nil || got != "" || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "root:") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		kind(t, err, event.ErrPermission)
	}
	if got, err := used(t, s, "pdf", "inside.md"); got != "fine" || err != nil {
		t.Errorf("a link inside: %q, %v", got, err)
	}
	for _, name := range []string{"../pdf", "pdf/../other", ".", "", "/"} {
		_, err := used(t, s, name, "")
		kind(t, err, event.ErrNotFound)
	}
	if got, err := used(t, s, "pdf", ""); strings.Contains(got, "link") || strings.Contains(got, "etc") || err != nil {
		t.Errorf("links are listed: %q, %v", got, err)
	}
	// The folder is put aside for a link after it was loaded.
	if err := os.RemoveAll(filepath.Join(skills, "pdf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(top, filepath.Join(skills, "pdf")); err != nil {
		t.Fatal(err)
	}
	if got, err := used(t, s, "pdf", "secret.txt"); err == nil || got != "" {
		t.Errorf("through the folder: %q, %v", got, err)
	}
}

// What is no text file of a bearable size is an error that the model can act upon.
func TestFilesThatAreNotRead(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"pdf/SKILL.md": written("pdf", "x", "body"), "pdf/large.md": strings.Repeat("a", MaxFile+1), "pdf/most.md": strings.Repeat("a", MaxFile),
		"pdf/logo.png": "\x89PNG\xff", "pdf/zero.txt": "a\x00", "pdf/sub/a.md": "",
	})
	s := must(t, dir)
	for name, want := range map[string]event.ErrorKind{
		"large.md": event.ErrTooLarge, "logo.png": event.ErrInvalid, "zero.txt": event.ErrInvalid, "sub": event.ErrPermission, ".": event.ErrPermission,
		"absent.md": event.ErrNotFound,
	} {
		got, err := used(t, s, "pdf", name)
		if got != "" {
			t.Errorf("%s: %q", name, got)
		}
		kind(t, err, want)
	}
	if got, err := used(t, s, "pdf", "most.md"); len(got) != MaxFile || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := used(t, s, "pfd", ""); err == nil || !strings.Contains(hintOf(err), "did you mean pdf?") {
		t.Errorf("a slip: %v", err)
	}
}
