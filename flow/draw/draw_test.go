package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func review() *Graph {
	return &Graph{
		Name: "review",
		Nodes: []Node{
			{Name: "draft", Entry: true, Visits: 2, State: Done},
			{Name: "check", Shape: Question, Visits: 2, State: Done},
			{Name: "publish", Shape: Function, Visits: 1, State: Failed},
			{Name: "archive", Shape: Group},
		},
		Edges: []Edge{
			{From: "draft", To: "check", Taken: 2},
			{From: "check", To: "draft", Label: `contains "no"`, Taken: 1},
			{From: "check", To: "publish", Label: "else", Taken: 1},
			{From: "publish", To: "archive"},
			{From: "draft", To: "nowhere"},
		},
	}
}

func TestDOT(t *testing.T) {
	t.Parallel()
	want := `digraph "review" {
	rankdir=TB;
	node [fontname="sans-serif"];
	edge [fontname="sans-serif"];
	n0 [label="draft ×2", shape=box, style="rounded,filled,bold", fillcolor="#dafbe1"];
	n1 [label="check ×2", shape=diamond, style="filled", fillcolor="#dafbe1"];
	n2 [label="publish", shape=box, style="filled", fillcolor="#ffebe9"];
	n3 [label="archive", shape=box, peripheries=2];
	n0 -> n1 [color="#1a7f37", penwidth=2.5];
	n1 -> n0 [label="contains \"no\"", color="#1a7f37", penwidth=2.5];
	n1 -> n2 [label="else", color="#1a7f37", penwidth=2.5];
	n2 -> n3;
}
`
	if got := review().DOT(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestMermaid(t *testing.T) {
	t.Parallel()
	want := `---
title: "review"
---
flowchart TD
    n0("draft ×2"):::done
    n1{"check ×2"}:::done
    n2["publish"]:::failed
    n3[["archive"]]
    n0 ==> n1
    n1 ==>|"contains #34;no#34;"| n0
    n1 ==>|"else"| n2
    n2 --> n3
    classDef done fill:#dafbe1,stroke:#1a7f37
    classDef failed fill:#ffebe9,stroke:#1a7f37
`
	if got := review().Mermaid(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// elements counts the elements of an image, and fails where it is not well formed.
func elements(image string) (count map[string]int, err error) {
	count = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(image))
	for {
		switch token, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return count, nil
		case err != nil:
			return nil, err
		default:
			if e, ok := token.(xml.StartElement); ok {
				count[e.Name.Local]++
				for _, a := range e.Attr {
					if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
						return nil, fmt.Errorf("an attribute %s", a.Name.Local)
					}
				}
			}
		}
	}
}

func TestSVG(t *testing.T) {
	t.Parallel()
	image := review().SVG()
	count, err := elements(image)
	if err != nil || count["g"] != 4 || count["text"] != 4+1+2 || count["script"] != 0 {
		t.Errorf("%v, %v\n%s", count, err, image)
	}
	if n := strings.Count(image, "url(#taken)"); n != 3 {
		t.Errorf("%d edges are marked", n)
	}
}

// Names may hold any text, and every graph can be drawn: each form stays well formed, and equal graphs give equal bytes.
func TestAnyGraphIsDrawn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := &Graph{Name: rapid.String().Draw(t, "name")}
		n := rapid.IntRange(0, 12).Draw(t, "nodes")
		for i := range n {
			name := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
				`"];evil [label="`, "</text><script>", "a\\", "]\"; n1", "\x00\n", strings.Repeat("long ", 40), "%%{init}%%",
			})).Draw(t, "node")
			g.Nodes = append(g.Nodes, Node{
				Name: fmt.Sprint(i, name), Shape: rapid.SampledFrom([]Shape{"", Agent, Function, Question, Group, "other"}).Draw(t, "shape"),
				Visits: rapid.IntRange(0, 2).Draw(t, "visits"), State: rapid.SampledFrom([]State{Done, Running, Failed}).Draw(t, "state"),
			})
		}
		for range rapid.IntRange(0, 24).Draw(t, "edges") {
			if n == 0 {
				break
			}
			g.Edges = append(g.Edges, Edge{
				From: g.Nodes[rapid.IntRange(0, n-1).Draw(t, "from")].Name, To: g.Nodes[rapid.IntRange(0, n-1).Draw(t, "to")].Name,
				Label: rapid.String().Draw(t, "label"), Taken: rapid.IntRange(0, 1).Draw(t, "taken"),
			})
		}
		count, err := elements(g.SVG())
		if err != nil || count["g"] != n || count["script"] != 0 {
			t.Fatalf("%v, %v\n%s", count, err, g.SVG())
		}
		for i, line := range strings.Split(g.DOT(), "\n") {
			if quotes := strings.Count(strings.NewReplacer(`\\`, "", `\"`, "").Replace(line), `"`); quotes%2 != 0 {
				t.Fatalf("line %d of dot has a loose quote: %s", i, line)
			}
		}
		body := g.Mermaid()
		if i := strings.Index(body, "flowchart TD"); i >= 0 {
			body = body[i:]
		}
		for line := range strings.SplitSeq(body, "\n") {
			if quotes := strings.Count(line, `"`); quotes != 0 && quotes != 2 || strings.Contains(line, "<script") {
				t.Fatalf("a line of Mermaid: %s", line)
			}
		}
		again := *g
		if g.DOT() != again.DOT() || g.SVG() != again.SVG() || g.Mermaid() != again.Mermaid() {
			t.Fatal("the drawings differ")
		}
	})
}

// A large graph is laid out in time and space that grow with its size.
func TestALargeGraphIsDrawn(t *testing.T) {
	t.Parallel()
	g := &Graph{}
	for i := range 5_000 {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprint(i)})
		if i > 0 {
			g.Edges = append(g.Edges, Edge{From: fmt.Sprint(i - 1), To: fmt.Sprint(i)}, Edge{From: "0", To: fmt.Sprint(i)})
		}
	}
	if n := len(g.SVG()); n > 8<<20 {
		t.Errorf("the image has %d bytes", n)
	}
}
