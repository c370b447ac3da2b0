package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	namedTest = regexp.MustCompile("`(Test\\w+)`")
)

// The page that says what of Strands Agents is here names tests that there are, and each of its
// rows names one or says why there is none.
func TestTheStrandsPageNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	err := filepath.WalkDir(top(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range testFunc.FindAllSubmatch(src, -1) {
				have[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, complaints := 0, 0
	for line := range strings.Lines(read(t, "docs/guide/strands.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[3]) == "held by" {
			continue
		}
		rows++
		if regexp.MustCompile(`^ \d+\. `).MatchString(cells[1]) {
			complaints++
		}
		named := namedTest.FindAllStringSubmatch(cells[3], -1)
		for _, m := range named {
			if !have[m[1]] {
				t.Errorf("there is no test %s, which the row %q names", m[1], strings.TrimSpace(cells[1]))
			}
		}
		if len(named) == 0 && !strings.HasPrefix(cells[2], " left out") && !strings.HasPrefix(cells[2], " later") {
			t.Errorf("the row %q names no test and does not say why", strings.TrimSpace(cells[1]))
		}
	}
	if rows < 70 || complaints != 15 {
		t.Errorf("the page has %d rows, %d of them complaints", rows, complaints)
	}
}
