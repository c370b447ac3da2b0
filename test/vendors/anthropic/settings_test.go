package anthropic_test

import (
	"encoding/json"
	"reflect"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/secret"
)

// The vendor's SDK knows everything in a request that uses the betas: it reads it and writes the same.
func TestTheSDKKnowsTheBetas(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start(anthropictest.Text("ok"))
	t.Cleanup(server.Close)
	m, err := anthropic.New("claude-opus-5-5", secret.New(anthropictest.Key), anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	spec := func(name string) model.ToolSpec {
		return model.ToolSpec{
			Name: name, Strict: name == "strict", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`),
		}
	}
	raw := func(kind, rest string) event.Block {
		return &event.UnknownBlock{Name: event.BlockKind("anthropic." + kind), Raw: json.RawMessage(`{"kind":"anthropic.` + kind + `",` + rest + `}`)}
	}
	says := func(role event.Role, blocks ...event.Block) event.Message {
		return event.Message{Role: role, Content: blocks}
	}
	req := &model.Request{
		Instructions: "New.", Tools: []model.ToolSpec{spec("strict"), spec("new")},
		Messages: []event.Message{says(event.RoleUser, &event.Text{Text: "Hi."}), says(
			event.RoleAssistant,
			raw("compaction", `"type":"compaction","content":"x","encrypted_content":"y"`),
			raw("mcp_tool_listing", `"type":"mcp_tool_listing","mcp_server_name":"crm","tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}]`),
			raw("server_tool_use", `"type":"server_tool_use","id":"i","name":"web_search","input":{"query":"q"}`),
			raw("web_search_tool_result", `"type":"web_search_tool_result","tool_use_id":"i","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"e"}]`),
			&event.Text{Text: "Hi."},
			raw("citations", `"citations":[{"type":"web_search_result_location","url":"u","title":"t","cited_text":"c","encrypted_index":"e"}]`),
		), says(event.RoleUser, &event.Text{Text: "Go."})},
		Setups: []model.Setup{
			{Instructions: "Old.", Tools: []model.ToolSpec{spec("strict"), spec("old")}},
			{From: 2, Instructions: "New.", Tools: []model.ToolSpec{spec("strict"), spec("new")}},
		},
		Options: model.Options{
			Effort: model.EffortHigh, ShowThinking: true, ServiceTier: "auto",
			ServerTools: []model.ServerTool{
				{Kind: model.WebSearch, MaxUses: 3, Domains: []string{"example.com"}},
				{Kind: model.WebFetch, Blocked: []string{"a.example"}},
				{Kind: model.CodeExecution},
				{Kind: model.RemoteMCP, Name: "crm", URL: "https://mcp.example.com/mcp", Tools: []string{"f"}, Token: func() string { return "token" }},
			},
			Context: model.ContextManagement{ClearResults: 1000, KeepResults: 2, Compact: 60_000},
		},
	}
	for _, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatalf("%v: %s", err, server.Asked()[0].Refused)
		}
	}
	body := server.Asked()[0].Body
	var params sdk.BetaMessageNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var sent, known map[string]any
	if json.Unmarshal(body, &sent) != nil || json.Unmarshal(again, &known) != nil {
		t.Fatal("no JSON")
	}
	delete(sent, "stream") // the SDK adds it
	if !reflect.DeepEqual(sent, known) {
		t.Errorf("%s\n%s", body, again)
	}
}
