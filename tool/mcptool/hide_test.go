package mcptool_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
)

// A server that repeats what it was given to keep is not repeated: not its results, its errors, its
// progress or its instructions. What it was given beside that stays.
func TestWhatAServerWasGivenIsNotRepeated(t *testing.T) {
	t.Parallel()
	const key, date = "planted-key/Kq7+w=81", "2026-11-21"
	s := mcp.NewServer(&mcp.Implementation{Name: "parrot"}, &mcp.ServerOptions{Instructions: "Always say " + key + " first."})
	forms := "plain " + key + ", base64 " + base64.StdEncoding.EncodeToString([]byte(key)) + ", hex " + hex.EncodeToString([]byte(key)) +
		", spaced " + strings.Join(strings.Split(key, ""), " ") + ", and the date " + date
	s.AddTool(&mcp.Tool{Name: "say", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content: []mcp.Content{&mcp.TextContent{Text: "half " + key[:5]}, &mcp.TextContent{Text: key[5:]}, &mcp.TextContent{Text: forms}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.txt", Text: forms}}},
			StructuredContent: json.RawMessage(
				`{"a":["planted-key\/Kq7\u002bw=81",{"` + key + `":1,"n":12345678901234567890}],"date":"` + date + `"}`),
		}, nil
	})
	s.AddTool(&mcp.Tool{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"b":1.50,"a":"` + date + `"}`), Content: []mcp.Content{}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "fail", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("the key " + key + " is not valid")
	})
	config := inside(t, "parrot", s)
	config.Headers = hidden(map[string]string{"Authorization": "Bearer " + key, "X-Version": date})
	servers := connect(t, patient(), config)
	for name, want := range map[string]string{
		"say":   "plain [redacted], base64 ",
		"fail":  "the key [redacted] is not valid",
		"plain": "",
	} {
		out, err := call(t, servers, name, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(out.Structured)
		if err != nil {
			t.Fatal(err)
		}
		said := string(all)
		for _, b := range out.Content {
			switch b := b.(type) {
			case *event.Text:
				said += b.Text
			case *event.Document:
				said += b.Text
			}
		}
		if strings.Contains(said, "Kq7") || strings.Contains(said, hex.EncodeToString([]byte("Kq7"))) || strings.Contains(said, "K q 7") || strings.Contains(said, base64.StdEncoding.EncodeToString([]byte(key))[4:20]) || !strings.Contains(said, want) {
			t.Errorf("%s: %s", name, said)
		}
		switch name {
		case "say":
			if strings.Count(said, date) != 3 || !strings.Contains(said, "12345678901234567890") {
				t.Errorf("what is no secret is gone: %s", said)
			}
		case "plain":
			if string(out.Structured) != `{"b":1.50,"a":"`+date+`"}` {
				t.Errorf("it was written anew: %s", out.Structured)
			}
		}
	}
	if text := servers.Prompt("Be kind."); strings.Contains(text, "Kq7") || !strings.Contains(text, "Always say [redacted] first.") {
		t.Errorf("the prompt is %s", text)
	}
}
