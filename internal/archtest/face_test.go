package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The bounds of the root package, which is the face of the library: what a user names, and no more.
const (
	mostFaceFiles = 28
	mostFaceLines = 6000
	mostFaceNames = 110
)

func TestTheFaceStaysSmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(top(t), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	count, lines := 0, 0
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		count, lines = count+1, lines+bytes.Count(text, []byte("\n"))
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, exportedOf(file)...)
	}
	if count == 0 || count > mostFaceFiles {
		t.Errorf("the root package has %d files, at most %d are allowed: move what no user names below internal", count, mostFaceFiles)
	}
	if lines > mostFaceLines {
		t.Errorf("the root package has %d lines, at most %d are allowed", lines, mostFaceLines)
	}
	if len(names) > mostFaceNames {
		t.Errorf("the root package exports %d names, at most %d are allowed: %v", len(names), mostFaceNames, names)
	}
}

// exportedOf lists the names that a file declares for users, without methods and fields.
func exportedOf(file *ast.File) (names []string) {
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id)
					}
				}
			}
		}
	}
	return names
}
