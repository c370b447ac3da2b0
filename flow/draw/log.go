package draw

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// Log collects the graphs of a run from its events, with the path that the run took. The zero value is ready. It is not safe for
// concurrent use.
type Log struct {
	run    string
	scopes map[string]*scope
	order  []*scope
	// parents are the scopes whose node a scope is.
	parents map[string]*scope
	// agent is the agent of the run.
	agent string
}

// scope is an agent's work that may be a graph.
type scope struct {
	agent    string
	outline  *Outline
	children map[string]string // node by the id of the child
	nodes    map[string]*Node
	seen     []string
	// ended counts the ends of each node without an error, decided the decisions by name.
	ended   map[string]int
	decided map[string][]string
	failed  map[string]int
}

// Outline is what a graph writes to the log of its definition, as the decision of the name [OutlineName].
type Outline struct {
	Nodes []OutlineNode `json:"nodes"`
	Edges []OutlineEdge `json:"edges,omitempty"`
}

// OutlineNode is a node of an [Outline].
type OutlineNode struct {
	Name  string `json:"name"`
	Shape Shape  `json:"shape,omitempty"`
	Entry bool   `json:"entry,omitempty"`
}

// OutlineEdge is an edge of an [Outline].
type OutlineEdge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Label string `json:"label,omitempty"`
	// Failed says that the edge is taken after an error.
	Failed bool `json:"failed,omitempty"`
}

const (
	// OutlineName is the name of the decision that holds the outline.
	OutlineName = "graph"
	// EdgesPrefix begins the name of the decision which edges of a node are taken. The number of the node's end, a space and
	// the name of the node follow. Its value lists the names of the nodes that the edges lead to.
	EdgesPrefix = "edges "
)

// EdgesName returns the name of the decision about the edges of a node after its number-th end without an error.
func EdgesName(node string, number int) string {
	return EdgesPrefix + strconv.Itoa(number) + " " + node
}

// Add takes an event. Events of another run begin anew: the newest run counts.
func (l *Log) Add(e *event.Event) {
	if e.Run != l.run || l.scopes == nil {
		*l = Log{run: e.Run, scopes: map[string]*scope{}, parents: map[string]*scope{}}
	}
	switch b := e.Body.(type) {
	case *event.RunStarted:
		l.agent = b.Agent
	case *event.ScopeOpened:
		l.at(b.ID, b.Agent)
		if b.Call == "" && b.Node != "" {
			l.parents[b.ID] = l.at(b.Parent, "")
			l.parents[b.ID].open(b)
		}
	case *event.ScopeClosed:
		if s := l.parents[b.ID]; s != nil {
			s.close(s.children[b.ID], b.Err != nil)
		}
	case *event.Decided:
		l.at(e.Scope, "").decide(b)
	}
}

// at returns a scope.
func (l *Log) at(id, agent string) *scope {
	s := l.scopes[id]
	if s == nil {
		if id == "" {
			agent = l.agent
		}
		s = &scope{
			agent: agent, children: map[string]string{}, nodes: map[string]*Node{}, ended: map[string]int{}, decided: map[string][]string{},
			failed: map[string]int{},
		}
		l.scopes[id] = s
		l.order = append(l.order, s)
	}
	return s
}

func (s *scope) open(b *event.ScopeOpened) {
	s.children[b.ID] = b.Node
	n := s.nodes[b.Node]
	if n == nil {
		n = &Node{Name: b.Node}
		s.nodes[b.Node] = n
		s.seen = append(s.seen, b.Node)
	}
	n.Visits++
	n.State = Running
}

func (s *scope) close(node string, failed bool) {
	if n := s.nodes[node]; failed {
		n.State = Failed
		s.failed[node]++
	} else {
		n.State = Done
		s.ended[node]++
	}
}

func (s *scope) decide(b *event.Decided) {
	switch {
	case b.Name == OutlineName:
		var o Outline
		if json.Unmarshal(b.Value, &o) == nil && len(o.Nodes) > 0 {
			s.outline = &o
		}
	case strings.HasPrefix(b.Name, EdgesPrefix):
		var to []string
		if json.Unmarshal(b.Value, &to) == nil {
			s.decided[b.Name] = to
		}
	}
}

// Graphs returns the graphs of the newest run, the outermost first, in the order in which they began.
func (l *Log) Graphs() (list []*Graph) {
	for _, s := range l.order {
		if s.outline != nil {
			list = append(list, s.graph())
		}
	}
	return list
}

// graph returns the drawing of a scope.
func (s *scope) graph() *Graph {
	g := &Graph{Name: s.agent}
	for _, n := range s.outline.Nodes {
		one := Node{Name: n.Name, Shape: n.Shape, Entry: n.Entry}
		if ran := s.nodes[n.Name]; ran != nil {
			one.Visits, one.State = ran.Visits, ran.State
		}
		g.Nodes = append(g.Nodes, one)
	}
	for _, name := range s.seen {
		if !slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Name == name }) {
			g.Nodes = append(g.Nodes, *s.nodes[name]) // a definition that the run had later
		}
	}
	for _, e := range s.outline.Edges {
		g.Edges = append(g.Edges, Edge{From: e.From, To: e.To, Label: e.Label, Taken: s.taken(&e)})
	}
	return g
}

// taken counts how often an edge was taken.
func (s *scope) taken(e *OutlineEdge) (taken int) {
	if e.Failed {
		if n := s.nodes[e.To]; n != nil && s.failed[e.From] > 0 {
			taken = 1
		}
		return taken
	}
	for number := 1; number <= s.ended[e.From]; number++ {
		to, decided := s.decided[EdgesName(e.From, number)]
		if !decided || slices.Contains(to, e.To) {
			taken++
		}
	}
	return taken
}
