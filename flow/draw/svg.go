package draw

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The sizes of a drawing, in pixels.
const (
	letterWidth = 7.5
	boxPadding  = 24
	boxHeight   = 36
	boxGap      = 36
	layerGap    = 56
	margin      = 24
)

// SVG returns the graph as one SVG image without scripts, links and fonts of its own. Nodes that ran are filled, and edges
// that were taken are thick.
func (g *Graph) SVG() string {
	x := g.index()
	l := arrange(&x, boxWidth, boxGap)
	title := 0.0
	if g.Name != "" {
		title = 28
	}
	loops := 0.0
	for _, e := range x.edges {
		if e.from == e.to {
			loops = 48 // space for the arrow beside the last box
		}
	}
	p := &pen{l: l, top: margin + title}
	width := l.width() + loops + 2*margin
	height := p.top + float64(len(l.layers))*(boxHeight+layerGap) - layerGap + margin
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f"`+
		` font-family="sans-serif" font-size="13">`+"\n", width, max(height, p.top+margin), width, max(height, p.top+margin))
	p.write(`<defs>`)
	p.marker("arrow", "#57606a")
	p.marker("taken", colourTaken)
	p.write("</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n")
	if g.Name != "" {
		fmt.Fprintf(p, `<text x="%d" y="%d" font-weight="bold" fill="#24292f">%s</text>`+"\n", margin, margin+8, html.EscapeString(text(g.Name)))
	}
	for i, e := range x.edges {
		p.edge(e, l.routes[i])
	}
	for i, n := range x.nodes {
		p.node(n, &l.places[i])
	}
	p.write("</svg>\n")
	return p.String()
}

func boxWidth(n Node) float64 {
	w := float64(utf8.RuneCountInString(label(n)))*letterWidth + boxPadding
	if n.Shape == Question {
		w += boxHeight
	}
	return max(w, 64)
}

// pen writes an image.
type pen struct {
	strings.Builder

	l   *layout
	top float64
}

func (p *pen) write(s string) { p.WriteString(s) }

// marker defines the head of an arrow.
func (p *pen) marker(id, colour string) {
	fmt.Fprintf(p, `<marker id="%s" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">`+
		`<path d="M0 0L10 5L0 10z" fill="%s"/></marker>`, id, colour)
}

// at returns the middle of a place.
func (p *pen) at(n int) (x, y float64) {
	one := &p.l.places[n]
	return margin + one.x, p.top + float64(one.layer)*(boxHeight+layerGap) + boxHeight/2
}

// node draws a box and its name.
func (p *pen) node(n Node, at *place) {
	x, y := margin+at.x, p.top+float64(at.layer)*(boxHeight+layerGap)+boxHeight/2
	w, h := at.width, float64(boxHeight)
	fill, stroke := fillOf(n), "#57606a"
	switch {
	case fill == "":
		fill = "#f6f8fa"
	case n.State == Failed:
		stroke = "#cf222e"
	default:
		stroke = colourTaken
	}
	thick := 1.0
	if n.Entry {
		thick = 2.5
	}
	style := fmt.Sprintf(`fill="%s" stroke="%s" stroke-width="%g"`, fill, stroke, thick)
	p.write("<g>")
	switch n.Shape {
	case Question:
		fmt.Fprintf(p, `<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fz" %s/>`, x-w/2, y, x, y-h/2-4, x+w/2, y, x, y+h/2+4, style)
	case Function:
		fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" %s/>`, x-w/2, y-h/2, w, h, style)
	case Group:
		fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" %s/>`, x-w/2, y-h/2, w, h, style)
		fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="%s"/>`, x-w/2+3, y-h/2+3, w-6, h-6, stroke)
	default:
		fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="10" %s/>`, x-w/2, y-h/2, w, h, style)
	}
	fmt.Fprintf(p, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#24292f">%s</text></g>`+"\n", x, y+4.5, html.EscapeString(label(n)))
}

// edge draws an arrow through the places of its route.
func (p *pen) edge(e arrow, route []int) {
	colour, width, head := "#57606a", 1.2, "arrow"
	if e.Taken > 0 {
		colour, width, head = colourTaken, 2.8, "taken"
	}
	var d strings.Builder
	var labelX, labelY float64
	if e.from == e.to {
		x, y := p.at(e.from)
		x += p.l.places[e.from].width / 2
		fmt.Fprintf(&d, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x, y-8, x+36, y-20, x+36, y+20, x, y+8)
		labelX, labelY = x+20, y-18
	} else {
		labelX, labelY = p.curve(&d, route)
	}
	fmt.Fprintf(p, `<path d="%s" fill="none" stroke="%s" stroke-width="%g" marker-end="url(#%s)"/>`+"\n", d.String(), colour, width, head)
	if e.Label != "" {
		fmt.Fprintf(p, `<text x="%.1f" y="%.1f" text-anchor="middle" font-size="11" fill="%s" stroke="#ffffff" stroke-width="3"`+
			` paint-order="stroke">%s</text>`+"\n", labelX, labelY, colour, html.EscapeString(text(e.Label)))
	}
}

// curve writes the path of an edge, and returns where its label stands.
func (p *pen) curve(d *strings.Builder, route []int) (labelX, labelY float64) {
	down := p.l.places[route[0]].layer < p.l.places[route[len(route)-1]].layer
	side := float64(boxHeight) / 2
	if !down {
		side = -side
	}
	x, y := p.at(route[0])
	y += side
	fmt.Fprintf(d, "M%.1f %.1f", x, y)
	for i := 1; i < len(route); i++ {
		toX, toY := p.at(route[i])
		if i == len(route)-1 {
			toY -= side
		}
		half := (toY - y) / 2
		fmt.Fprintf(d, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, y+half, toX, toY-half, toX, toY)
		if i == 1 {
			labelX, labelY = (x+toX)/2, y+half
		}
		x, y = toX, toY
	}
	return labelX, labelY
}
