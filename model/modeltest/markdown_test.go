package modeltest

import (
	"strings"
	"testing"
)

func seenAs(name string, state func(Feature) State) Seen {
	s := Seen{Provider: name, Features: map[Feature]State{}}
	for _, f := range Features() {
		s.Features[f] = state(f)
	}
	return s
}

// The table has a row for each feature, and says what the runs saw.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	all := func(Feature) State { return Held }
	without := func(gone Feature, s State) func(Feature) State {
		return func(f Feature) State {
			if f == gone {
				return s
			}
			return Held
		}
	}
	got := Markdown([]Seen{
		seenAs("B", all), seenAs("A", without(Images, Absent)), seenAs("A", all), seenAs("C", without(Images, Failed)), seenAs("", all),
		seenAs("D", without(Images, Untried)), seenAs("E", without(Images, Absent)),
	})
	if want := "| | A | B | C | D | E |\n|---|:-:|:-:|:-:|:-:|:-:|\n| text deltas | yes | yes | yes | yes | yes |\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s", got)
	}
	if want := "\n| images | some | yes | **failed** | ? | – |\n"; !strings.Contains(got, want) {
		t.Errorf("want %s in\n%s", want, got)
	}
	if n := strings.Count(got, "\n"); n != len(Features())+2 {
		t.Errorf("%d lines for %d features", n, len(Features()))
	}
	lists := map[Feature]bool{}
	for _, f := range Features() {
		if lists[f] {
			t.Errorf("%s stands in it twice", f)
		}
		lists[f] = true
	}
	for _, f := range optional {
		if !lists[f] {
			t.Errorf("%s is in no row", f)
		}
	}
}

// A table that says otherwise than the provider is found out.
func TestTheTableIsCompared(t *testing.T) {
	t.Parallel()
	full := Provider{Name: "A", Stops: reasons}
	less := Provider{Name: "A", Stops: reasons, Without: []Feature{Images}}
	as := func(p Provider) Seen {
		return seenAs(p.Name, func(f Feature) State {
			if p.has(f) {
				return Held
			}
			return Absent
		})
	}
	for _, tc := range []struct {
		name  string
		table string
		fits  []Provider
		not   []Provider
	}{
		{"all", Markdown([]Seen{as(full)}), []Provider{full}, []Provider{less, {Name: "B"}}},
		{"one less", "# Title\n\n" + Markdown([]Seen{as(less)}), []Provider{less}, []Provider{full}},
		{"two models", Markdown([]Seen{as(full), as(less)}), []Provider{full, less}, []Provider{{Name: "A"}}},
		{"nothing", "no table", nil, []Provider{full}},
	} {
		for _, p := range tc.fits {
			if err := p.standsIn(tc.table); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
		}
		for _, p := range tc.not {
			if p.standsIn(tc.table) == nil {
				t.Errorf("%s: nobody noticed that it is not of %+v", tc.name, p)
			}
		}
	}
}
