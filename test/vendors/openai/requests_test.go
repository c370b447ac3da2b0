package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

// history has blocks of every kind that a request may hold.
func history() []event.Message {
	said := func(role event.Role, b ...event.Block) event.Message { return event.Message{Role: role, Content: b} }
	return []event.Message{
		said(event.RoleUser, &event.Text{Text: "See."}, &event.Image{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n0000")}, &event.Image{URL: "https://example.com/a.png"},
			&event.Document{Name: "a.pdf", Data: []byte("%PDF-1.7 x")}, &event.Document{URL: "openai-file:file-abc"}, &event.Document{Name: "b.md", Text: "# B"}),
		said(event.RoleAssistant, &event.Thinking{Text: "Hm.", Signature: "openai.rs_1.gAA="}, &event.Text{Text: "I look.", Signature: "openai.phase.commentary"},
			&event.ToolCall{ID: "a", Name: "add", Args: json.RawMessage(`{"a":1}`)}, &event.ToolCall{ID: "b", Name: "look.up"}),
		said(event.RoleUser, &event.ToolResult{Call: "a", Content: []event.Block{&event.Text{Text: "11"}, &event.Image{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n0000")}}},
			&event.ToolResult{Call: "b"}),
		said(event.RoleAssistant, &event.Text{Text: "Eleven."}),
		said(event.RoleUser, &event.Text{Text: "Go on."}),
	}
}

// What Braid sends, the vendor's SDK knows whole: its types lose nothing of it.
func TestTheSDKKnowsWhatIsSent(t *testing.T) {
	t.Parallel()
	tools := []model.ToolSpec{
		{Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)}, {Name: "look.up"},
	}
	half := 0.5
	output := &model.OutputSchema{Name: "place", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
	for name, tc := range map[string]struct {
		model string
		api   openai.API
		req   model.Request
	}{
		"Responses":                     {"gpt-5.4", openai.Responses, model.Request{Instructions: "Be brief.", Tools: tools, Options: model.Options{MaxTokens: 99, Thinking: 5000}}},
		"Responses, one tool":           {"gpt-5.4", openai.Responses, model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "add", Serial: true}}},
		"Responses, a schema":           {"gpt-4o", openai.Responses, model.Request{Output: output, Options: model.Options{Temperature: &half}}},
		"Responses, any tool":           {"gpt-4o", openai.Responses, model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsAny}}},
		"Chat Completions":              {"gpt-4o", openai.ChatCompletions, model.Request{Instructions: "Be brief.", Tools: tools, Options: model.Options{MaxTokens: 99, StopWords: []string{"x"}, Temperature: &half}}},
		"Chat Completions, one tool":    {"gpt-4o", openai.ChatCompletions, model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "add", Serial: true}}},
		"Chat Completions, a schema":    {"gpt-4o", openai.ChatCompletions, model.Request{Output: output}},
		"Chat Completions, one reasons": {"o4-mini", openai.ChatCompletions, model.Request{Options: model.Options{Thinking: 20000}}},
	} {
		var sent []byte
		answer := openaitest.Text(openaitest.API(tc.api), "Yes.")
		m, err := openai.New(tc.model, secret.New("k"), openai.Use(tc.api), openai.CacheKey("agent"),
			openai.HTTPClient(&http.Client{Transport: giving{kind: "text/event-stream", body: answer.Body, sent: &sent}}))
		if err != nil {
			t.Fatal(err)
		}
		tc.req.Messages = history()
		if r := modeltest.Call(t.Context(), m, &tc.req); r.Err != nil {
			t.Fatalf("%s: %v", name, r.Err)
		}
		if tc.api == openai.Responses {
			same(t, name, sent, &responses.ResponseNewParams{}, "stream")
		} else {
			same(t, name, sent, &sdk.ChatCompletionNewParams{}, "stream")
		}
	}
}

// The same of every option, of what the vendor's own tools are asked for, and of what they
// have done in the conversation.
func TestTheSDKKnowsTheOptionsThatAreSent(t *testing.T) {
	t.Parallel()
	ran := func(kind, members string) event.Block {
		return &event.UnknownBlock{
			Name: event.BlockKind("openai." + kind), Raw: json.RawMessage(`{"kind":"openai.` + kind + `","type":"` + kind + `","id":"x_1",` + members + `}`),
		}
	}
	half, seven := 0.5, int64(7)
	strict := []model.ToolSpec{{Name: "add", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)}}
	metadata := map[string]json.RawMessage{"metadata": json.RawMessage(`{"a":"b"}`)}
	hosted := []model.ServerTool{
		{Kind: model.WebSearch, Domains: []string{"a.example"}},
		{Kind: model.FileSearch, Stores: []string{"vs_1"}},
		{Kind: model.CodeExecution},
		{Kind: model.RemoteMCP, Name: "docs", URL: "https://mcp.example", Tools: []string{"find"}, Token: func() string { return "T" }},
	}
	for name, tc := range map[string]struct {
		model string
		api   openai.API
		cache string
		req   model.Request
	}{
		"Responses": {"gpt-6.1-sol", openai.Responses, "12h", model.Request{Tools: strict, Options: model.Options{
			Effort: model.EffortMax, ShowThinking: true, Verbosity: "low", ServiceTier: "flex", ServerTools: hosted, Extra: metadata,
			Context: model.ContextManagement{Compact: 9000, Truncate: true},
		}}},
		"Responses, one tool of the vendor's": {"gpt-4o", openai.Responses, "24h", model.Request{Options: model.Options{
			TopP: &half, ServerTools: []model.ServerTool{{Kind: model.WebSearch, MaxUses: 3}},
		}}},
		"Responses, a schema and a verbosity": {"gpt-5", openai.Responses, "in_memory", model.Request{
			Output:  &model.OutputSchema{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)},
			Options: model.Options{Verbosity: "high"},
		}},
		"Chat Completions": {"gpt-5", openai.ChatCompletions, "24h", model.Request{Options: model.Options{
			Seed: &seven, Effort: "minimal", Verbosity: "low", ServiceTier: "priority", Extra: metadata,
		}}},
		"Chat Completions, strict":   {"gpt-4o", openai.ChatCompletions, "24h", model.Request{Tools: strict, Options: model.Options{TopP: &half}}},
		"Chat Completions, a search": {"gpt-4o-search-preview", openai.ChatCompletions, "24h", model.Request{Options: own()}},
	} {
		var sent []byte
		answer := openaitest.Text(openaitest.API(tc.api), "Yes.")
		m, err := openai.New(tc.model, secret.New("k"), openai.Use(tc.api), openai.CacheRetention(tc.cache),
			openai.HTTPClient(&http.Client{Transport: giving{kind: "text/event-stream", body: answer.Body, sent: &sent}}))
		if err != nil {
			t.Fatal(err)
		}
		tc.req.Messages = append(history(), event.Message{Role: event.RoleAssistant, Content: []event.Block{
			ran("compaction", `"encrypted_content":"gAA"`),
			ran("mcp_list_tools", `"server_label":"docs","tools":[{"name":"find","input_schema":{"type":"object"},"annotations":null,"description":"d"}],"error":null`),
			ran("web_search_call", `"status":"completed","action":{"type":"search","query":"x","sources":[{"type":"url","url":"https://a.example"}]}`),
			ran("file_search_call", `"status":"completed","queries":["x"],"results":[{"file_id":"f","filename":"a.pdf","score":0.5,"text":"t","attributes":{}}]`),
			ran("code_interpreter_call", `"status":"completed","code":"print(1)","container_id":"c","outputs":[{"type":"logs","logs":"1"}]`),
			ran("mcp_call", `"status":"completed","arguments":"{}","name":"find","output":"found","server_label":"docs","error":null`),
			&event.Text{Text: "Found."},
		}}, event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Thanks."}}})
		if r := modeltest.Call(t.Context(), m, &tc.req); r.Err != nil {
			t.Fatalf("%s: %v", name, r.Err)
		}
		if tc.api == openai.Responses {
			same(t, name, sent, &responses.ResponseNewParams{}, "stream")
		} else {
			same(t, name, sent, &sdk.ChatCompletionNewParams{}, "stream")
		}
	}
}

func own() model.Options {
	return model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch}}}
}

// The body of a count is one that the SDK knows too.
func TestTheSDKKnowsWhatIsCounted(t *testing.T) {
	t.Parallel()
	var sent []byte
	m, err := openai.New("gpt-5.4", secret.New("k"), openai.HTTPClient(&http.Client{Transport: giving{
		kind: "application/json", body: `{"object":"response.input_tokens","input_tokens":7}`, sent: &sent,
	}}))
	if err != nil {
		t.Fatal(err)
	}
	req := model.Request{Messages: history(), Instructions: "Be brief.", Tools: []model.ToolSpec{{Name: "add"}}, Options: model.Options{MaxTokens: 99, Thinking: 5000}}
	if n, err := model.Count(t.Context(), m, &req); n != 7 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	same(t, "a count", sent, &responses.InputTokenCountParams{})
}

// same checks that nothing of a body is lost in the SDK's type of it, but for some members.
func same(t *testing.T, name string, body []byte, params any, but ...string) {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(body, &want); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	// The SDK does not find the type of what may be one of several. What that is, the test says.
	if _, counts := params.(*responses.InputTokenCountParams); counts || want["input"] != nil {
		for i, raw := range list(t, want["input"]) {
			kept(t, fmt.Sprintf("%s, item %d", name, i), raw, itemType(t, raw))
		}
		delete(want, "input")
	}
	if choice := want["tool_choice"]; len(choice) > 0 && choice[0] == '{' {
		var into any = &sdk.ChatCompletionNamedToolChoiceParam{}
		if want["messages"] == nil {
			into = &responses.ToolChoiceFunctionParam{}
		}
		kept(t, name+", its choice", choice, into)
		delete(want, "tool_choice")
	}
	for _, member := range but {
		delete(want, member)
	}
	rest, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	kept(t, name, rest, params)
}

func list(t *testing.T, raw json.RawMessage) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return all
}

// itemType is the SDK's type of an item, whose parts are checked on the way.
func itemType(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var head struct {
		Type, Role      string
		Content, Output json.RawMessage
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		t.Fatal(err)
	}
	for _, parts := range []json.RawMessage{head.Content, head.Output} {
		if len(parts) == 0 || parts[0] != '[' {
			continue
		}
		for _, part := range list(t, parts) {
			var kind struct{ Type string }
			if err := json.Unmarshal(part, &kind); err != nil {
				t.Fatal(err)
			}
			into, known := map[string]any{
				"input_text": &responses.ResponseInputTextParam{}, "input_image": &responses.ResponseInputImageParam{},
				"input_file": &responses.ResponseInputFileParam{}, "output_text": &responses.ResponseOutputTextParam{},
			}[kind.Type]
			if !known {
				t.Errorf("nobody knows a part of %q", kind.Type)
				continue
			}
			kept(t, "a part", part, into)
		}
	}
	switch {
	case head.Type == "function_call":
		return &responses.ResponseFunctionToolCallParam{}
	case head.Type == "function_call_output":
		return &responses.ResponseInputItemFunctionCallOutputParam{}
	case head.Type == "reasoning":
		return &responses.ResponseReasoningItemParam{}
	case head.Type == "web_search_call":
		return &responses.ResponseFunctionWebSearchParam{}
	case head.Type == "file_search_call":
		return &responses.ResponseFileSearchToolCallParam{}
	case head.Type == "code_interpreter_call":
		return &responses.ResponseCodeInterpreterToolCallParam{}
	case head.Type == "mcp_call":
		return &responses.ResponseInputItemMcpCallParam{}
	case head.Type == "mcp_list_tools":
		return &responses.ResponseInputItemMcpListToolsParam{}
	case head.Type == "compaction":
		return &responses.ResponseCompactionItemParam{}
	case head.Role == "assistant":
		return &responses.ResponseOutputMessageParam{}
	default:
		return &responses.EasyInputMessageParam{}
	}
}

// kept checks that a value is in the SDK's type of it, whole. The SDK may add to it.
func kept(t *testing.T, name string, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Errorf("%s: %v: %s", name, err, raw)
		return
	}
	again, err := json.Marshal(into)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var want, got any
	if json.Unmarshal(raw, &want) != nil || json.Unmarshal(again, &got) != nil {
		t.Fatalf("%s: %s", name, again)
	}
	if where := lost(want, got, ""); where != "" {
		t.Errorf("%s: the SDK's %T has no %s of %s: %s", name, into, where, raw, again)
	}
}

// lost is where a value has something that another has not; "" is nowhere.
func lost(want, got any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		in, ok := got.(map[string]any)
		for k, v := range want {
			if !ok {
				return at
			}
			if where := lost(v, in[k], at+"."+k); where != "" {
				return where
			}
		}
		return ""
	case []any:
		in, ok := got.([]any)
		if !ok || len(in) != len(want) {
			return at
		}
		for i := range want {
			if where := lost(want[i], in[i], fmt.Sprintf("%s[%d]", at, i)); where != "" {
				return where
			}
		}
		return ""
	default:
		if want != got {
			return at
		}
		return ""
	}
}
