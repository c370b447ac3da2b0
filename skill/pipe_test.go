//go:build unix

package skill

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/braidrun/braid/event"
)

// Nobody waits for what is in a pipe: not for a file of a skill, and not for its SKILL.md.
func TestAPipeIsNoFile(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"pdf/SKILL.md": written("pdf", "x", "body"), "stuck/note.md": "", "AGENTS.md/x": ""})
	for _, name := range []string{"pdf/pipe", "stuck/SKILL.md", "pdf/AGENTS.md"} {
		if err := syscall.Mkfifo(filepath.Join(dir, filepath.FromSlash(name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, problems := Load(dir)
	if len(s.Skills()) != 1 || len(problems) != 2 || problems[1].Folder != "stuck" {
		t.Fatalf("%v, %v", namesOf(s), problems)
	}
	kind(t, problems[1], event.ErrPermission)
	_, err := used(t, s, "pdf", "pipe")
	kind(t, err, event.ErrPermission)
	if w, err := Agents(dir, "pdf"); w.Text != "" || err != nil {
		t.Errorf("%+v, %v", w, err)
	}
}
