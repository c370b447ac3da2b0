package bedrock_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
)

// An agent on Amazon Nova. Here the model is a server on this machine; a program gets its
// configuration from config.LoadDefaultConfig of AWS's SDK and sets no address.
func Example() {
	server := bedrocktest.Start(
		bedrocktest.Stream([]model.Chunk{
			{Kind: model.ChunkText, Text: "<thinking>The user wants a sum.</thinking>"},
			{Kind: model.ChunkCall, Index: 1, ID: "tooluse_1", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 1, Text: `{"a": 3, "b": 5}`},
		}, "tool_use", event.Usage{Input: 40, Output: 20, Total: 60}),
		bedrocktest.Stream([]model.Chunk{{Kind: model.ChunkText, Text: "3 + 5 = 8."}}, "end_turn", event.Usage{Input: 68, Output: 9, Total: 77}),
	)
	defer server.Close()

	model, err := bedrock.New("amazon.nova-lite-v1:0", bedrocktest.Config(), bedrock.BaseURL(server.URL))
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("calc", model,
		braid.Instructions("Use the tool."),
		braid.Func("add", "Adds two numbers.", func(_ context.Context, in numbers) (int, error) { return in.A + in.B, nil }))
	result, err := agent.Run(context.Background(), "What is 3 + 5?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	fmt.Println(result.Usage.Input, result.Usage.Output)
	// Output:
	// 3 + 5 = 8.
	// 108 29
}
