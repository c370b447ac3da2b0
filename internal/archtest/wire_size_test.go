package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostWireLines bounds the lines of a wire, its encoder and its routes, with comments and blank lines. What other wires can use
// belongs in wire/story, server/front and server/stream (docs/adr/0029-wires-share-a-front.md).
const mostWireLines = 900

func TestAWireStaysSmall(t *testing.T) {
	t.Parallel()
	lines := 0
	for _, folder := range []string{"wire/agui", "server/agui"} {
		files, err := filepath.Glob(filepath.Join(top(t), folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(text), "\n")
		}
	}
	if lines == 0 || lines > mostWireLines {
		t.Errorf("AG-UI needs %d lines, at most %d are allowed", lines, mostWireLines)
	}
}
