package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// `braid doctor` knows each variable that the command declares as envPrefix + "NAME".
func TestDoctorKnowsEveryVariable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sum, ok := n.(*ast.BinaryExpr)
			if !ok {
				return true
			}
			prefix, isName := sum.X.(*ast.Ident)
			rest, isText := sum.Y.(*ast.BasicLit)
			if !isName || !isText || prefix.Name != "envPrefix" {
				return true
			}
			word, err := strconv.Unquote(rest.Value)
			if err != nil {
				t.Fatal(err)
			}
			if word == "" || word[0] < 'A' || word[0] > 'Z' {
				return true // words for people
			}
			found++
			if !slices.Contains(otherVariables, envPrefix+word) {
				t.Errorf("%s reads %s%s, and doctor says that it is no option", name, envPrefix, word)
			}
			return true
		})
	}
	if found < 6 {
		t.Errorf("only %d variables are found", found)
	}
}
