package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// How each tool of the vendor's is asked for, and of which model in which version.
func TestServerTools(t *testing.T) {
	t.Parallel()
	tools := []model.ServerTool{
		{Kind: model.WebSearch, MaxUses: 3, Domains: []string{"example.com"}},
		{Kind: model.WebFetch, Blocked: []string{"bad.example"}},
		{Kind: model.CodeExecution},
		{Kind: model.RemoteMCP, Name: "crm", URL: "https://mcp.example.com/sse", Tools: []string{"find"}, Token: func() string { return "token-of-crm" }},
	}
	for name, want := range map[string]string{
		"claude-sonnet-5-5": `"tools":[{"name":"a","input_schema":{"type":"object","properties":{}}},` +
			`{"type":"web_search_20260318","name":"web_search","max_uses":3,"allowed_domains":["example.com"]},` +
			`{"type":"web_fetch_20260318","name":"web_fetch","blocked_domains":["bad.example"]},{"type":"code_execution_20260521","name":"code_execution"},` +
			`{"type":"mcp_toolset","mcp_server_name":"crm","default_config":{"enabled":false},"configs":{"find":{"enabled":true}}}],"messages"`,
		"claude-sonnet-4-5": `{"type":"web_search_20250305","name":"web_search","max_uses":3,"allowed_domains":["example.com"]},` +
			`{"type":"web_fetch_20250910","name":"web_fetch","blocked_domains":["bad.example"]},{"type":"code_execution_20250825","name":"code_execution"},`,
	} {
		m, server := open(t, name, []anthropic.Option{anthropic.Cache(anthropic.CacheOff)}, anthropictest.Text("ok"))
		r := modeltest.Call(context.Background(), m, &model.Request{
			Tools:    []model.ToolSpec{{Name: "a", Schema: []byte(`{"type":"object","properties":{}}`)}},
			Messages: []event.Message{said("Hi.")}, Options: model.Options{ServerTools: tools},
		})
		asked := server.Asked()[0]
		if r.Err != nil || !strings.Contains(string(asked.Body), want) || asked.Header.Get("Anthropic-Beta") != "mcp-client-2026-09-15" ||
			!strings.Contains(string(asked.Body), `"mcp_servers":[{"type":"url","name":"crm","url":"https://mcp.example.com/sse","authorization_token":"token-of-crm"}]`) {
			t.Errorf("%s: %v, %s", name, r.Err, asked.Body)
		}
		if shown := fmt.Sprintf("%v %+v", r.Err, tools); strings.Contains(shown, "token-of-crm") {
			t.Error("the credential is shown")
		}
	}
}

// A search is shown, kept, and goes back byte for byte with its citations: thinking behind it stays
// valid. The turn pauses in between, and the loop goes on with it.
func TestASearchGoesOn(t *testing.T) {
	t.Parallel()
	const (
		call   = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"a<b & c"}}`
		result = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://e.com","title":"<E>","encrypted_content":"Eo+/=="}]}`
		cite   = `{"type":"web_search_result_location","url":"https://e.com","title":"<E>","cited_text":"so","encrypted_index":"Eo8B=="}`
	)
	n := 0
	server := anthropictest.StartPreserved(func(*anthropictest.Told) []anthropictest.Part {
		switch n++; n {
		case 1:
			return []anthropictest.Part{{Thinks: true, Text: "I search."}, {Raw: call, Pause: true}}
		case 2:
			return []anthropictest.Part{{Raw: result}, {Thinks: true}, {Text: "It is so.", Cites: cite}, {Thinks: true}, {Text: "Really."}}
		default:
			return []anthropictest.Part{{Thinks: true}, {Text: "As I said."}}
		}
	})
	t.Cleanup(server.Close)
	m, err := anthropic.New(sonnet, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	agent := braid.New("helper", m, braid.Options(model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch}}}))
	talk := braid.NewConversation()
	for _, ask := range []string{"Is it so?", "Sure?"} {
		if _, err := agent.Run(t.Context(), ask, braid.In(talk)); err != nil {
			t.Fatalf("%s: %v", ask, err)
		}
	}
	asked := server.Asked()
	if len(asked) != 3 {
		t.Fatalf("%d requests", len(asked))
	}
	last := string(asked[2].Body)
	for _, want := range []string{call, result, `"text":"It is so.","citations":[` + cite + `]}`} {
		if !strings.Contains(last, want) {
			t.Errorf("%s does not go back:\n%s", want, last)
		}
	}
	if got := thoughtsIn(asked[2].Body); got != 3 {
		t.Errorf("%d thinking blocks go back", got)
	}
}

// The vendor's summary stays in the history, goes back to those who ask for summaries, and to no
// others; thinking behind it stays valid, and its tokens are counted.
func TestCompaction(t *testing.T) {
	t.Parallel()
	n := 0
	server := anthropictest.StartPreserved(func(*anthropictest.Told) []anthropictest.Part {
		if n++; n == 2 {
			return []anthropictest.Part{{Raw: `{"type":"compaction","content":"Much was said.","encrypted_content":"Ep=="}`}, {Thinks: true}, {Text: "Yes."}}
		}
		return []anthropictest.Part{{Thinks: true}, {Text: "Yes."}}
	})
	t.Cleanup(server.Close)
	m, err := anthropic.New("claude-opus-5-5", secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	req := &model.Request{Messages: []event.Message{said("Go.")}, Options: model.Options{Context: model.ContextManagement{Compact: 60_000}}}
	for turn := range 6 {
		if turn == 5 {
			req.Options.Context = model.ContextManagement{}
		}
		r := modeltest.Call(context.Background(), m, req)
		asked := server.Asked()
		last := asked[len(asked)-1]
		if r.Err != nil || len(asked) != turn+1 {
			t.Fatalf("turn %d: %v, %d requests, %s", turn, r.Err, len(asked), last.Refused)
		}
		if back := strings.Contains(string(last.Body), `{"type":"compaction","content":"Much was said.","encrypted_content":"Ep=="}`); back != (turn > 1 && turn < 5) {
			t.Errorf("turn %d: the summary goes back: %v", turn, back)
		}
		if got := thoughtsIn(last.Body); turn < 5 && got != turn {
			t.Errorf("turn %d: %d thinking blocks go back", turn, got)
		}
		req.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: r.Content}, said("Go on."))
	}
	// The summary comes in one piece, and is counted beside the answer.
	body := `data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null,"signature":null}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"Much.","encrypted_content":"Ep=="}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5,"iterations":[{"type":"compaction","input_tokens":60000,"output_tokens":300},{"type":"message","input_tokens":9,"output_tokens":5}]}}

data: {"type":"message_stop"}

`
	m2, _ := open(t, sonnet, nil, anthropictest.Answer{Body: body})
	r := modeltest.Call(context.Background(), m2, &model.Request{Messages: []event.Message{said("Go.")}, Options: req.Options})
	want := `{"kind":"anthropic.compaction","type":"compaction","content":"Much.","signature":null,"encrypted_content":"Ep=="}`
	if u, ok := r.Content[0].(*event.UnknownBlock); r.Err != nil || !ok || string(u.Raw) != want || r.Usage.Input != 60_009 || r.Usage.Output != 305 || r.Usage.Total != 60_314 {
		t.Errorf("%v, %s, %+v", r.Err, r.Content[0], r.Usage)
	}
}

// A list of an MCP server's tools in an answer needs its beta from then on.
func TestAListOfMCPToolsKeepsItsBeta(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, nil, anthropictest.Text("ok"))
	r := modeltest.Call(context.Background(), m, &model.Request{Messages: []event.Message{said("Hi."), {Role: event.RoleAssistant, Content: []event.Block{
		&event.UnknownBlock{Name: "anthropic.mcp_tool_listing", Raw: json.RawMessage(`{"kind":"anthropic.mcp_tool_listing","type":"mcp_tool_listing","mcp_server_name":"crm","tools":[]}`)},
		&event.Text{Text: "Hi."},
	}}, said("Go.")}})
	if asked := server.Asked()[0]; r.Err != nil || asked.Header.Get("Anthropic-Beta") != "mcp-client-2026-09-15" {
		t.Errorf("%v, %s", r.Err, asked.Refused)
	}
}

// Calls of the vendor's tools that never got their results, and results without their calls, do not
// end the conversation.
func TestWhatTheVendorLeftOpen(t *testing.T) {
	t.Parallel()
	const sent = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	raw := func(kind, raw string) event.Block {
		return &event.UnknownBlock{Name: event.BlockKind("anthropic." + kind), Raw: json.RawMessage(`{"kind":"anthropic.` + kind + `",` + raw[1:])}
	}
	call := raw("server_tool_use", sent)
	result := raw("web_search_tool_result", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)
	own := &event.ToolCall{ID: "t1", Name: "a", Args: json.RawMessage(`{}`)}
	done := &event.ToolResult{Call: "t1", Name: "a", Content: []event.Block{&event.Text{Text: "done"}}}
	text := &event.Text{Text: "Text."}
	says := func(blocks ...event.Block) event.Message {
		return event.Message{Role: event.RoleAssistant, Content: blocks}
	}
	user := func(blocks ...event.Block) event.Message { return event.Message{Role: event.RoleUser, Content: blocks} }
	for name, tc := range map[string]struct {
		messages []event.Message
		back     bool
	}{
		"paused":                          {[]event.Message{user(text), says(text, call)}, true},
		"paused and left":                 {[]event.Message{user(text), says(text, call), user(text)}, false},
		"beside a call":                   {[]event.Message{user(text), says(call, own), user(done)}, true},
		"beside a call, and a message":    {[]event.Message{user(text), says(call, own), user(done, text)}, false},
		"answered later":                  {[]event.Message{user(text), says(call, own), user(done), says(result, text), user(text)}, true},
		"never answered":                  {[]event.Message{user(text), says(call, own), user(done), says(text), user(text)}, false},
		"a result whose call is away":     {[]event.Message{user(text), says(result, text), user(text)}, false},
		"nothing but what cannot be sent": {[]event.Message{user(text), says(call), user(text)}, false},
	} {
		m, server := open(t, sonnet, nil, anthropictest.Text("ok"))
		r := modeltest.Call(context.Background(), m, &model.Request{
			Messages: tc.messages, Tools: []model.ToolSpec{{Name: "a", Schema: []byte(`{"type":"object","properties":{}}`)}},
			Options: model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch}}},
		})
		if asked := server.Asked()[0]; r.Err != nil || strings.Contains(string(asked.Body), sent) != tc.back {
			t.Errorf("%s: %v, %s", name, r.Err, asked.Body)
		}
	}
}

// The vendor's searches are counted: they cost beside the tokens. A later count replaces an
// earlier one.
func TestSearchesAreCounted(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start(anthropictest.Answer{Body: `event: message_start
data: {"type":"message_start","message":{"id":"m","model":"claude-sonnet-5-5","usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"So."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"server_tool_use":{"web_search_requests":2,"web_fetch_requests":1}}}

event: message_stop
data: {"type":"message_stop"}

`})
	t.Cleanup(server.Close)
	m, err := anthropic.New(sonnet, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	r := modeltest.Call(t.Context(), m, &model.Request{
		Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "q"}}}}, Options: model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch}}},
	})
	if r.Err != nil || r.Usage.WebSearches != 2 || r.Usage.Output != 9 {
		t.Errorf("%+v, %v", r.Usage, r.Err)
	}
}
