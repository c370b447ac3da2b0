package flow_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/model"
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
