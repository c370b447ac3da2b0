package main

import (
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
)

// `braid doctor` knows each variable with the options' prefix that a package of the command names, as a string or as EnvPrefix
// + "NAME".
func TestDoctorKnowsEveryVariable(t *testing.T) {
	t.Parallel()
	named := map[string]string{}
	linked := map[string]bool{}
	variablesOf(t, ".", linked, named)
	known := append(conf.OptionNames((*conf.Option).Env), otherVariables...)
	for name, where := range named {
		if !slices.Contains(known, name) {
			t.Errorf("%s names %s, and doctor says that it is no option", where, name)
		}
	}
	for _, name := range otherVariables {
		if named[name] == "" {
			t.Errorf("doctor knows %s, which nothing names", name)
		}
	}
	if len(linked) < 30 || named["BRAID_MODEL"] == "" {
		t.Errorf("not all packages of the command are read: %v", slices.Sorted(maps.Keys(linked)))
	}
}

const modulePath = "github.com/braidrun/braid"

var aVariable = regexp.MustCompile(`^` + conf.EnvPrefix + `[A-Z][A-Z0-9_]*$`)

// variablesOf reads a folder's package and its imports from this module, as built for the command.
func variablesOf(t *testing.T, dir string, seen map[string]bool, named map[string]string) {
	t.Helper()
	if seen[dir] {
		return
	}
	seen[dir] = true
	pkg, err := gobuild.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pkg.GoFiles {
		path := filepath.Join(dir, name)
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if word := variable(n); word != "" {
				named[word] = path
			}
			return true
		})
	}
	for _, path := range pkg.Imports {
		if rest, ok := strings.CutPrefix(path+"/", modulePath+"/"); ok {
			variablesOf(t, filepath.Join("..", "..", filepath.FromSlash(rest)), seen, named)
		}
	}
}

// variable returns the variable that a node of a program names, or "".
func variable(n ast.Node) string {
	prefix := ""
	if sum, ok := n.(*ast.BinaryExpr); ok {
		name, own := sum.X.(*ast.Ident)
		if sel, ok := sum.X.(*ast.SelectorExpr); ok {
			name, own = sel.Sel, true
		}
		if !own || name.Name != "EnvPrefix" {
			return ""
		}
		n, prefix = sum.Y, conf.EnvPrefix
	}
	text, ok := n.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return ""
	}
	word, err := strconv.Unquote(text.Value)
	if err != nil || !aVariable.MatchString(prefix+word) {
		return ""
	}
	return prefix + word
}
