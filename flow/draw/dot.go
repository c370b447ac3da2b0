package draw

import (
	"fmt"
	"strings"
)

// DOT returns the graph in Graphviz's language. Nodes that ran are filled, and edges that were taken are bold.
func (g *Graph) DOT() string {
	x := g.index()
	var w strings.Builder
	w.WriteString("digraph " + quoteDOT(g.Name) + " {\n\trankdir=TB;\n\tnode [fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\"];\n")
	for i, n := range x.nodes {
		fmt.Fprintf(&w, "\tn%d [label=%s, %s];\n", i, quoteDOT(label(n)), shapeDOT(n))
	}
	for _, e := range x.edges {
		fmt.Fprintf(&w, "\tn%d -> n%d", e.from, e.to)
		var attrs []string
		if e.Label != "" {
			attrs = append(attrs, "label="+quoteDOT(e.Label))
		}
		if e.Taken > 0 {
			attrs = append(attrs, `color="`+colourTaken+`"`, "penwidth=2.5")
		}
		if len(attrs) > 0 {
			w.WriteString(" [" + strings.Join(attrs, ", ") + "]")
		}
		w.WriteString(";\n")
	}
	w.WriteString("}\n")
	return w.String()
}

// label returns the text of a node: its name and, after several visits, their number.
func label(n Node) string {
	if n.Visits > 1 {
		return fmt.Sprintf("%s ×%d", text(n.Name), n.Visits)
	}
	return text(n.Name)
}

func shapeDOT(n Node) string {
	shape, style := "box", ""
	switch n.Shape {
	case Function:
	case Question:
		shape = "diamond"
	case Group:
		style = "peripheries=2, "
	default:
		shape = "box"
		style = ""
	}
	styles := []string{}
	if n.Shape == "" || n.Shape == Agent {
		styles = append(styles, "rounded")
	}
	fill := fillOf(n)
	if fill != "" {
		styles = append(styles, "filled")
	}
	if n.Entry {
		styles = append(styles, "bold")
	}
	s := "shape=" + shape + ", " + style
	if len(styles) > 0 {
		s += `style="` + strings.Join(styles, ",") + `", `
	}
	if fill != "" {
		s += `fillcolor="` + fill + `", `
	}
	return strings.TrimSuffix(s, ", ")
}

// quoteDOT quotes a text for dot. In a quoted text only the quote and the backslash are special.
func quoteDOT(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text(s)) + `"`
}

// The colours of a path.
const (
	colourTaken = "#1a7f37"
	fillDone    = "#dafbe1"
	fillRunning = "#fff8c5"
	fillFailed  = "#ffebe9"
)

// fillOf returns the colour of a node that ran; empty for one that did not.
func fillOf(n Node) string {
	switch {
	case n.Visits == 0:
		return ""
	case n.State == Failed:
		return fillFailed
	case n.State == Running:
		return fillRunning
	default:
		return fillDone
	}
}
