package flow_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// adds is a model that adds a word to what it is asked.
type adds string

func (a adds) Info() model.Info { return model.Info{Name: "test:adds", Simulated: true} }

func (a adds) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		text := req.Messages[len(req.Messages)-1].Text() + " " + string(a)
		if yield(model.Chunk{Kind: model.ChunkText, Text: text}, nil) {
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
		}
	}
}

func ExampleSequence() {
	write := braid.New("write", adds("written"))
	check := flow.Sequence("check", braid.New("correct", adds("corrected")), braid.New("shorten", adds("shortened")))
	result, err := flow.Sequence("report", write, check).Run(context.Background(), "tides:")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	fmt.Println(result.Why, result.Metrics.ModelCalls)
	// Output:
	// tides: written corrected shortened
	// flow 3
}

// first asks all of its agents at once, and answers with what the first one says.
type first struct{}

func (first) Next(s flow.Scope) flow.Command {
	if len(s.Children) > 0 {
		return flow.Command{Finish: true, Output: s.Children[0].Output}
	}
	var all []flow.Opening
	for _, name := range s.Agents {
		all = append(all, flow.Opening{Agent: name, Input: s.Input})
	}
	return flow.Command{Open: all}
}

func ExampleKind() {
	agent := braid.NewFlow("panel", first{}, braid.New("left", adds("yes")), braid.New("right", adds("no")))
	result, err := agent.Run(context.Background(), "So?")
	fmt.Println(result.Text(), err)
	// Output: So? yes <nil>
}

func ExampleParallel() {
	agent := flow.Parallel("panel", flow.ParallelOptions{Merge: flow.Join(" / ")}, braid.New("left", adds("yes")), braid.New("right", adds("no")))
	result, err := agent.Run(context.Background(), "So?")
	fmt.Println(result.Text(), err)
	// Output: So? yes / So? no <nil>
}

func ExampleLoop() {
	long := func(_ context.Context, answer string) (bool, error) { return len(answer) > 12, nil }
	agent := flow.Loop("grow", flow.LoopOptions{Max: 9, Until: long}, braid.New("more", adds("more")))
	result, err := agent.Run(context.Background(), "say")
	fmt.Println(result.Text(), err)
	// Output: say more more <nil>
}

func ExampleFunc() {
	count := flow.Func("count", func(_ context.Context, text string) (int, error) { return len(strings.Fields(text)), nil }, tool.Pure())
	result, err := flow.Sequence("s", braid.New("more", adds("more")), count).Run(context.Background(), "say")
	fmt.Println(result.Text(), err)
	// Output: 2 <nil>
}

// hands is a model that hands over to an agent at once.
type hands string

func (hands) Info() model.Info { return model.Info{Name: "test:hands", Simulated: true} }

func (to hands) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c1", Text: flow.TransferTool}, nil) &&
			yield(model.Chunk{Kind: model.ChunkCallInput, Text: `{"agent_name":"` + string(to) + `"}`}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
	}
}

func ExampleTeam() {
	triage := braid.New("triage", hands("billing"))
	desk := flow.Team(triage, flow.TeamOptions{Sees: flow.SeesBrief}, flow.Sub{Agent: braid.New("billing", adds("I look at it.")), Description: "Knows bills."})
	chat := braid.NewConversation()
	for _, message := range []string{"My bill is wrong.", "Well?"} {
		result, err := desk.Run(context.Background(), message, braid.In(chat))
		fmt.Println(result.Text(), err)
	}
	// Output:
	// My bill is wrong. I look at it. <nil>
	// Well? I look at it. <nil>
}
