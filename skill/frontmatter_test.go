package skill

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
)

// What others write is read as they meant it.
func TestParse(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		text string
		want Skill
		body string
	}{
		"the least": {"---\nname: pdf\ndescription: Reads PDFs.\n---\nDo it.\n", Skill{Name: "pdf", Description: "Reads PDFs."}, "Do it."},
		"everything": {
			"---\nname: pdf\ndescription: >\n  Reads\n  PDFs.\nlicense: MIT\ncompatibility: Needs git\n" +
				"allowed-tools: Bash(git add:*) Read\nmetadata:\n  author: me\n  version: 1.0\n---\n\n# PDF\n\nDo it.\n",
			Skill{
				Name: "pdf", Description: "Reads PDFs.", License: "MIT", Compatibility: "Needs git",
				AllowedTools: []string{"Bash(git add:*)", "Read"}, Metadata: map[string]string{"author": "me", "version": "1.0"},
			},
			"# PDF\n\nDo it.",
		},
		"tools with commas": {
			"---\nname: pdf\ndescription: x\nallowed-tools: Read, Bash(ls, cd)\n---\n",
			Skill{Name: "pdf", Description: "x", AllowedTools: []string{"Read", "Bash(ls, cd)"}},
			"",
		},
		"tools as a list": {
			"---\nname: pdf\ndescription: x\nallowed-tools:\n  - Read\n  - Bash(ls)\n---\n",
			Skill{Name: "pdf", Description: "x", AllowedTools: []string{"Read", "Bash(ls)"}},
			"",
		},
		"keys of other programs": {
			"---\nname: pdf\nmodel: opus\ndescription: x\nmetadata: {deep: {a: 1}, flat: 2}\nhooks: [1, {a: b}]\n---\n",
			Skill{Name: "pdf", Description: "x", Metadata: map[string]string{"flat": "2"}, Ignored: []string{"model", "metadata.deep", "hooks"}},
			"",
		},
		"lines of Windows, a mark of order": {"\ufeff---\r\nname: pdf\r\ndescription: x\r\n---\r\nDo it.\r\n", Skill{Name: "pdf", Description: "x"}, "Do it."},
		"hyphens in the body":               {"---\nname: pdf\ndescription: x\n---\na\n---\nb", Skill{Name: "pdf", Description: "x"}, "a\n---\nb"},
		"no line behind the end":            {"---\nname: pdf\ndescription: x\n---", Skill{Name: "pdf", Description: "x"}, ""},
		"as long as may be": {
			"---\nname: pdf\ndescription: " + strings.Repeat("あ", MaxDescription) + "\n---\n", Skill{Name: "pdf", Description: strings.Repeat("あ", MaxDescription)}, "",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			got, body, err := Parse("pdf", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" || body != tc.body {
				t.Errorf("body %q, (-want +got)\n%s", body, d)
			}
		})
	}
}

// What is wrong is told, with what to do.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", MaxName+1)
	for what, tc := range map[string]struct{ folder, text, says string }{
		"nothing":                  {"pdf", "", "does not begin"},
		"no front matter":          {"pdf", "# PDF\n", "does not begin"},
		"no end":                   {"pdf", "---\nname: pdf\ndescription: x\n", "does not end"},
		"an empty one":             {"pdf", "---\n---\n", "is empty"},
		"no YAML":                  {"pdf", "---\nname: pdf\ndescription: Use when: it rains\n---\n", "line 3: the front matter is no YAML: mapping values"},
		"a list that does not end": {"pdf", "---\nname: pdf\nallowed-tools: [a\ndescription: x\n---\n", "line 3: the front matter is no YAML: did not find expected"},
		"no keys":                  {"pdf", "---\n- name\n---\n", "no list of keys"},
		"two documents":            {"pdf", "---\nname: pdf\ndescription: x\n...\nname: b\n---\n", "no list of keys"},
		"no name":                  {"pdf", "---\ndescription: x\n---\n", "has no name"},
		"no description":           {"pdf", "---\nname: pdf\n---\n", "has no description"},
		"an empty description":     {"pdf", "---\nname: pdf\ndescription: \" \"\n---\n", "line 3: description is empty"},
		"nothing said":             {"pdf", "---\nname: pdf\ndescription:\n---\n", "line 3: description is no text"},
		"a long description":       {"pdf", "---\nname: pdf\ndescription: " + strings.Repeat("あ", LongestDescription+1) + "\n---\n", "more than 4096"},
		"a long compatibility":     {"pdf", written("pdf", "x\ncompatibility: "+strings.Repeat("a", MaxCompatibility+1), ""), "more than 500"},
		"a description as a list":  {"pdf", "---\nname: pdf\ndescription: [x]\n---\n", "description is no text"},
		"a name that is a number":  {"12", "---\nname: 12\ndescription: x\n---\n", "name is no text"},
		"a name with capitals":     {"PDF", written("PDF", "x", ""), "cannot be the name"},
		"a name with two hyphens":  {"a--b", written("a--b", "x", ""), "cannot be the name"},
		"a name with a first one":  {"-a", written("-a", "x", ""), "cannot be the name"},
		"a name with a last one":   {"a-", written("a-", "x", ""), "cannot be the name"},
		"a name with a path":       {"a/b", written("a/b", "x", ""), "cannot be the name"},
		"a long name":              {long, written(long, "x", ""), "cannot be the name"},
		"another folder":           {"word", written("pdf", "x", ""), "its folder is another"},
		"a key twice":              {"pdf", "---\nname: pdf\nname: pdf\ndescription: x\n---\n", `line 3: "name" stands there twice`},
		"metadata twice":           {"pdf", written("pdf", "x\nmetadata: {a: 1, a: 2}", ""), "twice in metadata"},
		"metadata that is a text":  {"pdf", written("pdf", "x\nmetadata: me", ""), "metadata is no list"},
		"a key that is a list":     {"pdf", written("pdf", "x\n[a]: b", ""), "a key is no word"},
		"an alias":                 {"pdf", "---\nname: &n pdf\ndescription: *n\n---\n", "description is no text"},
		"a tool that is no text":   {"pdf", written("pdf", "x\nallowed-tools: [1]", ""), "allowed-tools is no text"},
		"no text":                  {"pdf", "---\nname: pdf\ndescription: \xff\n---\n", "is no text"},
		"a zero byte":              {"pdf", "---\nname: pdf\ndescription: a\x00b\n---\n", "is no text"},
		"a large file":             {"pdf", written("pdf", "x", strings.Repeat("a", MaxFile)), "larger than 256 KiB"},
		"a large front matter":     {"pdf", written("pdf", "x\nother: "+strings.Repeat("a", MaxFrontMatter), ""), "larger than 16 KiB"},
		"a front matter of arrays": {"pdf", "---\n" + strings.Repeat("[", 10_000) + "\n---\n", "no YAML"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, body, err := Parse(tc.folder, []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%+v, %v; want %q", s, err, tc.says)
			}
			var e *event.Error
			if !errors.As(err, &e) || e.Hint == "" || e.Kind != event.ErrInvalid && e.Kind != event.ErrTooLarge {
				t.Errorf("%+v", e)
			}
			if d := cmp.Diff(Skill{}, s); d != "" || body != "" {
				t.Errorf("something was read: %q %s", body, d)
			}
		})
	}
}

// Whatever stands in a file: it is read within its bounds, or it is an error with a kind.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "---\n---\n", written("pdf", "x", "body"), written("pdf", "x\nallowed-tools: A(b c), D\nmetadata: {a: 1}\nmore: [*a]", ""),
		"---\nname: &a pdf\ndescription: *a\n---\n", "---\r\nname: pdf\r\ndescription: >-\r\n  a\r\n\r\n  b\r\n---\r\n",
		"---\nname: pdf\ndescription: !!binary eA==\n---", "---\n<<: {name: pdf}\ndescription: x\n---\n", "---\n? a\n: b\n---\n",
	} {
		f.Add("pdf", []byte(text))
	}
	f.Fuzz(func(t *testing.T, folder string, data []byte) {
		s, body, err := Parse(folder, data)
		if err != nil {
			if k := event.KindOf(err); k != event.ErrInvalid && k != event.ErrTooLarge {
				t.Fatalf("%q: %v", k, err)
			}
			if !utf8.ValidString(err.Error()) || len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes: %q", len(err.Error()), err.Error())
			}
			return
		}
		if s.Name != folder || !names.MatchString(s.Name) || len(s.Name) > MaxName {
			t.Fatalf("the name %q of the folder %q", s.Name, folder)
		}
		if n := utf8.RuneCountInString(s.Description); n == 0 || n > LongestDescription || utf8.RuneCountInString(s.Compatibility) > MaxCompatibility {
			t.Fatalf("%+v", s)
		}
		if !strings.Contains(string(data), body) {
			t.Fatalf("the body is not in the file: %q", body)
		}
	})
}
