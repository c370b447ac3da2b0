package flow

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// says returns a node that answers with its name around its input.
func says(name string) *braid.Agent {
	return Func(name, func(_ context.Context, in string) (string, error) { return name + "(" + in + ")", nil }, tool.Pure())
}

// funcs returns nodes with a function each.
func funcs(names ...string) (list []Node) {
	for _, n := range names {
		list = append(list, Node{Name: n, Agent: says(n)})
	}
	return list
}

func line(s string) string { return strings.ReplaceAll(s, "\n", "|") }

func TestAGraphFansOutAndIn(t *testing.T) {
	t.Parallel()
	g := Graph{
		Name: "g", Nodes: funcs("a", "b", "c", "d"),
		Edges: []Edge{{From: "a", To: "b"}, {From: "a", To: "c"}, {From: "b", To: "d"}, {From: "c", To: "d"}},
	}
	r, err := g.Agent().Run(t.Context(), "go")
	if want := "d([node: b]|b(a(go))|[node: c]|c(a(go)))"; err != nil || line(r.Text()) != want || r.Why != event.WhyFlow {
		t.Errorf("%q, %v", line(r.Text()), err)
	}
}

// An agent with a model gets the task and the outputs, as in Strands.
func TestTheFeedOfANode(t *testing.T) {
	t.Parallel()
	for feed, want := range map[Feed]string{
		"": "b(go|[node: a]|a(go))", FeedTaskAndOutputs: "b(go|[node: a]|a(go))", FeedOutputs: "b(a(go))", FeedTask: "b(go)",
	} {
		g := Graph{Name: "g", Nodes: with(nodes("a", "b"), "b", func(n *Node) { n.Feed = feed }), Edges: []Edge{{From: "a", To: "b"}}}
		if r, err := g.Agent().Run(t.Context(), "go"); err != nil || line(r.Text()) != want {
			t.Errorf("%q: %q, %v", feed, line(r.Text()), err)
		}
	}
}

func TestConditionsDecideOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	is := func(word string) Condition {
		return When(word, func(_ context.Context, v Visit) (bool, error) {
			asked.Add(1)
			return strings.Contains(v.Text(), word), nil
		})
	}
	g := Graph{
		Name: "g", Nodes: with(funcs("route", "refund", "sales", "other", "end"), "end", func(n *Node) { n.FanIn = FanInAny }),
		Edges: []Edge{
			{From: "route", To: "refund", If: is("money")},
			{From: "route", To: "sales", If: is("buy")},
			{From: "route", To: "other", Else: true},
			{From: "refund", To: "end"},
			{From: "sales", To: "end"},
			{From: "other", To: "end"},
		},
	}
	for input, want := range map[string]string{
		"money": "end(refund(route(money)))", "buy": "end(sales(route(buy)))", "hi": "end(other(route(hi)))",
	} {
		asked.Store(0)
		r, err := g.Agent().Run(t.Context(), input)
		if err != nil || line(r.Text()) != want || asked.Load() != 2 {
			t.Errorf("%s: %q, asked %d times, %v", input, line(r.Text()), asked.Load(), err)
		}
	}
}

// A cycle runs until its condition ends it, and its bound ends the graph with an error that names the node.
func TestACycle(t *testing.T) {
	t.Parallel()
	g := func(visits int) Graph {
		return Graph{
			Name:  "g",
			Nodes: with(with(funcs("draft", "check", "done"), "draft", func(n *Node) { n.Visits, n.FanIn = visits, FanInAny }), "check", func(*Node) {}),
			Entry: []string{"draft"},
			Edges: []Edge{
				{From: "draft", To: "check"},
				{From: "check", To: "done", If: When("third", func(_ context.Context, v Visit) (bool, error) { return v.Number == 3, nil })},
				{From: "check", To: "draft", Else: true},
			},
		}
	}
	r, err := g(3).Agent().Run(t.Context(), "go")
	if want := "done(check(draft(check(draft(check(draft(go)))))))"; err != nil || r.Text() != want {
		t.Errorf("%q, %v", r.Text(), err)
	}
	r, err = g(2).Agent().Run(t.Context(), "go")
	if !errors.Is(err, event.ErrLimit) || !strings.Contains(err.Error(), `node "draft"`) || r.Stop != event.StopLimitCycles {
		t.Errorf("%v, %s", err, r.Stop)
	}
}

// Any and a number of edges start a node once; what comes later starts nothing.
func TestJoins(t *testing.T) {
	t.Parallel()
	for join, want := range map[FanIn]int{FanInAll: 3, FanInAny: 1, FanInAtLeast(2): 2} {
		g := Graph{
			Name: "g", Nodes: with(funcs("a", "b", "c", "d"), "d", func(n *Node) {
				n.FanIn = join
				n.Input = func(in Incoming) ([]event.Block, error) {
					return []event.Block{&event.Text{Text: strings.Repeat("+", len(in.Values))}}, nil
				}
			}),
			Edges:    []Edge{{From: "a", To: "d"}, {From: "a", To: "b"}, {From: "b", To: "d"}, {From: "b", To: "c"}, {From: "c", To: "d"}},
			Parallel: 1, Answer: []string{"d"},
		}
		conv := braid.NewConversation()
		r, err := g.Agent().Run(t.Context(), "go", braid.In(conv))
		if err != nil || r.Text() != "d("+strings.Repeat("+", want)+")" {
			t.Errorf("%d: %q, %v", join, r.Text(), err)
		}
		if n := starts(t, conv, "d"); n != 1 {
			t.Errorf("%d: d started %d times", join, n)
		}
	}
}

// starts counts the starts of a node.
func starts(t *testing.T, conv *braid.Conversation, node string) (n int) {
	t.Helper()
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*event.ScopeOpened); ok && b.Node == node {
			n++
		}
	}
	return n
}

// A failed node is retried, then its error ends the graph, or an edge catches it.
func TestAFailedNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		fails := func(times int32) *braid.Agent {
			tries.Store(0)
			return Func("bad", func(_ context.Context, in string) (string, error) {
				if tries.Add(1) <= times {
					return "", errors.New("no luck")
				}
				return "bad(" + in + ")", nil
			}, tool.Pure())
		}
		for name, c := range map[string]struct {
			fails   int32
			retries int
			caught  bool
			want    string
			err     string
			tries   int32
		}{
			"fails":           {fails: 1, err: `node "bad": no luck`, tries: 1},
			"is retried":      {fails: 2, retries: 2, want: "next(bad(go))", tries: 3},
			"fails too often": {fails: 3, retries: 2, err: `node "bad": no luck`, tries: 3},
			"is caught":       {fails: 9, retries: 1, caught: true, want: "rescue(no luck)", tries: 2},
		} {
			g := Graph{
				Name: "g", Nodes: append(funcs("next", "rescue"), Node{Name: "bad", Agent: fails(c.fails), Retries: c.retries, RetryWait: time.Second}),
				Edges: []Edge{{From: "bad", To: "next"}}, Entry: []string{"bad"},
			}
			if c.caught {
				g.Edges = append(g.Edges, Edge{From: "bad", To: "rescue", Failed: true})
			} else {
				g.Nodes = slices.DeleteFunc(g.Nodes, func(n Node) bool { return n.Name == "rescue" })
			}
			began := time.Now()
			r, err := g.Agent().Run(t.Context(), "go")
			if tries.Load() != c.tries || c.err == "" && (err != nil || r.Text() != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%s: %q after %d tries, %v", name, r.Text(), tries.Load(), err)
			}
			if wait := time.Duration(1<<c.retries-1) * time.Second; c.retries > 0 && time.Since(began) != wait {
				t.Errorf("%s: waited %s, want %s", name, time.Since(began), wait)
			}
		}
	})
}

// A node's time bounds it, and the other nodes go on.
func TestTheTimeoutOfANode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := Func("slow", func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, tool.Pure())
		g := Graph{
			Name:  "g",
			Nodes: append(funcs("a", "b", "late"), Node{Name: "slow", Agent: slow, Timeout: time.Minute}),
			Edges: []Edge{{From: "slow", To: "late", Failed: true}, {From: "a", To: "b"}},
		}
		began := time.Now()
		r, err := g.Agent().Run(t.Context(), "go")
		if err != nil || !strings.Contains(r.Text(), `late(node "slow" took longer than 1m0s)`) || !strings.Contains(r.Text(), "b(a(go))") {
			t.Errorf("%q, %v", r.Text(), err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

// A human node asks, and the run waits for the answer.
func TestAHumanNode(t *testing.T) {
	t.Parallel()
	g := Graph{
		Name: "g", Nodes: append(funcs("draft", "publish", "drop"), Node{Name: "approve", Ask: &Question{Text: "Publish?"}}), Entry: []string{"draft"},
		Edges: []Edge{{From: "draft", To: "approve"}, {From: "approve", To: "publish", If: Equals("yes")}, {From: "approve", To: "drop", Else: true}},
	}
	for answer, want := range map[string]string{"yes": "publish(yes)", "no": "drop(no)"} {
		conv := braid.NewConversation()
		r, err := g.Agent().Run(t.Context(), "go", braid.In(conv))
		if err != nil || r.Status != event.RunWaiting || len(r.Questions) != 1 || r.Questions[0].Prompt != "Publish?\n\ndraft(go)" {
			t.Fatal(err, r.Status, r.Questions)
		}
		if err := conv.Answer(t.Context(), r.Questions[0].Token, answer); err != nil {
			t.Fatal(err)
		}
		if r, err = g.Agent().Resume(t.Context(), conv); err != nil || r.Text() != want {
			t.Errorf("%q, %v", r.Text(), err)
		}
	}
}

// A node calls a tool with its input as the arguments.
func TestAToolNode(t *testing.T) {
	t.Parallel()
	find := braid.Func("find", "Finds.", look, tool.Pure())
	g := Graph{
		Name: "g", Nodes: []Node{
			{Name: "args", Agent: Func("args", func(_ context.Context, in string) (map[string]string, error) {
				return map[string]string{"input": in}, nil
			}, tool.Pure())},
			{Name: "find", Tool: find},
		},
		Edges: []Edge{{From: "args", To: "find"}},
	}
	if r, err := g.Agent().Run(t.Context(), "go"); err != nil || r.Text() != "found go" || r.Metrics.ModelCalls != 0 {
		t.Errorf("%q, %v", r.Text(), err)
	}
	g.Nodes, g.Edges = g.Nodes[1:], nil
	if r, err := g.Agent().Run(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), "not a JSON object") {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// Graphs nest in each other, eight levels deep.
func TestNestedGraphs(t *testing.T) {
	t.Parallel()
	inner, want := says("n0"), "n0(go)"
	for i := range 7 {
		name := string(rune('a' + i))
		g := Graph{
			Name: name, Nodes: []Node{{Name: "in", Agent: inner}, {Name: "out", Agent: says("out" + name)}}, Edges: []Edge{{From: "in", To: "out"}},
		}
		inner, want = g.Agent(), "out"+name+"("+want+")"
	}
	if r, err := inner.Run(t.Context(), "go"); err != nil || r.Text() != want {
		t.Errorf("%q, %v", r.Text(), err)
	}
}

// A condition that fails or panics ends the graph with an error that names the node.
func TestAConditionThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(context.Context, Visit) (bool, error){
		"fails":  func(context.Context, Visit) (bool, error) { return false, errors.New("oh no") },
		"panics": func(context.Context, Visit) (bool, error) { panic("oh no") },
	} {
		g := Graph{Name: "g", Nodes: funcs("a", "b"), Edges: []Edge{{From: "a", To: "b", If: When("it", test)}}}
		_, err := g.Agent().Run(t.Context(), "go")
		if err == nil || !strings.Contains(err.Error(), `node "a"`) || !strings.Contains(err.Error(), "oh no") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
