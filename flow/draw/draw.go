// Package draw draws graphs of agents: as Graphviz's dot, as Mermaid, and as SVG. It marks the path that a run took.
//
// The output depends on the [Graph] alone, so equal graphs give equal bytes. Names may hold any text: each form escapes it.
// The functions keep nothing and are safe for concurrent use as long as nobody changes the graph.
package draw

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Graph is what is drawn.
type Graph struct {
	// Name is the title; empty for none.
	Name string
	// Nodes are drawn in this order where the edges leave a choice. Of two nodes with one name the first counts.
	Nodes []Node
	// Edges lead from node to node. An edge with an unknown end is not drawn.
	Edges []Edge
}

// Node is a box.
type Node struct {
	// Name identifies the node, and is its text.
	Name string
	// Shape says what the node does; [Agent] if it is empty.
	Shape Shape
	// Entry marks a node with which a run begins.
	Entry bool
	// Visits counts how often the node ran; 0 means that it did not.
	Visits int
	// State says how its last visit went. It is drawn only if Visits is not 0.
	State State
}

// Shape is the form of a box.
type Shape string

// The shapes.
const (
	// Agent is a box with round corners.
	Agent Shape = "agent"
	// Function is a box.
	Function Shape = "function"
	// Question is a diamond.
	Question Shape = "question"
	// Group is a box with a double border: a graph, a map, another flow.
	Group Shape = "group"
)

// State is how a node's last visit went.
type State string

// The states.
const (
	Done    State = "done"
	Running State = "running"
	Failed  State = "failed"
)

// Edge is an arrow.
type Edge struct {
	From, To string
	// Label is its text, such as a condition; empty for none.
	Label string
	// Taken counts how often a run took the edge.
	Taken int
}

// longestText bounds a text in a drawing, in characters.
const longestText = 48

// text returns one line of at most [longestText] characters, without control characters.
func text(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, !unicode.IsPrint(r) && !unicode.IsSpace(r):
			return '?'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
	if n := utf8.RuneCountInString(s); n > longestText {
		runes := []rune(s)
		return string(runes[:longestText-1]) + "…"
	}
	return s
}

// indexed is a graph whose edges point to nodes by number.
type indexed struct {
	nodes []Node
	edges []arrow
}

// arrow is an edge between known nodes.
type arrow struct {
	Edge

	from, to int
}

// index resolves the names of a graph.
func (g *Graph) index() indexed {
	var x indexed
	at := make(map[string]int, len(g.Nodes))
	for _, n := range g.Nodes {
		if _, twice := at[n.Name]; !twice {
			at[n.Name] = len(x.nodes)
			x.nodes = append(x.nodes, n)
		}
	}
	for _, e := range g.Edges {
		from, known := at[e.From]
		to, both := at[e.To]
		if known && both {
			x.edges = append(x.edges, arrow{e, from, to})
		}
	}
	return x
}
