package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/bench/floor"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/tool"
)

// Sizes of the flows, as the contract has them.
const (
	manyBranches = 100
	manyLevels   = 10
	manyNodes    = 1_000
	manyItems    = 10_000
)

// flowPairs are the rows of flows. The floor does the same work with the same concurrency. It keeps the events of each part and
// hands them to its reader.
func flowPairs() []Pair {
	script := []answer{text(1)}
	llm := func(name string) *braid.Agent { return braid.New(name, &scripted{answers: braidChunks(script)}) }
	said := work(script).Text
	branches := func(n int) *braid.Agent {
		var list []*braid.Agent
		for i := range n {
			list = append(list, llm(fmt.Sprint("a", i)))
		}
		return flow.Parallel("branches", flow.ParallelOptions{Merge: flow.Join("")}, list...)
	}
	levels := func() *braid.Agent {
		a := llm("leaf")
		for i := range manyLevels {
			a = flow.Sequence(fmt.Sprint("level", i), a)
		}
		return a
	}
	pair := func(id, name, item string, items int, base, subject Side) Pair {
		return Pair{ID: id, Name: name, Item: item, Items: items, Base: base, Subject: subject}
	}
	return []Pair{
		pair("p", "100 agents in parallel", "agent", manyBranches,
			flowSide("floor", strings.Repeat(said, manyBranches), byHandBranches(script, manyBranches)),
			flowSide("braid", strings.Repeat(said, manyBranches), flowRuns(branches(manyBranches), "go"))),
		pair("p-nested", "an agent below ten sequences", "level", manyLevels,
			flowSide("floor", said, byHandBranches(script, 1)), flowSide("braid", said, flowRuns(levels(), "go"))),
		pair("p-graph", "a graph of 1000 nodes, one after another", "node", manyNodes,
			flowSide("floor", "x", byHandNodes(manyNodes)), flowSide("braid", "x", flowRuns(line(manyNodes), "x"))),
		pair("p-graph-growth", "a graph, 100 to 1000 nodes", "", 0,
			flowSide("braid, 100", "x", flowRuns(line(manyNodes/10), "x")), flowSide("braid, 1000", "x", flowRuns(line(manyNodes), "x"))),
		pair("p-map", "a map over 10000 items, 8 at once", "item", manyItems,
			flowSide("floor", list(manyItems), byHandMap(manyItems)), flowSide("braid", list(manyItems), flowRuns(each(), list(manyItems)))),
		pair("p-map-growth", "a map, 1000 to 10000 items", "", 0,
			flowSide("braid, 1000", list(manyItems/10), flowRuns(each(), list(manyItems/10))),
			flowSide("braid, 10000", list(manyItems), flowRuns(each(), list(manyItems)))),
	}
}

// wide lets a run open as many scopes as the rows need.
func wide() braid.Part {
	return braid.Limit(braid.Limits{Cycles: -1, Scopes: 2 * manyItems, Depth: 2 * manyLevels, Parallel: manyBranches})
}

// same is a function node that gives back what it gets.
func same(name string) *braid.Agent {
	return flow.Func(name, func(_ context.Context, in string) (string, error) { return in, nil }, tool.Pure())
}

// line is a graph whose nodes work one after another.
func line(n int) *braid.Agent {
	g := flow.Graph{Name: "line"}
	for i := range n {
		name := fmt.Sprint("n", i)
		g.Nodes = append(g.Nodes, flow.Node{Name: name, Agent: same(name)})
		if i > 0 {
			g.Edges = append(g.Edges, flow.Edge{From: fmt.Sprint("n", i-1), To: name})
		}
	}
	return g.Agent()
}

// each is a map whose agent gives back the item.
func each() *braid.Agent { return flow.Map("each", same("item"), flow.MapOptions{}) }

// list is the items of a map as JSON.
func list(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`"item",`, n), ",") + "]"
}

// flowSide is a side whose runs each give an answer. Events are not compared, because a flow has more of them than its floor.
func flowSide(name, answer string, run func() (string, error)) Side {
	return Side{Name: name, Each: Work{Runs: 1, Text: answer}, Batch: func(n int) func() (Work, error) {
		return func() (w Work, err error) {
			for range n {
				if w.Text, err = run(); err != nil {
					return w, err
				}
				w.Runs++
			}
			return w, nil
		}
	}}
}

// flowRuns runs a flow and reads all its events.
func flowRuns(a *braid.Agent, input string) func() (string, error) {
	a.Use(wide())
	return func() (string, error) {
		var w Work
		err := readBraid(&w, a.Stream(context.Background(), input))
		return w.Text, err
	}
}

// byHandBranches runs n agents of the floor side by side, each in a session of its own, and joins their answers.
func byHandBranches(script []answer, n int) func() (string, error) {
	agent := floor.New("bench", &byHandModel{answers: byHandChunks(script)})
	return func() (string, error) {
		works, errs := make([]Work, n), make([]error, n)
		floor.Each(n, n, func(i int) {
			errs[i] = readByHand(&works[i], agent.Stream(context.Background(), floor.NewSession(fmt.Sprint("s", i)), "go"))
		})
		var all strings.Builder
		for i := range works {
			if errs[i] != nil {
				return "", errs[i]
			}
			all.WriteString(works[i].Text)
		}
		return all.String(), nil
	}
}

// byHandNodes calls n functions one after another.
func byHandNodes(n int) func() (string, error) {
	return func() (string, error) {
		seen, value := 0, "x"
		s := floor.NewParts(func(*floor.Event) { seen++ })
		for i := range n {
			value = s.Do(fmt.Sprint("n", i), value, func(in string) string { return in })
		}
		if seen != 2*n {
			return "", errNoEvents
		}
		return value, nil
	}
}

// byHandMap calls a function for each element of a JSON array, 8 at once.
func byHandMap(n int) func() (string, error) {
	input := list(n)
	return func() (string, error) {
		var items []string
		if err := json.Unmarshal([]byte(input), &items); err != nil {
			return "", err
		}
		seen, out := 0, make([]string, len(items))
		s := floor.NewParts(func(*floor.Event) { seen++ })
		floor.Each(len(items), 8, func(i int) {
			out[i] = s.Do(strconv.Itoa(i), items[i], func(in string) string { return in })
		})
		if seen != 2*n {
			return "", errNoEvents
		}
		got, err := json.Marshal(out)
		return string(got), err
	}
}
