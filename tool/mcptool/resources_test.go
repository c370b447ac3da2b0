package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// library is a server of the official SDK with resources and prompts.
func library() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		switch r.Params.URI {
		case "file:///a.md":
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/markdown", Text: "# a"}}}, nil
		case "file:///b.png":
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: onePixel}}}, nil
		}
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	s.AddResource(&mcp.Resource{URI: "file:///a.md", Name: "a", Title: "Notes", MIMEType: "text/markdown", Description: "two\nlines"}, read)
	s.AddResource(&mcp.Resource{URI: "file:///b.png", Name: "b"}, read)
	s.AddResource(&mcp.Resource{URI: "file:///c", Name: "c"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "file:///days/{day}", Name: "day"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "review", Description: "Reviews code.", Arguments: []*mcp.PromptArgument{{Name: "code", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if r.Params.Arguments["code"] == "" {
				return nil, errors.New("code is missing")
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Review " + r.Params.Arguments["code"]}},
				{Role: "assistant", Content: &mcp.TextContent{Text: "I will."}},
			}}, nil
		})
	s.AddTool(&mcp.Tool{Name: "meta", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Meta: mcp.Meta{"example.com/view": map[string]any{"id": 7}, "mcp/x": 1}, Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(r.Params.Meta["example.com/locale"], r.Params.Meta["mcp/x"])}}}, nil
	})
	return s
}

// Resources and prompts of a server are tools.
func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	web := func(o *mcp.StreamableHTTPOptions) mcptool.Config {
		s := library()
		w := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
		t.Cleanup(func() { w.CloseClientConnections(); w.Close() })
		return mcptool.Config{Name: "lib", URL: w.URL}
	}
	for name, c := range map[string]mcptool.Config{
		"2026": web(&mcp.StreamableHTTPOptions{Stateless: true}), "2025": web(nil), "pipe": inside(t, "lib", library()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, patient(), c)
			if got := names(s); !slices.Equal(got, []string{"meta", "lib___list_resources", "lib___read_resource", "lib___list_prompts", "lib___get_prompt"}) {
				t.Fatalf("%v", got)
			}
			first := text(t, s, "lib___list_resources", "{}")
			for _, want := range []string{"[template file:///days/{day} · day]", "[resource file:///a.md · Notes · text/markdown · two lines]", "call this again with the cursor"} {
				if !strings.Contains(first, want) {
					t.Errorf("%q is not in %q", want, first)
				}
			}
			_, cursor, _ := strings.Cut(first, "cursor ")
			if second := text(t, s, "lib___list_resources", `{"cursor":`+strings.TrimSuffix(cursor, "]")+`}`); second != "[resource file:///c · c]" {
				t.Errorf("%q", second)
			}
			out, err := call(t, s, "lib___read_resource", `{"uri":"file:///a.md"}`)
			if d, ok := out.Content[0].(*event.Document); err != nil || !ok || d.Text != "# a" || d.Name != "a.md" {
				t.Errorf("%+v %v", out, err)
			}
			out, err = call(t, s, "lib___read_resource", `{"uri":"file:///b.png"}`)
			if _, ok := out.Content[0].(*event.Image); err != nil || !ok {
				t.Errorf("%+v %v", out, err)
			}
			if out, err = call(t, s, "lib___read_resource", `{"uri":"file:///etc/passwd"}`); err != nil || !out.IsError {
				t.Errorf("%+v %v", out, err)
			}
			if got := text(t, s, "lib___list_prompts", "{}"); got != "[prompt review · Reviews code. · code (required)]" {
				t.Errorf("%q", got)
			}
			out, err = call(t, s, "lib___get_prompt", `{"name":"review","arguments":{"code":"x+1"}}`)
			if got := event.TextOf(out.Content); err != nil || len(out.Content) != 4 || !strings.Contains(got, "Review x+1") || !strings.Contains(got, "[message of the assistant]") {
				t.Errorf("%+v %v", out, err)
			}
			if out, err = call(t, s, "lib___get_prompt", `{"name":"review"}`); err != nil || !out.IsError {
				t.Errorf("%+v %v", out, err)
			}
			if _, err = call(t, s, "lib___get_prompt", `[]`); event.KindOf(err) != event.ErrInvalid {
				t.Errorf("%v", err)
			}
			// A caller's _meta reaches the server; what the protocol keeps for itself does not.
			ctx := mcptool.WithMeta(t.Context(), map[string]json.RawMessage{"example.com/locale": json.RawMessage(`"ja"`), "mcp/x": json.RawMessage("1")})
			if out, err := toolOf(t, s, "meta").Call(ctx, json.RawMessage("{}")); err != nil || event.TextOf(out.Content) != "ja<nil>" {
				t.Errorf("%+v %v", out, err)
			}
			// A result's _meta reaches the watchers of a run.
			var shown []string
			agent := braid.New("a", &asking{calls: []string{"meta"}}, braid.From(s))
			for e, err := range agent.Stream(t.Context(), "go") {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(*event.ToolProgress); ok {
					shown = append(shown, string(b.Data))
				}
			}
			if !slices.Equal(shown, []string{`{"_meta":{"example.com/view":{"id":7}}}`}) {
				t.Errorf("watchers see %q", shown)
			}
		})
	}
}

// Patterns choose among these tools, too; a tool of the server is preferred; and they can be turned off.
func TestWhichResourceToolsThereAre(t *testing.T) {
	t.Parallel()
	only := patient()
	only.ToolsOnly = true
	if got := names(connect(t, only, inside(t, "lib", library()))); !slices.Equal(got, []string{"meta"}) {
		t.Errorf("%v", got)
	}
	c := inside(t, "lib", library())
	c.Tools = []string{"meta", "read_*"}
	if got := names(connect(t, patient(), c)); !slices.Equal(got, []string{"meta", "lib___read_resource"}) {
		t.Errorf("%v", got)
	}
	s := library()
	s.AddTool(&mcp.Tool{Name: "read_resource", InputSchema: json.RawMessage(`{"type":"object"}`)}, says("the server's own"))
	if got := text(t, connect(t, patient(), inside(t, "lib", s)), "read_resource", "{}"); got != "the server's own" {
		t.Errorf("%q", got)
	}
}
