package braid_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// Func makes a tool from a function. Its options say what a repetition means, and how long a call may take.
func ExampleFunc() {
	agent := braid.New("guide", plays(requesting("weather", `{"city":"Porto"}`), saying("It rains.")),
		braid.Func("weather", "Reports the weather of a city.", weather, tool.Pure(), tool.Timeout(5*time.Second)))
	for e, err := range agent.Stream(context.Background(), "How is Porto?") {
		if err != nil {
			fmt.Println(err)
			return
		}
		if end, ok := e.Body.(*event.StepEnded); ok && end.Result != nil {
			fmt.Println(end.Result.Name+":", event.TextOf(end.Result.Content))
		}
	}
	// Output:
	// weather: rain in Porto
}

// StreamFunc makes a tool that shows its result while it grows. The last value is the result.
func ExampleStreamFunc() {
	count := func(_ context.Context, in whereTo) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for i := 1; i <= 3; i++ {
				if !yield(strings.Repeat(in.City+" ", i), nil) {
					return
				}
			}
		}
	}
	agent := braid.New("echo", plays(requesting("count", `{"city":"Porto"}`), saying("Done.")),
		braid.StreamFunc("count", "Repeats a city.", count))
	for e, err := range agent.Stream(context.Background(), "Go.") {
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, ok := e.Body.(*event.ToolProgress); ok {
			fmt.Println("progress")
		}
	}
	// Output:
	// progress
	// progress
	// progress
}

// SearchTools shows the model a tool that finds tools, instead of all of them.
func ExampleSearchTools() {
	parts := []braid.Part{braid.SearchTools(braid.ToolSearch{Above: 2, Results: 1})}
	for _, name := range []string{"weather", "trains", "hotels", "museums"} {
		parts = append(parts, braid.Func(name, "Looks up "+name+" of a city.", weather))
	}
	agent := braid.New("guide", plays(
		requesting("find_tools", `{"query":"weather"}`), requesting("weather", `{"city":"Porto"}`), saying("It rains.")), parts...)
	r, err := agent.Run(context.Background(), "How is Porto?")
	showResult(r, err)
	fmt.Println(r.Metrics.ModelCalls)
	// Output:
	// It rains.
	// 3
}

// Call calls one of the agent's tools without a model.
func ExampleAgent_Call() {
	agent := braid.New("guide", plays(saying("Hello.")), braid.Func("weather", "Reports the weather.", weather))
	r, err := agent.Call(context.Background(), "weather", whereTo{"Porto"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(event.TextOf(r.Content))
	// Output:
	// rain in Porto
}
