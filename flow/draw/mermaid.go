package draw

import (
	"fmt"
	"strconv"
	"strings"
)

// Mermaid returns the graph as a Mermaid flowchart, for Markdown and wikis. Nodes that ran have a class, and edges that were
// taken are thick.
func (g *Graph) Mermaid() string {
	x := g.index()
	var w strings.Builder
	if g.Name != "" {
		w.WriteString("---\ntitle: " + strconv.Quote(text(g.Name)) + "\n---\n")
	}
	w.WriteString("flowchart TD\n")
	used := map[string]bool{}
	for i, n := range x.nodes {
		open, end := bracketsOf(n.Shape)
		fmt.Fprintf(&w, "    n%d%s\"%s\"%s", i, open, escapeMermaid(label(n)), end)
		if class := classOf(n); class != "" {
			w.WriteString(":::" + class)
			used[class] = true
		}
		w.WriteString("\n")
	}
	for _, e := range x.edges {
		line := "-->"
		if e.Taken > 0 {
			line = "==>"
		}
		if e.Label != "" {
			line += "|\"" + escapeMermaid(text(e.Label)) + "\"|"
		}
		fmt.Fprintf(&w, "    n%d %s n%d\n", e.from, line, e.to)
	}
	for _, c := range []struct{ name, fill string }{{"done", fillDone}, {"running", fillRunning}, {"failed", fillFailed}} {
		if used[c.name] {
			fmt.Fprintf(&w, "    classDef %s fill:%s,stroke:%s\n", c.name, c.fill, colourTaken)
		}
	}
	return w.String()
}

func bracketsOf(s Shape) (open, end string) {
	switch s {
	case Function:
		return "[", "]"
	case Question:
		return "{", "}"
	case Group:
		return "[[", "]]"
	default:
		return "(", ")"
	}
}

func classOf(n Node) string {
	switch {
	case n.Visits == 0:
		return ""
	case n.State == Failed:
		return "failed"
	case n.State == Running:
		return "running"
	default:
		return "done"
	}
}

// escapeMermaid writes everything but letters, digits and harmless marks as a character reference, because Mermaid also reads
// HTML and Markdown in a quoted text.
func escapeMermaid(s string) string {
	var w strings.Builder
	for _, r := range s {
		if r < 0x80 && !strings.ContainsRune(" .,:-_/?!()=+", r) && !isWord(r) {
			fmt.Fprintf(&w, "#%d;", r)
			continue
		}
		w.WriteRune(r)
	}
	return w.String()
}

func isWord(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
