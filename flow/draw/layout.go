package draw

import (
	"cmp"
	"slices"
)

// layout places a graph in layers, from top to bottom, after Sugiyama: it turns edges that close a cycle around, gives each
// node the layer of its longest path, sends long edges through a place in each layer between, and orders each layer by the
// mean place of its neighbours. Its cost is linear in nodes and in places of edges.
type layout struct {
	// places are the nodes, and behind them the bends of long edges.
	places []place
	// layers list the places of each layer from left to right.
	layers [][]int
	// routes are the places that each edge visits, from its start to its end.
	routes [][]int
}

// place is a node or a bend in the drawing.
type place struct {
	layer int
	// width and x are in the unit of the drawing; x is the middle.
	width, x float64
	bend     bool
	// above and below are the neighbours in the next layers.
	above, below []int
}

// sweeps is how often the layers are ordered. More changes little.
const sweeps = 4

// bendsMax bounds the places of long edges. Edges beyond it are drawn straight.
const bendsMax = 20_000

// arrange lays a graph out. width returns the width of a node's box, gap is the space between boxes.
func arrange(x *indexed, width func(Node) float64, gap float64) *layout {
	l := &layout{places: make([]place, len(x.nodes)), routes: make([][]int, len(x.edges))}
	for i, n := range x.nodes {
		l.places[i].width = width(n)
	}
	turned := backEdges(x)
	l.rank(x, turned)
	l.bend(x, turned)
	l.order()
	l.space(gap)
	return l
}

// backEdges finds the edges that close a cycle, in the order in which a walk from the first nodes meets them.
func backEdges(x *indexed) []bool {
	out := make([][]int, len(x.nodes))
	into := make([]int, len(x.nodes))
	for i, e := range x.edges {
		out[e.from] = append(out[e.from], i)
		if e.from != e.to {
			into[e.to]++
		}
	}
	turned := make([]bool, len(x.edges))
	const fresh, onPath, done = 0, 1, 2
	state, next := make([]int, len(x.nodes)), make([]int, len(x.nodes))
	walk := func(root int) {
		path := []int{root}
		state[root] = onPath
		for len(path) > 0 {
			n := path[len(path)-1]
			if next[n] == len(out[n]) {
				state[n] = done
				path = path[:len(path)-1]
				continue
			}
			e := out[n][next[n]]
			next[n]++
			switch to := x.edges[e].to; state[to] {
			case onPath:
				turned[e] = true
			case fresh:
				state[to] = onPath
				path = append(path, to)
			}
		}
	}
	for _, first := range []func(int) bool{
		func(i int) bool { return x.nodes[i].Entry }, func(i int) bool { return into[i] == 0 }, func(int) bool { return true },
	} {
		for i := range x.nodes {
			if state[i] == fresh && first(i) {
				walk(i)
			}
		}
	}
	return turned
}

// ends returns where an edge begins and ends after cycles were turned around.
func ends(e arrow, turned bool) (from, to int) {
	if turned {
		return e.to, e.from
	}
	return e.from, e.to
}

// rank gives each node the layer of its longest path.
func (l *layout) rank(x *indexed, turned []bool) {
	out, waits := make([][]int, len(x.nodes)), make([]int, len(x.nodes))
	for i, e := range x.edges {
		if e.from != e.to {
			from, to := ends(e, turned[i])
			out[from] = append(out[from], to)
			waits[to]++
		}
	}
	var todo []int
	for i := range x.nodes {
		if waits[i] == 0 {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		n := todo[0]
		todo = todo[1:]
		for _, to := range out[n] {
			l.places[to].layer = max(l.places[to].layer, l.places[n].layer+1)
			if waits[to]--; waits[to] == 0 {
				todo = append(todo, to)
			}
		}
	}
}

// bend sends each edge through the layers between its ends.
func (l *layout) bend(x *indexed, turned []bool) {
	bends := 0
	for i, e := range x.edges {
		if e.from == e.to {
			l.routes[i] = []int{e.from, e.to}
			continue
		}
		from, to := ends(e, turned[i])
		route := []int{from}
		if between := l.places[to].layer - l.places[from].layer - 1; bends+between <= bendsMax {
			bends += between
			for layer := l.places[from].layer + 1; layer < l.places[to].layer; layer++ {
				l.places = append(l.places, place{layer: layer, bend: true, width: 8})
				route = append(route, len(l.places)-1)
			}
			route = append(route, to)
			for j := 1; j < len(route); j++ {
				up, down := route[j-1], route[j]
				l.places[up].below = append(l.places[up].below, down)
				l.places[down].above = append(l.places[down].above, up)
			}
		} else {
			route = append(route, to)
		}
		if turned[i] {
			slices.Reverse(route)
		}
		l.routes[i] = route
	}
	for i := range l.places {
		for len(l.layers) <= l.places[i].layer {
			l.layers = append(l.layers, nil)
		}
		l.layers[l.places[i].layer] = append(l.layers[l.places[i].layer], i)
	}
}

// order sorts each layer by the mean place of the neighbours above, then below, and so on.
func (l *layout) order() {
	rank := make([]float64, len(l.places))
	number := func(layer []int) {
		for i, p := range layer {
			rank[p] = float64(i)
		}
	}
	for _, layer := range l.layers {
		number(layer)
	}
	sort := func(layer []int, near func(p *place) []int) {
		mean := make(map[int]float64, len(layer))
		for _, p := range layer {
			mean[p] = rank[p]
			if list := near(&l.places[p]); len(list) > 0 {
				sum := 0.0
				for _, q := range list {
					sum += rank[q]
				}
				mean[p] = sum / float64(len(list))
			}
		}
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
		number(layer)
	}
	for range sweeps {
		for _, layer := range l.layers {
			sort(layer, func(p *place) []int { return p.above })
		}
		for i := len(l.layers) - 1; i >= 0; i-- {
			sort(l.layers[i], func(p *place) []int { return p.below })
		}
	}
}

// space gives every place its x. A layer is put in the middle of the drawing.
func (l *layout) space(gap float64) {
	widest := 0.0
	widths := make([]float64, len(l.layers))
	for i, layer := range l.layers {
		for _, p := range layer {
			widths[i] += l.places[p].width + gap
		}
		widths[i] -= gap
		widest = max(widest, widths[i])
	}
	for i, layer := range l.layers {
		x := (widest - widths[i]) / 2
		for _, p := range layer {
			l.places[p].x = x + l.places[p].width/2
			x += l.places[p].width + gap
		}
	}
}

// width returns the width of the drawing.
func (l *layout) width() (w float64) {
	for i := range l.places {
		w = max(w, l.places[i].x+l.places[i].width/2)
	}
	return w
}
