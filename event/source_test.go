package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// constants reads the package's source and gives the constants of a type by
// name, so that a table can be held against what is really there.
func constants(t *testing.T, typeName string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				values, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				if id, ok := values.Type.(*ast.Ident); !ok || id.Name != typeName {
					continue
				}
				for i, name := range values.Names {
					lit, ok := values.Values[i].(*ast.BasicLit)
					if !ok {
						t.Fatalf("%s is no literal", name.Name)
					}
					s, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					found[name.Name] = s
				}
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("no constants of type %s: this test looks in the wrong place", typeName)
	}
	return found
}
