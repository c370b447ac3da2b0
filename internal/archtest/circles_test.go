package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layered lists the packages that have layers (docs/adr/0034 and 0039), with the most files that may use each other in a
// circle. What is more has one type again whose methods reach everything.
var layered = map[string]int{
	"engine":            3,
	"internal/drive":    21,
	"internal/fold":     5,
	"journal":           3,
	"journal/sqlite":    4,
	"model/bedrock":     4,
	"model/gemini":      4,
	"models":            4,
	"server":            6,
	"server/agentcore":  4,
	"service":           8,
	"service/directory": 6,
}

func TestPackagesKeepTheirLayers(t *testing.T) {
	t.Parallel()
	for _, dir := range slices.Sorted(maps.Keys(layered)) {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			uses := usesOf(t, filepath.Join(top(t), filepath.FromSlash(dir)))
			links := 0
			for _, to := range uses {
				links += len(to)
			}
			if links < len(uses) {
				t.Fatalf("only %d uses between %d files were found", links, len(uses))
			}
			if c := largestCircle(uses); len(c) > layered[dir] {
				t.Errorf("%d of %d files use each other in a circle, more than %d: %s\nmove what they share into a lower file",
					len(c), len(uses), layered[dir], strings.Join(c, " "))
			}
		})
	}
}

// usesOf returns for each file of a package, without tests, the files whose declarations it uses. Imports are not read, so a
// use that only a foreign type shows is missing.
func usesOf(t *testing.T, dir string) map[string]map[string]bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	uses := map[string]map[string]bool{}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		uses[filepath.Base(name)] = map[string]bool{}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checking := types.Config{Importer: emptyPackages{}, Error: func(error) {}} // what is imported is not there
	pkg, _ := checking.Check(dir, set, files, info)
	at := func(p token.Pos) string { return filepath.Base(set.Position(p).Filename) }
	for id, o := range info.Uses {
		if declaredIn(pkg, o) {
			if from, to := at(id.Pos()), at(o.Pos()); from != to {
				uses[from][to] = true
			}
		}
	}
	return uses
}

// declaredIn reports whether an object is a declaration of the package, a field or a method, and not a local name.
func declaredIn(pkg *types.Package, o types.Object) bool {
	if o.Pkg() != pkg || !o.Pos().IsValid() {
		return false
	}
	switch o := o.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return o.IsField() || o.Parent() == pkg.Scope()
	case *types.TypeName, *types.Const:
		return o.Parent() == pkg.Scope()
	default:
		return false
	}
}

// emptyPackages imports packages without their contents.
type emptyPackages struct{}

// Import implements [types.Importer].
func (emptyPackages) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// largestCircle returns the largest set of files of which each uses every other one, directly or through others. A single
// file is the smallest circle.
func largestCircle(uses map[string]map[string]bool) []string {
	reach := map[string]map[string]bool{}
	for from := range uses {
		seen, todo := map[string]bool{}, []string{from}
		for len(todo) > 0 {
			next := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for to := range uses[next] {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		reach[from] = seen
	}
	var largest []string
	for from := range uses {
		circle := []string{from}
		for to := range reach[from] {
			if to != from && reach[to][from] {
				circle = append(circle, to)
			}
		}
		if len(circle) > len(largest) {
			largest = circle
		}
	}
	slices.Sort(largest)
	return largest
}

func TestLargestCircle(t *testing.T) {
	t.Parallel()
	uses := map[string]map[string]bool{
		"a": {"b": true}, "b": {"c": true}, "c": {"a": true, "d": true}, "d": {"e": true}, "e": {"d": true}, "f": {"a": true},
	}
	if c := largestCircle(uses); !slices.Equal(c, []string{"a", "b", "c"}) {
		t.Errorf("%v", c)
	}
}
