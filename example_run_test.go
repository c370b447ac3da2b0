package braid_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
)

// Run works on one input until there is an answer.
func ExampleAgent_Run() {
	agent := braid.New("guide", plays(requesting("weather", `{"city":"Porto"}`), saying("Take an umbrella.")),
		braid.Instructions("You advise travellers."),
		braid.Func("weather", "Reports the weather of a city.", weather))
	r, err := agent.Run(context.Background(), "What do I pack for Porto?")
	showResult(r, err)
	fmt.Println(r.Stop, r.Metrics.ModelCalls)
	// Output:
	// Take an umbrella.
	// end_turn 2
}

// In continues a conversation: the model sees all of it.
func ExampleIn() {
	ctx, conv := context.Background(), braid.NewConversation()
	agent := braid.New("guide", plays(saying("Hello, Ann."), saying("You are Ann.")))
	for _, input := range []string{"I am Ann.", "Who am I?"} {
		showResult(agent.Run(ctx, input, braid.In(conv)))
	}
	messages, err := conv.Messages(ctx)
	fmt.Println(len(messages), err)
	// Output:
	// Hello, Ann.
	// You are Ann.
	// 4 <nil>
}
