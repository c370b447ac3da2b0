package archtest

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
)

// pages lists the documents of the repository by their path from its top.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	dir := top(t)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != dir && (strings.HasPrefix(name, ".") || name == "bin" || name == "node_modules" || name == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".md") {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			found = append(found, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	// code is no text: an index and a call in it are no link.
	code   = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
	mdLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence  = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
)

// Every link inside the repository leads somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, m := range mdLink.FindAllStringSubmatch(code.ReplaceAllString(read(t, page), ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := filepath.Join(top(t), filepath.FromSlash(filepath.Dir(page)), filepath.FromSlash(target))
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}

// Every room that has a package stands in the table of rooms.
func TestArchitectureNamesTheRooms(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/architecture.md")
	seen := map[string]bool{}
	for _, p := range listed(t) {
		r, _, found := roomOf(p.dir())
		if !found {
			continue // TestArrows says so
		}
		line := r.dir
		switch {
		case line == "":
			line = "braid` (root)"
		case line == "cmd/*":
			line = "cmd/braid`"
		case line == "examples/*":
			line = "examples`"
		case strings.HasSuffix(line, "/*"):
			line = p.dir() + "`"
		default:
			line += "`"
		}
		if seen[line] {
			continue
		}
		seen[line] = true
		if !strings.Contains(text, "\n| `"+line+" |") {
			t.Errorf("docs/architecture.md has no row for %s", p.ImportPath)
		}
	}
}

// Every stop reason that Braid knows stands in the guide's table of ends.
func TestGuideNamesTheStopReasons(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/guide/limits-and-errors.md")
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top(t), "event", "message.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		s, ok := node.(*ast.ValueSpec)
		if !ok || len(s.Names) == 0 || !strings.HasPrefix(s.Names[0].Name, "Stop") || len(s.Values) == 0 {
			return true
		}
		lit, ok := s.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		word, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if !strings.Contains(text, "`"+word+"`") {
			t.Errorf("the guide does not say how a run with the stop reason %q ends", word)
		}
		return true
	})
	if n < 10 || event.StopEndTurn != "end_turn" {
		t.Errorf("only %d stop reasons were found", n)
	}
}

// Every program in the documents compiles.
func TestProgramsCompile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	replace := map[string]string{}
	var targets, from []string
	for _, page := range pages(t) {
		for _, m := range fence.FindAllStringSubmatch(read(t, page), -1) {
			if !strings.HasPrefix(m[1], "package main\n") {
				continue
			}
			n := len(targets)
			file := filepath.Join(dir, fmt.Sprintf("program%d.go", n))
			if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			target := fmt.Sprintf("internal/archtest/program%d", n)
			replace[filepath.Join(top(t), filepath.FromSlash(target), "main.go")] = file
			targets = append(targets, "./"+target)
			from = append(from, fmt.Sprintf("%s: %s", target, page))
		}
	}
	if len(targets) == 0 {
		t.Fatal("no page holds a program")
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	// Export data is made by compiling; linking thirty programs would take minutes.
	// What they import has been compiled in this form for the tests.
	flags := []string{"list", "-export", "-overlay", file}
	if race.On {
		flags = append(flags, "-race")
	}
	cmd := exec.Command("go", append(flags, targets...)...)
	cmd.Dir = top(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, strings.Join(from, "\n"))
	}
}
