package gemini_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/secret"
)

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

// An agent on Gemini. Here the model is a server on this machine; a program takes the key from the
// environment and sets no address.
func Example() {
	server := geminitest.Start(
		geminitest.Stream([]model.Chunk{
			{Kind: model.ChunkText, Text: "I add 3 and 5."},
			{Kind: model.ChunkCall, Index: 1, ID: "8hd01vsf", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 1, Text: `{"a": 3,"b": 5}`},
			{Kind: model.ChunkSignature, Index: 1, Text: "c2lnbmF0dXJl"},
		}, "STOP", event.Usage{Input: 40, Output: 20, Reasoning: 12}),
		geminitest.Stream([]model.Chunk{{Kind: model.ChunkText, Text: "3 + 5 = 8."}}, "STOP", event.Usage{Input: 8, Output: 9, CacheRead: 1200}),
	)
	defer server.Close()

	model, err := gemini.New("gemini-3.6-flash", secret.New(geminitest.Key), gemini.BaseURL(server.URL), gemini.HTTPClient(server.Client()))
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
	fmt.Println(result.Usage.Input, result.Usage.Output, result.Usage.Reasoning, result.Usage.CacheRead)
	// Output:
	// 3 + 5 = 8.
	// 48 29 12 1200
}
