package braid_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
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

// Attach adds an image, a document or another block to the text of the input.
func ExampleAttach() {
	png := []byte("\x89PNG\r\n\x1a\n")
	agent := braid.New("clerk", plays(saying("It is a receipt.")))
	r, err := agent.Run(context.Background(), "What is this?", braid.Attach(event.ImageData(png)))
	showResult(r, err)
	messages, err := r.Conversation.Messages(context.Background())
	for _, b := range messages[0].Content {
		fmt.Println(b.BlockKind())
	}
	fmt.Println(err)
	// Output:
	// It is a receipt.
	// text
	// image
	// <nil>
}

// History continues a conversation that was kept elsewhere.
func ExampleHistory() {
	call := &event.ToolCall{ID: "call_1", Name: "weather", Args: []byte(`{"city":"Porto"}`)}
	agent := braid.New("guide", plays(saying("An umbrella.")), braid.Func("weather", "Reports the weather.", weather))
	r, err := agent.Run(context.Background(), "What do I pack?", braid.History(
		event.UserText("How is the weather in Porto?"),
		event.AssistantBlocks(call), event.UserBlocks(event.ResultText(call, "rain")),
		event.AssistantText("It rains."),
	))
	showResult(r, err)
	messages, err := r.Conversation.Messages(context.Background())
	fmt.Println(len(messages), err)
	// Output:
	// An umbrella.
	// 6 <nil>
}
