package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// heavy lists what the command was freed of: each cost it a megabyte, a millisecond of every start, or both, and what was
// used of it is ours now (docs/adr/0018-vendors-sdks-only-in-tests.md). Tests use some of them to compare with.
var heavy = []string{
	"google.golang.org/grpc", "google.golang.org/protobuf", "github.com/prometheus/client_golang", "github.com/tink-crypto/tink-go",
	"github.com/pressly/goose", "text/template", "html/template", "expvar", "github.com/anthropics/anthropic-sdk-go", "github.com/openai/openai-go",
	"google.golang.org/genai", "github.com/aws/aws-sdk-go-v2/service/bedrockruntime", "github.com/aws/aws-sdk-go-v2/service/bedrockagentcore",
}

// early lists calls that a package must not make while the program starts: they take long, and most commands do not need
// what they give. internal/lazyre makes expressions when they are used, sync.OnceValue anything else.
var early = map[string]string{
	"regexp.MustCompile": "use internal/lazyre", "regexp.MustCompilePOSIX": "use internal/lazyre", "rand.Text": "the first random bytes of a process take time",
	"rand.Read": "the first random bytes of a process take time", "yaml.Unmarshal": "parse it when it is used", "json.Unmarshal": "parse it when it is used",
}

// No package that the command is made of does long work while the program starts. braid version must answer at once, and every
// other command starts in the same way.
func TestNothingLongHappensBeforeMain(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range listed(t) {
		if p.dir() != "cmd/braid" {
			continue
		}
		for _, path := range append([]string{p.ImportPath}, p.Deps...) {
			if !ours(path) {
				continue
			}
			seen++
			folder := filepath.Join(top(t), filepath.FromSlash(dirOf(path)))
			files, err := filepath.Glob(filepath.Join(folder, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				src, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, found := range earlyCalls(t, src) {
					t.Errorf("%s/%s calls %s before main: %s", dirOf(path), filepath.Base(file), found, early[found])
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d packages were looked at", seen)
	}
}

// earlyCalls lists the calls that the package-level variables of a file make.
func earlyCalls(t *testing.T, src []byte) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // which may be called later; one that is called at once is looked into below
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.FuncLit); ok {
				found = append(found, callsIn(f.Body)...)
			}
			found = append(found, named(n)...)
		}
		return true
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				ast.Inspect(d, look)
			}
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				found = append(found, callsIn(d.Body)...)
			}
		}
	}
	return found
}

func callsIn(body *ast.BlockStmt) (found []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			found = append(found, named(call)...)
		}
		return true
	})
	return found
}

// named gives the call's name if it is one of the early ones.
func named(call *ast.CallExpr) []string {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	of, ok := f.X.(*ast.Ident)
	if !ok || early[of.Name+"."+f.Sel.Name] == "" {
		return nil
	}
	return []string{of.Name + "." + f.Sel.Name}
}

func TestEarlyCallsAreFound(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]int{
		`var a = regexp.MustCompile("a")`:                                          1,
		"var (\na = &T{Name: regexp.MustCompile(`a`)}\nb = \"x\" + rand.Text()\n)": 2,
		`var a = func() string { return rand.Text() }()`:                           1,
		`var a = sync.OnceValue(func() string { return rand.Text() })`:             0,
		`func init() { _ = regexp.MustCompile("a") }`:                              1,
		`func f() { _ = regexp.MustCompile("a") }`:                                 0,
		`var a = lazyre.New("a")`:                                                  0,
	} {
		if got := earlyCalls(t, []byte("package x\n"+src)); len(got) != want {
			t.Errorf("%s: %q", src, got)
		}
	}
}
