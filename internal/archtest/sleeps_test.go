package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// realTime lists the folders whose tests watch other processes, so that time must pass: a lease runs out, a server stalls.
var realTime = []string{"test/nodes/", "test/kill/", "test/e2e/", "test/peers/", "test/frozen/", "test/tenants/"}

// plantedDelays lists the files that sleep for other reasons, and why.
var plantedDelays = map[string]string{
	"journal/journaltest/mutants_mail_test.go": "a planted bug loses a race",
	"live/livetest/mutants_test.go":            "a planted bug is slow",
	"live/hub_bench_test.go":                   "a benchmark paces its events",
	"service/directory/export_test.go":         "a database that answers late",
}

// A test of one process does not wait for the clock: it sleeps in a bubble of testing/synctest, or it polls in a loop that has
// a condition.
func TestNoTestSleepsOnTheRealClock(t *testing.T) {
	t.Parallel()
	sleepers := 0
	err := filepath.WalkDir(top(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(top(t), path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		for _, folder := range realTime {
			if strings.HasPrefix(name, folder) {
				return nil
			}
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		sleeps := realSleeps(file)
		if len(sleeps) == 0 {
			return nil
		}
		sleepers++
		if plantedDelays[name] == "" && !imports(file, "testing/synctest") {
			t.Errorf("%s sleeps on the real clock: use testing/synctest, or poll in a loop with a condition", fset.Position(sleeps[0]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if sleepers < len(plantedDelays) {
		t.Errorf("only %d files that sleep were found: the search is broken, or a file needs no exception any more", sleepers)
	}
}

// realSleeps finds the calls of time.Sleep that are not the pause of a loop with a condition.
func realSleeps(file *ast.File) (found []token.Pos) {
	polls := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		loop, ok := n.(*ast.ForStmt)
		if !ok {
			return true
		}
		if loop.Post != nil && loop.Cond != nil {
			polls[loop.Post] = true
		}
		ends := loop.Cond != nil
		for _, s := range loop.Body.List {
			if check, ok := s.(*ast.IfStmt); ok && leaves(check.Body) {
				ends = true
			}
		}
		for _, s := range loop.Body.List {
			polls[s] = polls[s] || ends
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		if polls[n] {
			_, isExpr := n.(*ast.ExprStmt)
			if isExpr {
				return false
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sleep" {
			if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == "time" {
				found = append(found, call.Pos())
			}
		}
		return true
	})
	return found
}

// leaves reports whether a block ends the loop or the test around it.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch s := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		return ok && strings.HasPrefix(f.Sel.Name, "Fatal")
	}
	return false
}

func imports(file *ast.File, path string) bool {
	for _, i := range file.Imports {
		if i.Path.Value == `"`+path+`"` {
			return true
		}
	}
	return false
}
