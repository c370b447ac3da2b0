package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// plan is a generated graph as data, so that it can be made again for each driver.
type plan struct {
	nodes []planNode
	edges []planEdge
}

type planNode struct {
	fails, retries, visits int
	fanIn                  FanIn
	feed                   Feed
	nested                 bool
}

type planEdge struct {
	from, to int
	// way is how the edge is taken: 0 always, 1 by an even length, 2 else, 3 after a failure.
	way int
}

// drawPlan draws a graph of edges that lead forward, and maybe one that leads back.
func drawPlan(t *rapid.T) plan {
	var p plan
	n := rapid.IntRange(1, 6).Draw(t, "nodes")
	for range n {
		p.nodes = append(p.nodes, planNode{
			fails: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "fails"), retries: rapid.IntRange(0, 2).Draw(t, "retries"),
			fanIn: FanIn(rapid.IntRange(0, 2).Draw(t, "fan-in")), feed: rapid.SampledFrom([]Feed{"", FeedOutputs, FeedTask}).Draw(t, "feed"),
			nested: rapid.IntRange(0, 4).Draw(t, "nested") == 0,
		})
	}
	for from := range n {
		for to := from + 1; to < n; to++ {
			if rapid.Bool().Draw(t, "edge") {
				p.edges = append(p.edges, planEdge{from, to, rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "way")})
			}
		}
	}
	if n > 1 && rapid.Bool().Draw(t, "back") {
		to := rapid.IntRange(0, n-2).Draw(t, "to")
		p.edges = append(p.edges, planEdge{n - 1, to, 1})
		p.nodes[to].visits, p.nodes[to].fanIn = rapid.IntRange(1, 3).Draw(t, "visits"), FanInAny
	}
	return p
}

// graph makes the agent's definition. A node fails by its visit alone, so every driver sees the same.
func (p plan) graph() Graph {
	even := When("even", func(_ context.Context, v Visit) (bool, error) { return len(v.Text())%2 == 0, nil })
	g := Graph{Name: "g", Entry: []string{"n0"}}
	for i, n := range p.nodes {
		name := fmt.Sprint("n", i)
		work := Func(name+"f", func(ctx context.Context, in string) (string, error) {
			// The attempt is in the id of the scope: nothing outside of the log counts.
			if n.fails > 0 && strings.HasSuffix(tool.CallOf(ctx).Scope, fmt.Sprint(n.fails)) {
				return "", errors.New("no luck")
			}
			return fmt.Sprintf("%s<%.40s>", name, in), nil
		}, tool.Pure())
		if n.nested {
			work = Graph{Name: name + "g", Nodes: []Node{{Name: "in", Agent: work}, {Name: "out", Agent: says(name + "o")}}, Edges: []Edge{{From: "in", To: "out"}}}.Agent()
		}
		g.Nodes = append(g.Nodes, Node{Name: name, Agent: work, FanIn: n.fanIn, Visits: n.visits, Retries: n.retries, Feed: n.feed})
	}
	for _, e := range p.edges {
		one := Edge{From: fmt.Sprint("n", e.from), To: fmt.Sprint("n", e.to)}
		switch e.way {
		case 1:
			one.If = even
		case 2:
			one.Else = true
		case 3:
			one.Failed = true
		}
		g.Edges = append(g.Edges, one)
	}
	return g
}

// trail is what a graph did, without the order in which things that run side by side end.
func trail(log []*event.Event) string {
	var list []string
	for _, e := range log {
		switch b := e.Body.(type) {
		case *event.ScopeOpened:
			list = append(list, b.Node+" of "+b.Agent)
		case *event.Decided:
			list = append(list, b.Name+" "+string(b.Value))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// A graph that is not refused ends in the same way, with the same nodes and decisions, from every commit of its log. One node
// works at a time, because the order in which nodes end may decide.
func TestGeneratedGraphsGoOnFromEveryCommit(t *testing.T) {
	t.Parallel()
	refused, ended := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		made := func() *braid.Agent {
			g := p.graph()
			g.Parallel = 1
			return g.Agent()
		}
		if err := p.graph().Check(); err != nil {
			refused++
			if _, ran := made().Run(context.Background(), "go"); !errors.Is(err, event.ErrInvalid) || fmt.Sprint(ran) != fmt.Sprint(err) {
				t.Fatalf("%v, the run: %v", err, ran)
			}
			return
		}
		ended++
		store := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
		want, wantErr := made().Run(context.Background(), "go", braid.In(braid.Open(store, "c")))
		whole := trail(store.log)
		for _, n := range store.ends[:max(0, len(store.ends)-1)] {
			again := &commits{Memory: journal.NewMemory(journal.MemoryOptions{})}
			conv, err := cutInto(again, store.log, n, "g")
			if err != nil {
				t.Fatal(err)
			}
			got, err := made().Resume(context.Background(), conv)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || got.Text() != want.Text() || got.Stop != want.Stop {
				t.Fatalf("cut after event %d: %q, %s, %v; want %q, %s, %v", n, got.Text(), got.Stop, err, want.Text(), want.Stop, wantErr)
			}
			if now := trail(append(slices.Clone(store.log[:n]), again.log...)); now != whole {
				t.Fatalf("cut after event %d:\n%s\nwant\n%s", n, now, whole)
			}
		}
	})
	t.Logf("%d graphs ended, %d were refused", ended, refused)
	if ended == 0 {
		t.Errorf("%d graphs were refused, and none ended", refused)
	}
}
