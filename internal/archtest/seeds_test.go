package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// statements is how many statements each seed makes. A row may be split or
// added, but none may get lost.
var statements = map[int]int{1: 50, 2: 70, 3: 51, 4: 97, 5: 126}

// departures is the page that the table links to.
const departures = "docs/adr/0006-departures-from-the-seeds.md"

// row is a line of the table of seeds.
type row struct {
	seed, number int
	id           string
	says         string
	here         []string
	code, tests  []string
}

var (
	rowLine  = regexp.MustCompile(`^\| S(\d+)\.(\d+) \|`)
	areaLine = regexp.MustCompile(`^- \*\*([^*]+)\*\*: `)
	link     = regexp.MustCompile(`^\[D(\d+)\]\(adr/0006-departures-from-the-seeds\.md#d(\d+)\)$`)
	heading  = regexp.MustCompile(`(?m)^### D(\d+)$`)
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// parseSeeds reads the table, and the areas that are still to be built.
func parseSeeds(text string) (rows []row, areas []string, err error) {
	for n, line := range strings.Split(text, "\n") {
		if m := areaLine.FindStringSubmatch(line); m != nil {
			areas = append(areas, m[1])
		}
		m := rowLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "¦"), "|")
		if len(cells) != 7 {
			return nil, nil, fmt.Errorf("line %d has %d cells, want 5", n+1, len(cells)-2)
		}
		r := row{id: strings.TrimSpace(cells[1]), says: strings.TrimSpace(cells[2])}
		r.seed, _ = strconv.Atoi(m[1])
		r.number, _ = strconv.Atoi(m[2])
		for part := range strings.SplitSeq(cells[3], ";") {
			if part = strings.TrimSpace(part); part != "" {
				r.here = append(r.here, part)
			}
		}
		for _, q := range quoted.FindAllStringSubmatch(cells[4], -1) {
			r.code = append(r.code, q[1])
		}
		for _, q := range quoted.FindAllStringSubmatch(cells[5], -1) {
			r.tests = append(r.tests, q[1])
		}
		rows = append(rows, r)
	}
	return rows, areas, nil
}

// faults tells what is wrong with the table. has reports whether a file of the
// repository declares a name.
func faults(rows []row, areas []string, ruled []string, has func(file, name string) bool) []string {
	var bad []string
	say := func(r row, format string, args ...any) {
		bad = append(bad, r.id+": "+fmt.Sprintf(format, args...))
	}
	for _, r := range rows {
		if r.says == "" {
			say(r, "it does not say what the seed says")
		}
		if len(r.here) == 0 {
			say(r, "it says nothing about us: give it a test, a departure or an area that is planned")
		}
		held := false
		for _, h := range r.here {
			area, planned := strings.CutPrefix(h, "planned: ")
			why, context := strings.CutPrefix(h, "context: ")
			departure := link.FindStringSubmatch(h)
			switch {
			case h == "held":
				held = true
			case planned:
				if !slices.Contains(areas, area) {
					say(r, "%q is none of the areas that are planned", area)
				}
			case context:
				if why == "" {
					say(r, "it does not say why nothing follows from it")
				}
			case departure != nil:
				if departure[1] != departure[2] || !slices.Contains(ruled, departure[1]) {
					say(r, "there is no departure D%s", departure[1])
				}
			default:
				say(r, "%q is no mark", h)
			}
		}
		if held && len(r.tests) == 0 {
			say(r, "it is said to be held and names no test")
		}
		for _, ref := range r.code {
			if file, name, ok := strings.Cut(ref, ":"); !ok || !has(file, name) {
				say(r, "there is no %s in the code", ref)
			}
		}
		for _, ref := range r.tests {
			file, name, ok := strings.Cut(ref, ":")
			switch {
			case !ok || !strings.HasSuffix(file, "_test.go") || !isTest(name):
				say(r, "%s is no test", ref)
			case !has(file, name):
				say(r, "the test %s is gone", ref)
			}
		}
	}
	return bad
}

func isTest(name string) bool {
	return slices.ContainsFunc([]string{"Test", "Fuzz", "Example", "Benchmark"}, func(kind string) bool {
		return strings.HasPrefix(name, kind)
	})
}

// names lists what a Go file declares: F, T, T.Method, T.Field.
func names(file string) (map[string]bool, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			found[receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						found[n.Name] = true
					}
				case *ast.TypeSpec:
					found[s.Name.Name] = true
					for _, f := range fields(s.Type) {
						for _, n := range f.Names {
							found[s.Name.Name+"."+n.Name] = true
						}
					}
				}
			}
		}
	}
	return found, nil
}

// receiver is "T." for a method of T or *T, and "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	if n, ok := t.(*ast.Ident); ok {
		return n.Name + "."
	}
	return ""
}

// fields are the fields of a struct or the methods of an interface.
func fields(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	default:
		return nil
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	rows, areas, err := parseSeeds(read(t, "docs/seeds.md"))
	if err != nil {
		t.Fatal(err)
	}
	var ruled []string
	for _, m := range heading.FindAllStringSubmatch(read(t, departures), -1) {
		ruled = append(ruled, m[1])
	}
	declared := map[string]map[string]bool{}
	has := func(file, name string) bool {
		if _, ok := declared[file]; !ok {
			found, err := names(filepath.Join(top(t), filepath.FromSlash(file)))
			if err != nil && !os.IsNotExist(err) {
				t.Log(err)
			}
			declared[file] = found
		}
		return declared[file][name]
	}
	for _, f := range faults(rows, areas, ruled, has) {
		t.Error(f)
	}

	next := map[int]int{}
	linked := map[string]bool{}
	used := map[string]bool{}
	for _, r := range rows {
		next[r.seed]++
		if r.number != next[r.seed] {
			t.Errorf("%s stands where S%d.%d belongs", r.id, r.seed, next[r.seed])
		}
		for _, h := range r.here {
			if m := link.FindStringSubmatch(h); m != nil {
				linked[m[1]] = true
			}
			if area, ok := strings.CutPrefix(h, "planned: "); ok {
				used[area] = true
			}
		}
	}
	for seed, n := range statements {
		if next[seed] < n {
			t.Errorf("seed %d has %d rows, and makes %d statements", seed, next[seed], n)
		}
	}
	for _, d := range ruled {
		if !linked[d] {
			t.Errorf("no row links to the departure D%s", d)
		}
	}
	for _, a := range areas {
		if !used[a] {
			t.Errorf("no row waits for the area %q: take it off the list", a)
		}
	}
}

// The test above is only as good as its eyes: each of these rows has one fault.
func TestSeedsAreSeen(t *testing.T) {
	t.Parallel()
	const head = "- **service**: later\n"
	has := func(file, name string) bool {
		return file == "a.go" && name == "A" || file == "a_test.go" && name == "TestA"
	}
	for _, c := range []struct {
		name, line, want string
	}{
		{"held", "| S1.1 | says | held | `a.go:A` | `a_test.go:TestA` |", ""},
		{"planned", "| S1.1 | says | planned: service |  |  |", ""},
		{"departure", "| S1.1 | a \\| b | [D3](adr/0006-departures-from-the-seeds.md#d3) |  |  |", ""},
		{"context", "| S1.1 | says | context: a remark |  |  |", ""},
		{"no test", "| S1.1 | says | held | `a.go:A` |  |", "names no test"},
		{"test gone", "| S1.1 | says | held |  | `a_test.go:TestB` |", "is gone"},
		{"code gone", "| S1.1 | says | held | `a.go:B` | `a_test.go:TestA` |", "in the code"},
		{"no test at all", "| S1.1 | says | held |  | `a.go:A` |", "is no test"},
		{"nothing", "| S1.1 | says |  |  |  |", "nothing about us"},
		{"unknown area", "| S1.1 | says | planned: someday |  |  |", "none of the areas"},
		{"unknown departure", "| S1.1 | says | [D4](adr/0006-departures-from-the-seeds.md#d4) |  |  |", "no departure"},
		{"crossed link", "| S1.1 | says | [D3](adr/0006-departures-from-the-seeds.md#d4) |  |  |", "no departure"},
		{"no reason", "| S1.1 | says | context: |  |  |", "is no mark"},
		{"unknown mark", "| S1.1 | says | done |  |  |", "is no mark"},
		{"empty", "| S1.1 |  | context: a remark |  |  |", "what the seed says"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rows, areas, err := parseSeeds(head + c.line + "\n")
			if err != nil || len(rows) != 1 {
				t.Fatal(rows, err)
			}
			got := faults(rows, areas, []string{"3"}, has)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want one with %q", got, c.want)
			}
		})
	}
	if _, _, err := parseSeeds("| S1.1 | says | held |\n"); err == nil {
		t.Error("a row without its cells was read")
	}
}
