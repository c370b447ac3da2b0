package scenario

import (
	"strconv"

	"github.com/braidrun/braid/bench/floor"
)

// Sizes of the scenarios, as the contract has them.
const (
	deltas     = 500
	fewCycles  = 10
	manyCycles = 100
	manyTools  = 32
	coldPrior  = 10_000
)

// priors are the lengths of the warm conversations.
var priors = [...]int{10, 100, 1_000, 10_000}

// Pairs are all rows, in the order of the table.
func Pairs() []Pair {
	floor.KeepWorkers()
	stream := []answer{text(deltas)}
	few, fewWhole := cycles(fewCycles, false), cycles(fewCycles, true)
	many := cycles(manyCycles, false)
	tools := []answer{calls(0, manyTools, false), text(1)}
	toolsWhole := []answer{calls(0, manyTools, true), text(1)}

	pairs := []Pair{
		{
			ID: "a", Name: "500 streamed deltas", Item: "delta", Items: deltas,
			Base: byHandRuns(stream), Subject: braidScript(stream),
		},
		{
			ID: "a-tuned", Name: "the same, floor without an allocation for each event",
			Item: "delta", Items: deltas, Base: byHandValues(stream), Subject: braidScript(stream),
		},
		{
			ID: "a-demo", Name: "the same from the demo model", Item: "delta", Items: deltas,
			Base: byHandRuns(stream), Subject: braidDemo(stream),
		},
		{
			ID: "b", Name: "10 tool cycles", Item: "cycle", Items: fewCycles,
			Base: byHandRuns(few), Subject: braidScript(few),
		},
		{
			ID: "b-whole", Name: "the same, each call in one chunk", Item: "cycle", Items: fewCycles,
			Base: byHandRuns(fewWhole), Subject: braidScript(fewWhole),
		},
		{
			ID: "b-100", Name: "100 tool cycles", Item: "cycle", Items: manyCycles,
			Base: byHandRuns(many), Subject: braidScript(many),
		},
		{
			ID: "b-growth", Name: "10 to 100 cycles", Item: "", Items: 0,
			Base: named("braid, 10", braidScript(few)), Subject: named("braid, 100", braidScript(many)),
		},
		{
			ID: "c", Name: "32 parallel tools", Item: "tool", Items: manyTools,
			Base: byHandRuns(tools), Subject: braidScript(tools),
		},
		{
			ID: "c-whole", Name: "the same, each call in one chunk", Item: "tool", Items: manyTools,
			Base: byHandRuns(toolsWhole), Subject: braidScript(toolsWhole),
		},
		{
			ID: "d", Name: "construct an agent, tool ready",
			Base: byHandAgent(true), Subject: braidConstruct(true),
		},
		{
			ID: "d-tool", Name: "construct an agent and a tool of a known type",
			Base: byHandAgent(false), Subject: braidConstruct(false),
		},
	}
	for _, prior := range priors {
		n := strconv.Itoa(prior)
		pairs = append(pairs, Pair{
			ID: "e-" + n, Name: "a turn after " + n + " messages",
			Base: byHandWarm(prior), Subject: braidWarm(prior),
		})
	}
	shortest, longest := priors[0], priors[len(priors)-1]
	pairs = append(
		pairs,
		Pair{
			ID: "e-growth", Name: "a turn, 10 to 10000 messages",
			Base:    named("braid, "+strconv.Itoa(shortest), braidWarm(shortest)),
			Subject: named("braid, "+strconv.Itoa(longest), braidWarm(longest)),
		},
		Pair{
			ID: "e-cold", Name: "the first turn on a stored conversation of 10000",
			Base: byHandCold(coldPrior), Subject: braidCold(coldPrior),
		},
		Pair{
			ID: "i", Name: "500 deltas, driven into a hub with a watcher", Item: "delta", Items: deltas,
			Base: byHandRuns(stream), Subject: braidWatched(stream),
		},
	)
	pairs = append(pairs, openingPairs()...)
	pairs = append(pairs, flowPairs()...)
	return append(pairs, diskPairs()...)
}

// diskPairs are the rows on SQLite, durable on both sides. Each has a folder of its own.
func diskPairs() []Pair {
	on := func(d *disk, p *Pair) Pair {
		p.Close = d.Close
		return *p
	}
	turn := func(id, name string, turns int, warm bool) Pair {
		d := &disk{}
		return on(d, &Pair{ID: id, Name: name, Base: d.byHandOnDisk(turns, warm), Subject: d.braidOnDisk(turns, warm)})
	}
	growth := func(id, name string, warm bool) Pair {
		d := &disk{}
		return on(d, &Pair{
			ID: id, Name: name,
			Base: named("braid, 10", d.braidOnDisk(shortTalk, warm)), Subject: named("braid, 10000", d.braidOnDisk(longTalk, warm)),
		})
	}
	together, steps := &disk{}, &disk{}
	return []Pair{
		turn("f-warm", "a turn in SQLite, two commits, warm after 10000 events", longTalk, true),
		turn("f-cold", "the same, opened anew each time", longTalk, false),
		growth("f-growth-warm", "a turn in SQLite, warm, 10 to 10000 events", true),
		growth("f-growth-cold", "a turn in SQLite, cold, 10 to 10000 events", false),
		on(together, &Pair{
			ID: "g", Name: "64 drivers commit 1 KiB each", Item: "event", Items: writers,
			Base: together.inOne(), Subject: together.grouped(),
		}),
		on(steps, &Pair{
			ID: "h", Name: "10 tool cycles in SQLite, 22 commits", Item: "commit", Items: commitsOfCycles,
			Base: steps.bare(), Subject: steps.steps(),
		}),
	}
}

func named(name string, s Side) Side {
	s.Name = name
	return s
}
