package flow

// shape is the structure of a graph whose names are right: nodes and edges by number.
type shape struct {
	// out and in list the edges of each node.
	out, in [][]int
	from    []int
	to      []int
	entry   []int
}

// shapeOf resolves the names of a graph. at numbers its nodes.
func shapeOf(g *Graph, at map[string]int) *shape {
	s := &shape{
		out: make([][]int, len(g.Nodes)), in: make([][]int, len(g.Nodes)),
		from: make([]int, len(g.Edges)), to: make([]int, len(g.Edges)),
	}
	for i := range g.Edges {
		s.from[i], s.to[i] = at[g.Edges[i].From], at[g.Edges[i].To]
		s.out[s.from[i]] = append(s.out[s.from[i]], i)
		s.in[s.to[i]] = append(s.in[s.to[i]], i)
	}
	for _, name := range g.Entry {
		s.entry = append(s.entry, at[name])
	}
	if len(g.Entry) == 0 {
		for n := range g.Nodes {
			if len(s.in[n]) == 0 {
				s.entry = append(s.entry, n)
			}
		}
	}
	return s
}

// startable reports for each node whether a run can start it.
func (s *shape) startable(g *Graph) []bool {
	can, have := make([]bool, len(g.Nodes)), make([]int, len(g.Nodes))
	var todo []int
	start := func(n int) {
		if !can[n] {
			can[n] = true
			todo = append(todo, n)
		}
	}
	for _, n := range s.entry {
		start(n)
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, e := range s.out[n] {
			to := s.to[e]
			if have[to]++; have[to] >= s.needs(g, to) {
				start(to)
			}
		}
	}
	return can
}

// needs returns how many incoming edges must have brought a value before a node starts.
func (s *shape) needs(g *Graph, n int) int {
	if j := int(g.Nodes[n].FanIn); j > 0 {
		return j
	}
	return len(s.in[n])
}

// reached reports for each node whether a way of edges leads to it.
func (s *shape) reached() []bool {
	seen := make([]bool, len(s.out))
	todo := append([]int(nil), s.entry...)
	for _, n := range todo {
		seen[n] = true
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, e := range s.out[n] {
			if to := s.to[e]; !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}

// cyclic reports for each node whether it is in a cycle of nodes that keep allows. It finds the strongly connected components
// after Tarjan, without recursion.
func (s *shape) cyclic(keep func(n int) bool) []bool {
	n := len(s.out)
	in, low, index, next := make([]bool, n), make([]int, n), make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	var stack, path []int
	count := 0
	visit := func(v int) {
		count++
		index[v], low[v] = count, count
		stack, path, onStack[v] = append(stack, v), append(path, v), true
	}
	for root := range n {
		if index[root] != 0 || !keep(root) {
			continue
		}
		visit(root)
		for len(path) > 0 {
			v := path[len(path)-1]
			if next[v] < len(s.out[v]) {
				w := s.to[s.out[v][next[v]]]
				next[v]++
				switch {
				case !keep(w):
				case index[w] == 0:
					visit(w)
				case onStack[w]:
					low[v] = min(low[v], index[w])
					in[v] = in[v] || w == v
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				p := path[len(path)-1]
				low[p] = min(low[p], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			for size := 0; ; size++ {
				w := stack[len(stack)-1]
				stack, onStack[w] = stack[:len(stack)-1], false
				in[w] = in[w] || size > 0 || w != v
				if w == v {
					break
				}
			}
		}
	}
	return in
}

// structure looks for mistakes of the whole graph.
func (c *checker) structure() {
	g := c.g
	s := shapeOf(g, c.at)
	if len(s.entry) == 0 {
		c.node("", "name the first node in Entry", "every node has an incoming edge, so no node is the entry")
		return
	}
	for n := range g.Nodes {
		if j := int(g.Nodes[n].FanIn); j > len(s.in[n]) && len(s.in[n]) > 0 {
			c.node(g.Nodes[n].Name, "lower FanIn, or add edges", "FanIn waits for %d edges, and %d lead to it", j, len(s.in[n]))
		}
	}
	can, reached := s.startable(g), s.reached()
	for n := range g.Nodes {
		switch {
		case can[n]:
		case !reached[n]:
			c.node(g.Nodes[n].Name, "add an edge to it, or name it in Entry", "no entry leads to it")
		default:
			c.node(g.Nodes[n].Name, "set FanIn to flow.FanInAny", "it can never start: it waits for an edge that comes only after it")
		}
	}
	if c.list != nil {
		return
	}
	for n, in := range s.cyclic(func(n int) bool { return g.Nodes[n].Visits == 0 }) {
		if in {
			c.node(g.Nodes[n].Name, "set Visits of one node of the cycle", "it is in a cycle without a bound")
			return
		}
	}
	if !s.ends(g) {
		c.node("", "add a node without outgoing edges, or a condition", "the graph has no exit: each node leads to another one")
	}
	c.schemas(s)
}

// ends reports whether some node may end a path.
func (s *shape) ends(g *Graph) bool {
	for n := range g.Nodes {
		always := false
		for _, e := range s.out[n] {
			one := &g.Edges[e]
			always = always || one.Else || one.If.Test == nil && !one.Failed
		}
		if !always {
			return true
		}
	}
	return false
}
