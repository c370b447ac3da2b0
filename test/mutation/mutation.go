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
	// rows are the rows of docs/seeds.md whose statement is untrue under the mutation. The first one is
	// its name; a second mutation of the same first row adds a letter to it ("S2.46 b").
	rows []string
	// dir is the folder of the package. old occurs in it once, outside tests. In new, BROKEN is true
	// when the mutation is on.
	dir, old, new string
}

// name returns the name that turns the mutation on.
func (m *mutation) name() string { return m.rows[0] }

// edit returns the change of the code.
func (m *mutation) edit() instrument.Edit {
	return instrument.Edit{Dir: m.dir, Old: m.old, New: strings.ReplaceAll(m.new, "BROKEN", fmt.Sprintf("planted.Is(%q)", m.name()))}
}

// A test is a test that a row names.
type test struct{ dir, name string }

var (
	heldLine = regexp.MustCompile(`(?m)^\| (S\d+\.\d+) \|.*\| held[ ;|].*$`)
	testName = regexp.MustCompile("`([\\w/.-]+_test\\.go):(\\w+)`")
)

// held returns the tests of each row of docs/seeds.md that is marked "held". top is the module's folder.
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
		into := slices.IndexFunc(out, func(b *batch) bool { return b.copies.Apply(m.edit()) == nil })
		if into < 0 {
			b := &batch{copies: instrument.NewCopies(top)}
			if err := b.copies.Apply(m.edit()); err != nil {
				misfits = append(misfits, fmt.Errorf("%s: %w", m.name(), err))
				continue
			}
			into, out = len(out), append(out, b)
		}
		out[into].mutations = append(out[into].mutations, m)
	}
	return out, errors.Join(misfits...)
}
