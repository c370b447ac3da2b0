package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// speaking are the packages whose texts a model may read.
var speaking = []string{
	".", "internal/fold", "internal/drive", "internal/decide", "internal/compact", "internal/output", "internal/offload",
	"internal/toolset", "skill", "model/anthropic", "model/bedrock", "model/gemini", "model/openai",
}

var (
	// toModel is how the texts begin that a model reads.
	toModel = regexp.MustCompile(`^(\[[A-Z][a-z]+ |\[<> was called|\[(summarised|redacted|nothing|something|image|document|bytes|found|byte|not found)\b|\[<>: <>\]|` +
		`\[result of |\n+\[cut here|<>\n… \[|\n*Error: .|In doubt: |The tool (call )?(was|failed|<>)|The agent gave|You (write the memory|give conversations|` +
		`have more|can call these)|Give your final|Answer with JSON|Now give|That answer|Takes your|Skills say|This is the <>|<>-+\nWrite|` +
		`The oldest part|[Tt]here is no tool (called|any more)|the tool <> is not|a person refused|the state was changed by|No tool fits|` +
		`Loads a skill|\n\nFiles of this|Reads a part|state that was|artifacts that were|in doubt, it|was left behind unf|find one with|the tools are: )`)
	// variable is a part of a text that differs: a verb of package fmt, or a name in the page.
	variable  = regexp.MustCompile(`%[a-z]|<[a-z ]*>`)
	textOf    = regexp.MustCompile("^\\| `` ?(.+?) ?`` \\|")
	spaceRuns = regexp.MustCompile(`\s+`)
)

// plain makes a text comparable.
func plain(text string) string {
	text = variable.ReplaceAllString(text, "<>")
	text = strings.ReplaceAll(text, "<><>", "<>")
	return strings.TrimSpace(spaceRuns.ReplaceAllString(text, " "))
}

// The page of texts has every text of Braid's own that a model may read, word for word, and no others.
func TestThePageOfTextsIsComplete(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	for _, dir := range speaking {
		files, err := filepath.Glob(filepath.Join(top(t), dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		if dir == "." {
			files = append(files, filepath.Join(top(t), "service", "title_generator.go"))
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				textsIn(t, name, said)
			}
		}
	}
	if len(said) < 30 {
		t.Fatalf("only %d texts are found", len(said))
	}
	var shown []string
	for line := range strings.Lines(read(t, "docs/guide/texts.md")) {
		if m := textOf.FindStringSubmatch(line); m != nil {
			shown = append(shown, plain(strings.ReplaceAll(m[1], `\n`, "\n")))
		}
	}
	for text, where := range said {
		if !slices.Contains(shown, text) {
			t.Errorf("the page does not have the text of %s:\n%s", where, text)
		}
	}
	for _, text := range shown {
		if said[text] == "" {
			t.Errorf("nobody says what the page has:\n%s", text)
		}
	}
}

// textsIn collects the texts of a file that a model may read.
func textsIn(t *testing.T, name string, said map[string]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(top(t), name)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, constant := written(e)
		if !constant {
			return true
		}
		if text = variable.ReplaceAllString(text, "<>"); toModel.MatchString(text) {
			said[plain(text)] = filepath.ToSlash(rel)
		}
		return false
	})
}

// written is the text of an expression, with <> for what is not constant. It reports false for an expression that is
// neither a string nor a sum that begins with one.
func written(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		a, constant := written(e.X)
		if e.Op != token.ADD {
			return "", false
		}
		b, ok := written(e.Y)
		switch {
		case !constant && !ok:
			return "", false
		case !constant:
			a = "<>"
		case !ok:
			b = "<>"
		}
		return a + b, true
	case *ast.ParenExpr:
		return written(e.X)
	}
	return "", false
}
