package modeltest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The words of the table's cells. Some stands where the models of one provider
// differ.
const (
	cellHeld    = "yes"
	cellSome    = "some"
	cellAbsent  = "–"
	cellFailed  = "**failed**"
	cellUntried = "?"
)

// Markdown is the table of features by provider, of what all runs of the contract
// have seen. Providers stand in the order of their names.
func Markdown(seen []Seen) string {
	by := map[string][]Seen{}
	var names []string
	for _, s := range seen {
		if s.Provider == "" {
			continue
		}
		if by[s.Provider] == nil {
			names = append(names, s.Provider)
		}
		by[s.Provider] = append(by[s.Provider], s)
	}
	slices.Sort(names)
	b := &strings.Builder{}
	fmt.Fprintf(b, "| | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat(":-:|", len(names)))
	for _, f := range Features() {
		b.WriteString("| " + string(f) + " |")
		for _, n := range names {
			b.WriteString(" " + cell(by[n], f) + " |")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cell sums up what the runs under one name saw of a feature.
func cell(runs []Seen, f Feature) string {
	count := map[State]int{}
	for _, s := range runs {
		count[s.Features[f]]++
	}
	switch {
	case count[Failed] > 0:
		return cellFailed
	case count[Absent] == len(runs):
		return cellAbsent
	case count[Held]+count[Absent] < len(runs):
		return cellUntried
	case count[Absent] > 0:
		return cellSome
	default:
		return cellHeld
	}
}

// table fails where the table of [Provider.Table] says otherwise than the provider
// does itself: it would be out of date.
func table(t *testing.T, p *Provider) {
	if p.Table == "" || p.Unlisted {
		t.Skip("the provider stands in no table")
	}
	b, err := os.ReadFile(p.Table)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.standsIn(string(b)); err != nil {
		t.Errorf("%v; make features writes the table anew", err)
	}
}

// standsIn compares a table with what the provider says.
func (p *Provider) standsIn(text string) error {
	column := -1
	rows := map[Feature]string{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) < 3:
		case cells[1] == "" && slices.Contains(cells[2:], p.Name):
			column = slices.Index(cells, p.Name)
		case column > 0 && column < len(cells):
			rows[Feature(cells[1])] = cells[column]
		}
	}
	if column < 0 {
		return fmt.Errorf("the table has no column %q", p.Name)
	}
	for _, f := range Features() {
		allowed := []string{cellAbsent, cellSome}
		if p.has(f) {
			allowed = []string{cellHeld, cellSome}
		}
		if !slices.Contains(allowed, rows[f]) {
			return fmt.Errorf("the table says %q of %q, and %s does not", rows[f], f, p.Name)
		}
	}
	return nil
}
