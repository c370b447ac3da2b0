package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A translation says everything that the page says: it has the same sections and list items, and each of them has the same
// links and the same code.
func TestTheJapaneseREADMESaysTheSame(t *testing.T) {
	t.Parallel()
	english, japanese := parts(t, "README.md"), parts(t, "README.ja.md")
	if len(english) != len(japanese) {
		t.Fatalf("README.md has %d sections and list items, README.ja.md %d", len(english), len(japanese))
	}
	for i, p := range english {
		if diff := cmp.Diff(p.has, japanese[i].has); diff != "" {
			t.Errorf("%q and %q (-README.md +README.ja.md):\n%s", p.first, japanese[i].first, diff)
		}
	}
}

// part is a list item, or the beginning of a section.
type part struct {
	first string
	// has lists its links and code spans, sorted.
	has []string
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)]+)\)`)
	codeSpan   = regexp.MustCompile("`([^`]+)`")
)

// parts splits a page, without its code blocks.
func parts(t *testing.T, page string) (list []part) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top(t), page))
	if err != nil {
		t.Fatal(err)
	}
	fenced := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced || strings.HasPrefix(line, "<!--") {
			continue
		}
		if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "#") {
			list = append(list, part{first: strings.TrimSpace(line)})
		}
		if len(list) == 0 {
			continue
		}
		p := &list[len(list)-1]
		for _, find := range []*regexp.Regexp{linkTarget, codeSpan} {
			for _, m := range find.FindAllStringSubmatch(line, -1) {
				if m[1] != "README.md" && m[1] != "README.ja.md" {
					p.has = append(p.has, m[1])
				}
			}
		}
	}
	for i := range list {
		slices.Sort(list[i].has)
	}
	return list
}
