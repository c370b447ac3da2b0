package mutation

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/braidrun/braid/test/instrument"
)

// A mutation breaks the code.
type mutation struct {
	name string
	// rows are the rows of docs/seeds.md, or of docs/guide/strands.md, whose statement is untrue under the mutation.
	rows []string
	edit instrument.Edit
}

// mutations reads the mutations. dir is their folder.
func mutations(dir string) ([]*mutation, error) {
	files, err := filepath.Glob(filepath.Join(dir, "s*.txt"))
	if err != nil {
		return nil, err
	}
	var all []*mutation
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // it is a file of this package
		if err != nil {
			return nil, err
		}
		for part := range strings.SplitSeq(strings.TrimSpace("\n"+string(text)), "\n@ ") {
			m, err := parse(strings.TrimPrefix(part, "@ "))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// parse reads one mutation.
func parse(text string) (*mutation, error) {
	head, body, _ := strings.Cut(text, "\n")
	rows, dir, where := strings.Cut(head, " | ")
	dir, feature, _ := strings.Cut(dir, " | ")
	old, instead, cut := strings.Cut(body, "\n=>\n")
	if !where || !cut || !strings.Contains(instead, "BROKEN") {
		return nil, fmt.Errorf("%q is not \"ROWS | FOLDER\", a text, \"=>\" and a text with BROKEN", head)
	}
	m := &mutation{rows: strings.Fields(rows)}
	m.name = m.rows[0]
	if m.rows[0], _, _ = strings.Cut(m.name, "_"); feature != "" {
		m.rows = []string{feature}
	}
	instead = strings.ReplaceAll(strings.TrimRight(instead, "\n"), "BROKEN", fmt.Sprintf("planted.Is(%q)", m.name))
	m.edit = instrument.Edit{Dir: dir, Old: old, New: instead}
	return m, nil
}

// A test is a test that a row names.
type test struct{ dir, name string }

var (
	heldLine = regexp.MustCompile(`(?m)^\| (S\d+\.\d+) \|.*_test\.go:.*$`)
	testName = regexp.MustCompile("`([\\w/.-]+_test\\.go):(\\w+)`")
)

// held returns the tests of each row of docs/seeds.md that names some: rows that are held, and departures
// that tests show. top is the module's folder.
func held(top string) (map[string][]test, error) {
	text, err := os.ReadFile(filepath.Join(top, "docs", "seeds.md")) //nolint:gosec // it is a page of this module
	if err != nil {
		return nil, err
	}
	rows := map[string][]test{}
	for _, m := range heldLine.FindAllStringSubmatch(string(text), -1) {
		for _, t := range testName.FindAllStringSubmatch(m[0], -1) {
			rows[m[1]] = append(rows[m[1]], test{path.Dir(t[1]), t[2]})
		}
	}
	return rows, nil
}

// A batch is a set of mutations that are compiled together.
type batch struct {
	copies    *instrument.Copies
	mutations []*mutation
}

// batches groups the mutations. Those that change the same text are in different batches.
func batches(top string, all []*mutation) ([]*batch, error) {
	var out []*batch
	var misfits []error
	for _, m := range all {
		into := slices.IndexFunc(out, func(b *batch) bool { return b.copies.Apply(m.edit) == nil })
		if into < 0 {
			b := &batch{copies: instrument.NewCopies(top)}
			if err := b.copies.Apply(m.edit); err != nil {
				misfits = append(misfits, fmt.Errorf("%s: %w", m.name, err))
				continue
			}
			into, out = len(out), append(out, b)
		}
		out[into].mutations = append(out[into].mutations, m)
	}
	return out, errors.Join(misfits...)
}

var (
	sameLine = regexp.MustCompile(`(?m)^\| (.+?) \| the same\b.*\|([^|]*)\|$`)
	oneName  = regexp.MustCompile("`(\\w+)`")
	function = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// same returns the tests of each row of docs/guide/strands.md that says "the same". The page names tests without their
// files, so a name stands for all tests of that name.
func same(top string) (map[string][]test, error) {
	text, err := os.ReadFile(filepath.Join(top, "docs", "guide", "strands.md")) //nolint:gosec // it is a page of this module
	if err != nil {
		return nil, err
	}
	known := map[string][]test{}
	err = filepath.WalkDir(top, func(file string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && file != top):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		code, err := os.ReadFile(file) //nolint:gosec // it is a file of this module
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(top, filepath.Dir(file))
		for _, m := range function.FindAllStringSubmatch(string(code), -1) {
			known[m[1]] = append(known[m[1]], test{filepath.ToSlash(dir), m[1]})
		}
		return err
	})
	rows := map[string][]test{}
	for _, m := range sameLine.FindAllStringSubmatch(string(text), -1) {
		for _, name := range oneName.FindAllStringSubmatch(m[2], -1) {
			rows[m[1]] = append(rows[m[1]], known[name[1]]...)
		}
	}
	return rows, err
}
