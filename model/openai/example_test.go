package openai_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

// An agent on a server that speaks OpenAI's protocol and is on this machine.
// Outside of tests the address is left out, and the key comes from the
// environment.
func Example() {
	server := openaitest.Start(
		openaitest.Stream(openaitest.Responses, []model.Chunk{
			{Kind: model.ChunkText, Text: "I add 3 and 5."},
			{Kind: model.ChunkCall, Index: 1, ID: "call_1", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 1, Text: `{"a": 3, `},
			{Kind: model.ChunkCallInput, Index: 1, Text: `"b": 5}`},
		}, event.StopToolUse, event.Usage{Input: 40, Output: 20, Total: 60}),
		openaitest.Stream(openaitest.Responses, []model.Chunk{{Kind: model.ChunkText, Text: "3 + 5 = 8."}}, event.StopEndTurn,
			event.Usage{Input: 8, Output: 9, CacheRead: 52, Total: 69}),
	)
	defer server.Close()

	model, err := openai.New("gpt-5.4", secret.New(openaitest.Key), openai.BaseURL(server.URL), openai.Use(openai.Responses))
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
	fmt.Println(result.Usage.Input, result.Usage.Output, result.Usage.CacheRead)
	// Output:
	// 3 + 5 = 8.
	// 48 29 52
}
