package archtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
	Error        *struct{ Err string }
}

// dir is the package's folder in this module, "" for its root.
func (p pkg) dir() string { return dirOf(p.ImportPath) }

func dirOf(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// standard reports whether a path is of the standard library: its first
// element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// bare lists the rooms whose whole import graph is held, and what of the
// standard library must not even be reached from there.
var (
	bare      = []string{"event", "journal", "model", "", "internal/strictjson", "internal/sse", "internal/clock"}
	forbidden = []string{"net/http", "database/sql", "os/exec", "html/template", "text/template", "testing", "plugin"}
)

// violations tells which arrows of the packages are not in the house's plan.
func violations(pkgs []pkg) []string {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	byPath := make(map[string]pkg, len(pkgs))
	for _, p := range pkgs {
		byPath[p.ImportPath] = p
	}
	for _, p := range pkgs {
		r, key, found := roomOf(p.dir())
		if !found {
			say("%s is in no room: add its folder to rooms_test.go and docs/architecture.md, with what it may import", p.ImportPath)
			continue
		}
		if r.dir == "cmd/*" {
			for _, dep := range p.Deps {
				if mayFrom(heavy, dep) {
					say("%s reaches %s, which weighs too much for it", p.ImportPath, dep)
				}
				if dep == "testing" || mayFrom(testLibraries, dep) {
					say("%s reaches %s, which is for tests", p.ImportPath, dep)
				}
				if slices.ContainsFunc(byPath[dep].Imports, func(i string) bool { return i == "testing" || mayFrom(testLibraries, i) }) {
					say("%s reaches %s, which is for tests", p.ImportPath, dep)
				}
			}
		}
		if r.any {
			continue
		}
		check := func(imports, own, from []string, what string) {
			for _, path := range imports {
				switch {
				case standard(path):
				case !ours(path):
					if !mayFrom(from, path) {
						say("%s%s imports %s, which is not among what this room may use", p.ImportPath, what, path)
					}
				default:
					_, to, known := roomOf(dirOf(path))
					if known && to != key && !mayOwn(own, to) {
						say("%s%s imports %s: this arrow is not in the plan", p.ImportPath, what, path)
					}
				}
			}
		}
		own := slices.Concat(r.own, helpers)
		check(p.Imports, own, r.from, "")
		testOwn := slices.Concat(own, r.tests)
		testFrom := slices.Concat(r.from, r.tests, testLibraries)
		check(p.TestImports, testOwn, testFrom, " (test)")
		check(p.XTestImports, testOwn, testFrom, " (test)")
		if !slices.Contains(bare, key) || p.dir() != key {
			continue
		}
		for _, dep := range p.Deps {
			if slices.Contains(forbidden, dep) {
				say("%s reaches %s", p.ImportPath, dep)
			}
			if !standard(dep) && !ours(dep) && !mayFrom(r.from, dep) {
				say("%s reaches %s, which is too heavy for it", p.ImportPath, dep)
			}
		}
	}
	return bad
}

// asked keeps what the go command said: it takes seconds.
var asked struct {
	sync.Mutex
	pkgs []pkg
}

// listed asks the go command for the packages of this module.
func listed(t *testing.T) []pkg {
	t.Helper()
	asked.Lock()
	defer asked.Unlock()
	if asked.pkgs != nil {
		return asked.pkgs
	}
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Standard,Imports,TestImports,XTestImports,Deps,Error", "./...")
	cmd.Dir = top(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if err == io.EOF {
			asked.pkgs = pkgs
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestArrows(t *testing.T) {
	t.Parallel()
	pkgs := listed(t)
	if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.ImportPath == module }) {
		t.Fatalf("go list does not know %s", module)
	}
	for _, v := range violations(pkgs) {
		t.Error(v)
	}
}

// TestArrows is only as good as its eyes: each of these houses has one fault.
func TestArrowsAreSeen(t *testing.T) {
	t.Parallel()
	at := func(dir string) string { return strings.TrimSuffix(module+"/"+dir, "/") }
	for _, c := range []struct {
		name string
		pkg  pkg
		want string // "" for none
	}{
		{"as planned", pkg{ImportPath: at(""), Imports: []string{"fmt", at("event"), at("journal"), at("internal/strictjson")}}, ""},
		{"arrow turned round", pkg{ImportPath: at("event"), Imports: []string{at("journal")}}, "not in the plan"},
		{"event from the root", pkg{ImportPath: at("journal"), Imports: []string{at("")}}, "not in the plan"},
		{"a wire beyond event", pkg{ImportPath: at("wire/adk"), Imports: []string{at("")}}, "not in the plan"},
		{"siblings", pkg{ImportPath: at("wire/adk"), Imports: []string{at("wire/native")}}, "not in the plan"},
		{"inside one room", pkg{ImportPath: at("wire/adk"), Imports: []string{at("wire/adk/part")}}, ""},
		{"a provider in the root", pkg{ImportPath: at(""), Imports: []string{at("model/demo")}}, "not in the plan"},
		{"a provider in the root's tests", pkg{ImportPath: at(""), XTestImports: []string{at("model/demo")}}, ""},
		{"the loop in a provider", pkg{ImportPath: at("model/openai"), Imports: []string{at("model"), at("")}}, "not in the plan"},
		{"the loop in a provider's tests", pkg{ImportPath: at("model/openai"), XTestImports: []string{at("")}}, ""},
		{"the loop in the seam of tools", pkg{ImportPath: at("tool"), Imports: []string{at("")}}, "not in the plan"},
		{"the loop in the tools of MCP servers", pkg{ImportPath: at("tool/mcptool"), Imports: []string{at("tool"), at("")}}, "not in the plan"},
		{"the loop in the demo's tools", pkg{ImportPath: at("tool/demotool"), Imports: []string{at("tool"), at("")}}, "not in the plan"},
		{"the loop in their tests", pkg{ImportPath: at("tool/mcptool"), XTestImports: []string{at("")}}, ""},
		{"the loop in skills", pkg{ImportPath: at("skill"), Imports: []string{at("")}}, "not in the plan"},
		{"the loop in the contract of models", pkg{ImportPath: at("model/modeltest"), Imports: []string{at("")}}, "not in the plan"},
		{"the loop under the providers", pkg{ImportPath: at("model/internal/toolname"), Imports: []string{at("")}}, "not in the plan"},
		{"a provider in the leaf", pkg{ImportPath: at("model"), Imports: []string{at("model/demo")}}, "not in the plan"},
		{"grpc in the command", pkg{ImportPath: at("cmd/braid"), Deps: []string{"google.golang.org/grpc/trace"}}, "weighs too much"},
		{"a store in the root", pkg{ImportPath: at(""), Imports: []string{at("journal/sqlite")}}, "not in the plan"},
		{"the server in a test of the root", pkg{ImportPath: at(""), XTestImports: []string{at("server")}}, "not in the plan"},
		{"someone else's module", pkg{ImportPath: at("event"), Imports: []string{"github.com/google/uuid"}}, "not among"},
		{"a name that only begins alike", pkg{ImportPath: at(""), Imports: []string{"github.com/google/jsonschema-go2"}}, "not among"},
		{"a test library in the code", pkg{ImportPath: at("event"), Imports: []string{"pgregory.net/rapid"}}, "not among"},
		{"a test library in a test", pkg{ImportPath: at("event"), TestImports: []string{"pgregory.net/rapid"}}, ""},
		{"heavy by a detour", pkg{ImportPath: at(""), Deps: []string{"google.golang.org/grpc"}}, "too heavy"},
		{"HTTP by a detour", pkg{ImportPath: at("event"), Deps: []string{"net/http"}}, "reaches net/http"},
		{"a new folder", pkg{ImportPath: at("stuff/more")}, "in no room"},
		{"a test library in a command", pkg{ImportPath: at("cmd/braid"), Deps: []string{"pgregory.net/rapid"}}, "is for tests"},
		{"a command", pkg{ImportPath: at("cmd/braid"), Imports: []string{at("server"), "example.com/anything"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := violations([]pkg{c.pkg})
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want one with %q", got, c.want)
			}
		})
	}
}

// A plan that allows an arrow both ways would hold nothing.
func TestPlanHasNoCircle(t *testing.T) {
	t.Parallel()
	var visit func(path []string)
	visit = func(path []string) {
		at := path[len(path)-1]
		if slices.Contains(path[:len(path)-1], at) {
			t.Fatalf("the plan has a circle: %s", strings.Join(path, " → "))
		}
		for _, r := range rooms {
			if r.dir != at {
				continue
			}
			for _, to := range rooms {
				if mayOwn(r.own, to.dir) && to.dir != at {
					visit(append(slices.Clone(path), to.dir))
				}
			}
		}
	}
	for _, r := range rooms {
		visit([]string{r.dir})
	}
}
