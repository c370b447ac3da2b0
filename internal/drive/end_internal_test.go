package drive

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Only the functions of end.go build the end of a step, one for each kind of step.
func TestOneFunctionEndsAStep(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var builders []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && buildsStepEnded(f) {
				builders = append(builders, name+" "+f.Name.Name)
			}
		}
	}
	if want := []string{"end.go endCall", "end.go endModel", "end.go endCompaction"}; !slices.Equal(builders, want) {
		t.Errorf("the functions that build an event.StepEnded are %q, want %q", builders, want)
	}
}

// buildsStepEnded reports whether a function has a literal of event.StepEnded.
func buildsStepEnded(f *ast.FuncDecl) (builds bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			if sel, ok := lit.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "StepEnded" {
				builds = true
			}
		}
		return true
	})
	return builds
}
