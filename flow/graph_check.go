package flow

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
)

// The bounds of a definition.
const (
	maxNodes    = 10_000
	maxEdges    = 100_000
	longestName = 128
)

// Problem is a mistake in a definition.
type Problem struct {
	// Node is the name of the node at fault; empty for none.
	Node string
	// Edge is the number of the edge at fault, from 1; 0 for none.
	Edge int
	// Message says what is wrong, and Hint what to do.
	Message, Hint string
}

// Check returns the first mistake of the definition as an error of kind [event.ErrInvalid] that names the place; nil if there is
// none. [Graph.Agent] checks too.
func (g Graph) Check() error {
	list := g.Problems()
	if len(list) == 0 {
		return nil
	}
	p := &list[0]
	message := p.Message
	switch {
	case p.Edge > 0:
		e := &g.Edges[p.Edge-1]
		message = fmt.Sprintf("edge %d (%q to %q): %s", p.Edge, e.From, e.To, message)
	case p.Node != "":
		message = fmt.Sprintf("node %q: %s", p.Node, message)
	}
	return &event.Error{Op: "graph " + g.Name, Kind: event.ErrInvalid, Message: message, Hint: p.Hint}
}

// Problems returns the mistakes of the definition. Mistakes of the structure are looked for once names are right.
func (g Graph) Problems() []Problem {
	c := checker{g: &g, at: make(map[string]int, len(g.Nodes))}
	c.sizes()
	if c.list == nil {
		c.nodes()
		c.edges()
		c.names()
	}
	if c.list == nil {
		c.structure()
	}
	return c.list
}

// checker collects mistakes.
type checker struct {
	g    *Graph
	at   map[string]int
	list []Problem
}

func (c *checker) node(name, hint, format string, args ...any) {
	c.list = append(c.list, Problem{Node: name, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (c *checker) edge(i int, hint, format string, args ...any) {
	c.list = append(c.list, Problem{Edge: i + 1, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (c *checker) sizes() {
	switch {
	case len(c.g.Nodes) == 0:
		c.node("", "add a node", "the graph has no nodes")
	case len(c.g.Nodes) > maxNodes:
		c.node("", "use a map for many items", "the graph has %d nodes; it may have %d", len(c.g.Nodes), maxNodes)
	case len(c.g.Edges) > maxEdges:
		c.node("", "remove edges", "the graph has %d edges; it may have %d", len(c.g.Edges), maxEdges)
	case c.g.Parallel < 0:
		c.node("", "use 0 for no bound", "Parallel is negative")
	}
}

// nodes checks each node for itself.
func (c *checker) nodes() {
	for i := range c.g.Nodes {
		n := &c.g.Nodes[i]
		if _, twice := c.at[n.Name]; twice {
			c.node(n.Name, "give each node a name of its own", "two nodes have this name")
			continue
		}
		c.at[n.Name] = i
		if wrong := wrongName(n.Name); wrong != "" {
			c.node(n.Name, "use a short printable name", "%s", wrong)
		}
		c.work(n)
		switch {
		case n.FanIn < 0:
			c.node(n.Name, "use flow.FanInAll, flow.FanInAny or flow.FanInAtLeast", "FanIn is negative")
		case n.Visits < 0, n.Retries < 0, n.Timeout < 0, n.RetryWait < 0:
			c.node(n.Name, "use 0 for the default", "Visits, Retries, RetryWait or Timeout is negative")
		case n.Retries > maxRetries:
			c.node(n.Name, fmt.Sprintf("use at most %d", maxRetries), "it has %d retries", n.Retries)
		case !slices.Contains([]Feed{"", FeedTaskAndOutputs, FeedOutputs, FeedTask}, n.Feed):
			c.node(n.Name, "use flow.FeedTaskAndOutputs, flow.FeedOutputs or flow.FeedTask", "there is no feed %q", string(n.Feed))
		case n.Feed != "" && n.Input != nil:
			c.node(n.Name, "remove one of them", "it has both Feed and Input")
		}
		for _, s := range []struct {
			name string
			raw  []byte
		}{{"In", n.In}, {"Out", n.Out}} {
			if wrong := wrongSchema(s.raw); wrong != "" {
				c.node(n.Name, "declare a JSON schema", "%s %s", s.name, wrong)
			}
		}
	}
}

// maxRetries bounds the retries of a node.
const maxRetries = 100

// work checks what a node does.
func (c *checker) work(n *Node) {
	kinds := 0
	for _, is := range []bool{n.Agent != nil, n.Tool != nil, n.Ask != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		c.node(n.Name, "set exactly one of Agent, Tool and Ask", "it has %d of Agent, Tool and Ask", kinds)
	case n.Agent != nil && n.Agent.Err() != nil:
		c.node(n.Name, "correct the agent", "its agent is not usable: %v", n.Agent.Err())
	case n.Agent != nil && n.Agent.Name() == c.g.Name:
		c.node(n.Name, "rename the agent or the graph", "its agent has the name of the graph")
	case n.Ask != nil && strings.TrimSpace(n.Ask.Text) == "":
		c.node(n.Name, "say what to ask", "its question is empty")
	case n.Ask != nil && wrongSchema(n.Ask.Schema) != "":
		c.node(n.Name, "declare a JSON schema", "the schema of its question %s", wrongSchema(n.Ask.Schema))
	}
	for i := range c.g.Nodes {
		if o := &c.g.Nodes[i]; o == n {
			break
		} else if n.Agent != nil && o.Agent != nil && n.Agent != o.Agent && n.Agent.Name() == o.Agent.Name() {
			c.node(n.Name, "rename one of them", "another agent called %q works in node %q", o.Agent.Name(), o.Name)
			break
		}
	}
}

func wrongName(name string) string {
	switch {
	case name == "":
		return "a node has no name"
	case len(name) > longestName:
		return fmt.Sprintf("the name is longer than %d bytes", longestName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "the name has characters that cannot be printed"
	}
	return ""
}

// edges checks each edge for itself.
func (c *checker) edges() {
	type pair struct{ from, to string }
	seen := make(map[pair]bool, len(c.g.Edges))
	elses := make(map[string]bool)
	conditions := make(map[string]bool)
	for i := range c.g.Edges {
		conditions[c.g.Edges[i].From] = conditions[c.g.Edges[i].From] || c.g.Edges[i].If.Test != nil
	}
	for i := range c.g.Edges {
		e := &c.g.Edges[i]
		for _, name := range []string{e.From, e.To} {
			if _, known := c.at[name]; !known {
				c.edge(i, "add the node or correct the name", "there is no node %q", name)
			}
		}
		if seen[pair{e.From, e.To}] {
			c.edge(i, "join their conditions in one edge", "there is another edge between these nodes")
		}
		seen[pair{e.From, e.To}] = true
		switch {
		case e.Else && e.If.Test != nil, e.Failed && (e.Else || e.If.Test != nil):
			c.edge(i, "set one of them", "If, Else and Failed exclude each other")
		case e.If.Test == nil && e.If.Label != "":
			c.edge(i, "set Test", "its condition has a label and no test")
		case e.Else && elses[e.From]:
			c.edge(i, "keep one", "node %q has two edges with Else", e.From)
		case e.Else && !conditions[e.From]:
			c.edge(i, "remove Else, or add an edge with If", "no other edge of node %q has a condition", e.From)
		}
		elses[e.From] = elses[e.From] || e.Else
	}
}

// names checks the lists of nodes.
func (c *checker) names() {
	for _, l := range []struct {
		what string
		list []string
	}{{"Entry", c.g.Entry}, {"Answer", c.g.Answer}} {
		for i, name := range l.list {
			switch _, known := c.at[name]; {
			case !known:
				c.node("", "add the node or correct the name", "%s names the node %q, which does not exist", l.what, name)
			case slices.Contains(l.list[:i], name):
				c.node(name, "name it once", "%s names it twice", l.what)
			}
		}
	}
}
