package skill

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
)

// namesOf lists a set.
func namesOf(s *Set) (list []string) {
	for _, one := range s.Skills() {
		list = append(list, one.Name)
	}
	return list
}

// found puts problems into lines.
func found(problems []Problem) (lines []string) {
	for _, p := range problems {
		lines = append(lines, string(event.KindOf(p))+" "+p.Folder+": "+p.Err.Error())
	}
	return lines
}

// What can be loaded is there; of everything else it is told why it is not.
func TestLoad(t *testing.T) {
	t.Parallel()
	first := tree(t, map[string]string{
		"pdf/SKILL.md": written("pdf", "first", ""), "word/SKILL.md": written("word", "writes", ""), "bad/SKILL.md": "# nothing",
		"lower/skill.md": written("lower", "x", ""), "none/readme.md": "", ".hidden/SKILL.md": written("hidden", "x", ""), "README.md": "",
	})
	second := tree(t, map[string]string{"pdf/SKILL.md": written("pdf", "second", ""), "excel/SKILL.md": written("excel", "counts", "")})
	s, problems := Load(first, second, filepath.Join(first, "absent"), filepath.Join(first, "word"), first)
	if got := namesOf(s); !slices.Equal(got, []string{"excel", "pdf", "word"}) {
		t.Errorf("loaded %q", got)
	}
	if got := s.Skills()[1].Description; got != "first" {
		t.Errorf("the skill of the first folder does not win: %q", got)
	}
	want := []string{
		"invalid bad: SKILL.md does not begin with front matter", "not_found lower: its file is called skill.md", "not_found none: it has no SKILL.md",
		"conflict pdf: an earlier folder has a skill of that name", "not_found : there is no such folder", "invalid : the folder of skills is a skill itself",
		"invalid bad", "not_found lower", "not_found none",
	}
	got := found(problems)
	if len(got) != len(want) {
		t.Fatalf("%s", cmp.Diff(want, got))
	}
	for i := range want {
		if !strings.Contains(strings.ReplaceAll(got[i], "skills: ", ""), want[i]) {
			t.Errorf("%q, want %q", got[i], want[i])
		}
		if hintOf(problems[i]) == "" || strings.Contains(got[i], first) || strings.Contains(got[i], second) {
			t.Errorf("no hint, or a path: %q", got[i])
		}
	}
	if text := problems[0].Error(); !strings.HasPrefix(text, `the skill "bad": `) {
		t.Errorf("%q", text)
	}
	if problems[3].Dir != second {
		t.Errorf("the conflict is in %q", problems[3].Dir)
	}
}

// The model reads every name and description with each request: there is an end to it.
func TestThereIsAnEndToSkills(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct{ count, description, loaded int }{
		"many": {MaxSkills + 3, 10, MaxSkills}, "long ones": {60, MaxDescription, MaxList / (MaxDescription + len("skill-000"))},
	} {
		files := map[string]string{}
		for i := range tc.count {
			name := fmt.Sprintf("skill-%03d", i)
			files[name+"/SKILL.md"] = written(name, strings.Repeat("d", tc.description), "")
		}
		s, problems := Load(tree(t, files))
		if len(s.Skills()) != tc.loaded || len(problems) != tc.count-tc.loaded {
			t.Errorf("%s: %d skills, %d problems", what, len(s.Skills()), len(problems))
		}
		for _, p := range problems {
			kind(t, p, event.ErrTooLarge)
		}
	}
	files := map[string]string{"zz/SKILL.md": written("zz", "x", "")}
	for i := range maxEntries {
		files[fmt.Sprintf("file%d", i)] = ""
	}
	if _, problems := Load(tree(t, files)); !slices.ContainsFunc(problems, func(p Problem) bool { return event.KindOf(p) == event.ErrTooLarge }) {
		t.Errorf("nobody says that not all was looked at: %v", problems)
	}
}

// A link may lead to a skill among the same skills, and nowhere else.
func TestLinks(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{"far/SKILL.md": written("far", "canary", ""), "SKILL.md": written("leak", "canary", "")})
	dir := tree(t, map[string]string{"deep/near/SKILL.md": written("near", "x", ""), "leak/note.md": "", "text": ""})
	for name, to := range map[string]string{
		"near": filepath.Join("deep", "near"), "far": filepath.Join(outside, "far"), filepath.Join("leak", File): filepath.Join(outside, File), "note": "text",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s, problems := Load(dir)
	if got := namesOf(s); !slices.Equal(got, []string{"near"}) {
		t.Errorf("loaded %q", got)
	}
	var told []string
	for _, p := range problems {
		told = append(told, p.Folder+" "+string(event.KindOf(p)))
		if strings.Contains(p.Error(), "canary") {
			t.Errorf("it was read: %v", p)
		}
	}
	if d := cmp.Diff([]string{"deep not_found", "far permission", "leak permission"}, told); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
