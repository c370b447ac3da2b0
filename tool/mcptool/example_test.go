package mcptool_test

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/tool/mcptool"
)

// A server in this process, made with the official SDK. One that is a program has
// a Command instead of Dial, one on the network a URL.
func Example() {
	type place struct {
		City string `json:"city"`
	}
	weather := mcp.NewServer(&mcp.Implementation{Name: "weather"}, &mcp.ServerOptions{Instructions: "Give the city in English."})
	mcp.AddTool(weather, &mcp.Tool{Name: "forecast", Description: "Tells the weather."},
		func(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sunny in " + in.City}}}, nil, nil
		})

	ctx := context.Background()
	servers, err := mcptool.Connect(ctx, mcptool.Options{}, mcptool.Config{
		Name: "weather",
		Dial: func(ctx context.Context) (mcp.Transport, error) {
			here, there := mcp.NewInMemoryTransports()
			_, err := weather.Connect(ctx, there, nil)
			return here, err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer servers.Close()

	model, err := demo.New(demo.Replies("weather",
		[]demo.Piece{demo.Call("forecast", `{"city":"Lisbon"}`)}, []demo.Piece{demo.Say("Take a hat.")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("weather", model, braid.Instructions("You know the weather."), braid.From(servers))
	result, err := agent.Run(ctx, "What will it be like in Lisbon?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	for _, s := range servers.Status() {
		fmt.Println(s.Name, s.State, s.Tools, s.Protocol)
	}
	// Output:
	// Take a hat.
	// weather connected 1 2026-07-28
}

// The file that clients of MCP share.
func ExampleParseConfig() {
	configs, err := mcptool.ParseConfig([]byte(`{"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "some-server", "."], "env": {"KEY": "${FILES_KEY:-none}"}},
		"docs":  {"type": "http", "url": "https://docs.example/mcp"}
	}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range configs {
		full, err := c.Expand(os.LookupEnv)
		fmt.Println(full, full.Env, err)
	}
	// Output:
	// files (command npx) map[KEY:[redacted]] <nil>
	// docs (http docs.example) map[] <nil>
}
