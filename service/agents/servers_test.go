package agents

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool/demotool"
	"github.com/braidrun/braid/tool/mcptool"
)

// The first event of a run names the MCP servers of its agent, also where the agent has a list of tools: those whose tools it
// has, and, if it lacks one, those that do not answer.
func TestServersOfAnAgentWithTools(t *testing.T) {
	t.Parallel()
	configs := []mcptool.Config{{Name: "ghost", Command: "/nowhere/ghost"}}
	for _, name := range []string{"shop", "post"} {
		s := mcp.NewServer(&mcp.Implementation{Name: name}, nil)
		s.AddTool(&mcp.Tool{Name: "send", Description: "sends", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
		t.Cleanup(web.Close)
		configs = append(configs, mcptool.Config{Name: name, URL: web.URL})
	}
	servers, err := mcptool.Reach(t.Context(), mcptool.Options{Commands: true, Naming: mcptool.Prefixed}, configs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	model, err := demo.Load("assistant")
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), Options{Model: model, Tools: []braid.Tool{demotool.Clock()}, Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		tools []string
		want  []string
	}{
		{"all tools", nil, []string{"ghost", "post", "shop"}},
		{"tools of one server", []string{"*shop*"}, []string{"shop"}},
		{"tools of two servers", []string{"*shop*", "*post*"}, []string{"post", "shop"}},
		{"none of a server", []string{"clock"}, nil},
		{"none", []string{}, nil},
		{"a tool that is missing", []string{"*shop*", "*ghost*"}, []string{"ghost", "shop"}},
	} {
		parts, _, err := a.given(&service.AgentOptions{Tools: c.tools}, &run{skills: runSkills{set: a.skills}, request: &service.AgentRequest{}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e, err := range braid.New("clerk", model, parts...).Stream(t.Context(), "hello") {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.RunStarted); ok {
				for _, s := range b.Servers {
					got = append(got, s.Name)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the servers are %v, want %v", c.name, got, c.want)
		}
	}
}
