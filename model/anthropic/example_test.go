package anthropic_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/secret"
)

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

// An agent on Claude, which here is a server on this machine. Outside of tests
// the key comes from the environment and the address is left out.
func Example() {
	server := anthropictest.Start(
		anthropictest.Stream([]model.Chunk{
			{Kind: model.ChunkText, Text: "I add 3 and 5."},
			{Kind: model.ChunkCall, Index: 1, ID: "toolu_1", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 1, Text: `{"a": 3, `},
			{Kind: model.ChunkCallInput, Index: 1, Text: `"b": 5}`},
		}, "tool_use", event.Usage{Input: 40, Output: 20, CacheWrite: 1200}),
		anthropictest.Stream([]model.Chunk{{Kind: model.ChunkText, Text: "3 + 5 = 8."}}, "end_turn",
			event.Usage{Input: 8, Output: 9, CacheRead: 1200}),
	)
	defer server.Close()

	model, err := anthropic.New("claude-sonnet-5-5", secret.New(anthropictest.Key), anthropic.BaseURL(server.URL))
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
	fmt.Println(result.Usage.Input, result.Usage.Output, result.Usage.CacheWrite, result.Usage.CacheRead)
	// Output:
	// 3 + 5 = 8.
	// 48 29 1200 1200
}
