package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mostFields is the bound for a struct. A struct with more of them has several meanings: give each a part with a name.
const mostFields = 25

// wide lists the structs with more fields and why: each is plain data with one meaning a field, whose shape others chose.
var wide = map[string]string{
	"client.Agent":                       "a JSON document of the API",
	"cmd/braid/internal/conf.Config":     "the options of the command, by the names that users write",
	"cmd/braid/internal/conf.Settings":   "the options of the command, by the names that users write",
	"cmd/braid/internal/printer.Summary": "a JSON document that the command prints",
	"internal/schemacheck.rule":          "the keywords of JSON Schema",
	"journal.usageRow":                   "a row of the ledger",
	"model/bedrock.family":               "a table's row: what a vendor's models accept",
	"service/directory.Agent":            "a JSON document that the directory stores",
	"wire/agentcore.fields":              "the members of a foreign vocabulary's objects",
}

// A struct holds at most mostFields fields. Those of a struct that it embeds count, because methods reach them as its own.
func TestNoStructHoldsTooManyFields(t *testing.T) {
	t.Parallel()
	structs := structsOf(t)
	if len(structs) < 500 {
		t.Errorf("only %d structs were looked at", len(structs))
	}
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		n := structs.count(name, nil)
		switch why := wide[name]; {
		case n > mostFields && why == "":
			t.Errorf("%s has %d fields, more than %d", name, n, mostFields)
		case n <= mostFields && why != "":
			t.Errorf("%s has %d fields and needs no exception", name, n)
		}
	}
	for name := range wide {
		if structs[name] == nil {
			t.Errorf("%s is an exception, but there is no such struct", name)
		}
	}
}

// declared is what a struct declares: how many fields, and which types it embeds, each as "folder.Name".
type declared struct {
	n      int
	embeds []string
}

// allStructs holds the structs that are declared at the top of a file, by "folder.Name".
type allStructs map[string]*declared

// count adds the fields of embedded structs to a struct's own, an embedded one counting as a field itself.
func (a allStructs) count(name string, above []string) int {
	f := a[name]
	if f == nil || slices.Contains(above, name) {
		return 0
	}
	n := f.n
	for _, e := range f.embeds {
		n += a.count(e, append(above, name))
	}
	return n
}

// structsOf reads the module's structs, without those of tests.
func structsOf(t *testing.T) allStructs {
	t.Helper()
	all := allStructs{}
	for _, p := range listed(t) {
		files, err := filepath.Glob(filepath.Join(top(t), filepath.FromSlash(p.dir()), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			all.take(p.dir(), file)
		}
	}
	return all
}

// take adds the structs of a file. An alias, or a type that is made from another one, has that one's fields.
func (a allStructs) take(dir string, file *ast.File) {
	imports := map[string]string{}
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil || !ours(p) {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = dirOf(p)
	}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range decl.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			f := &declared{}
			if st, ok := spec.Type.(*ast.StructType); ok {
				f.add(dir, imports, st)
			} else if name := typeName(dir, imports, spec.Type); name != "" {
				f.embeds = append(f.embeds, name)
			}
			a[dir+"."+spec.Name.Name] = f
		}
	}
}

func (f *declared) add(dir string, imports map[string]string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		f.n += max(1, len(field.Names))
		if len(field.Names) > 0 {
			continue
		}
		if name := typeName(dir, imports, field.Type); name != "" {
			f.embeds = append(f.embeds, name)
		}
	}
}

// typeName gives a type of this module as "folder.Name", and nothing for others.
func typeName(dir string, imports map[string]string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return dir + "." + e.Name
	case *ast.StarExpr:
		return typeName(dir, imports, e.X)
	case *ast.ParenExpr:
		return typeName(dir, imports, e.X)
	case *ast.IndexExpr:
		return typeName(dir, imports, e.X)
	case *ast.IndexListExpr:
		return typeName(dir, imports, e.X)
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && imports[of.Name] != "" {
			return imports[of.Name] + "." + e.Sel.Name
		}
	}
	return ""
}

func TestFieldsAreCounted(t *testing.T) {
	t.Parallel()
	all := allStructs{}
	for dir, src := range map[string]string{
		"a": "package a\nimport (\n\"sync\"\n\"" + module + "/b\"\nc \"" + module + "/d\"\n)\n" +
			"type Plain struct { A, B int; C string }\n" +
			"type Deep struct { Plain; *b.Other; sync.Mutex }\n" +
			"type Generic[T any] struct { c.Box[T]; X T }\n" +
			"type Same = Deep\ntype Made Plain\n" +
			"type Ring struct { *Ring; A int }\n",
		"b": "package b\ntype Other struct { A, B int }\n",
		"d": "package d\ntype Box[T any] struct { Of T }\n",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all.take(dir, file)
	}
	for name, want := range map[string]int{
		"a.Plain": 3, "a.Deep": 8, "a.Generic": 3, "a.Same": 8, "a.Made": 3, "a.Ring": 2, "b.Other": 2,
	} {
		if got := all.count(name, nil); got != want {
			t.Errorf("%s has %d fields, not %d", name, got, want)
		}
	}
}
