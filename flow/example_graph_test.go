package flow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/flow/draw"
	"github.com/braidrun/braid/tool"
)

func ExampleGraph() {
	draft := flow.Func("draft", func(_ context.Context, in string) (string, error) { return in + "!", nil }, tool.Pure())
	check := flow.Func("check", func(_ context.Context, in string) (string, error) { return in, nil }, tool.Pure())
	shout := flow.Func("shout", func(_ context.Context, in string) (string, error) { return strings.ToUpper(in), nil }, tool.Pure())
	g := flow.Graph{
		Name: "review",
		Nodes: []flow.Node{
			{Name: "draft", Agent: draft, FanIn: flow.FanInAny, Visits: 5},
			{Name: "check", Agent: check},
			{Name: "publish", Agent: shout},
		},
		Edges: []flow.Edge{
			{From: "draft", To: "check"},
			{From: "check", To: "publish", If: flow.Contains("!!!")},
			{From: "check", To: "draft", Else: true},
		},
		Entry: []string{"draft"},
	}
	conv := braid.NewConversation()
	result, err := g.Agent().Run(context.Background(), "hello", braid.In(conv))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	var log draw.Log
	for e, err := range conv.Events(context.Background(), 0) {
		if err == nil {
			log.Add(e)
		}
	}
	fmt.Print(log.Graphs()[0].Mermaid())
	// Output:
	// HELLO!!!
	// ---
	// title: "review"
	// ---
	// flowchart TD
	//     n0[["draft ×3"]]:::done
	//     n1[["check ×3"]]:::done
	//     n2[["publish"]]:::done
	//     n0 ==> n1
	//     n1 ==>|"contains #34;!!!#34;"| n2
	//     n1 ==>|"else"| n0
	//     classDef done fill:#dafbe1,stroke:#1a7f37
}

func ExampleGraph_Check() {
	g := flow.Graph{
		Name:  "loop",
		Nodes: []flow.Node{{Name: "think", Agent: braid.New("think", adds("on"))}, {Name: "judge", Agent: braid.New("judge", adds("no"))}},
		Edges: []flow.Edge{{From: "think", To: "judge"}, {From: "judge", To: "think", If: flow.Contains("again")}},
		Entry: []string{"think"},
	}
	fmt.Println(g.Check())
	// Output: graph loop: node "think": it is in a cycle without a bound (set Visits of one node of the cycle)
}

func ExampleMap() {
	size := flow.Func("size", func(_ context.Context, in string) (int, error) { return len(in), nil }, tool.Pure())
	result, err := flow.Map("sizes", size, flow.MapOptions{Parallel: 2}).Run(context.Background(), `["a","bcd","ef"]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: [1,3,2]
}
