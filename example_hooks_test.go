package braid_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/hook"
)

// On adds a hook. The type of its argument says where the agent calls it.
func ExampleOn() {
	guardMoney := braid.On(func(_ context.Context, e *hook.BeforeTool) error {
		if strings.Contains(string(e.Args), "Monaco") {
			e.Cancel = "Monaco is too expensive."
		}
		return nil
	})
	after := braid.On(func(_ context.Context, e *hook.AfterTool) error {
		fmt.Println(e.Call.Name, e.Result.IsError)
		return nil
	})
	agent := braid.New("guide", plays(requesting("weather", `{"city":"Monaco"}`), saying("Stay at home.")),
		braid.Func("weather", "Reports the weather.", weather), braid.Parts(guardMoney, after))
	showResult(agent.Run(context.Background(), "How is Monaco?"))
	// Output:
	// weather true
	// Stay at home.
}

// A guardrail sees each text that passes, and gives what stands in its place.
func ExampleGuard() {
	mask := func(_ context.Context, text string) (string, error) {
		return strings.ReplaceAll(text, "4711", "****"), nil
	}
	agent := braid.New("clerk", plays(saying("The number of the card is 4711.")), braid.Guard("cards", mask, braid.GuardOutput))
	showResult(agent.Run(context.Background(), "Which card?"))
	// Output:
	// The number of the card is ****.
}
