package gemini_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/secret"
)

// capture keeps what is sent, and answers with a whole stream.
type capture struct{ body []byte }

const whole = `data: {"candidates": [{"content": {"parts": [{"text": "Yes."}],"role": "model"},"finishReason": "STOP","index": 0}]}` + "\r\n\r\n"

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if c.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(whole)), Request: r,
	}, nil
}

// sent is the body of a request of ours.
func sent(t *testing.T, name string, req *model.Request, opts ...gemini.Option) []byte {
	t.Helper()
	c := &capture{}
	m, err := gemini.New(name, secret.New("k"), append(opts, gemini.HTTPClient(&http.Client{Transport: c}))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return c.body
}

func value(t *testing.T, data []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// sdkRequest is a request in the SDK's types. The SDK has none of its own.
type sdkRequest struct {
	Contents          []*genai.Content        `json:"contents,omitempty"`
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
	SafetySettings    []*genai.SafetySetting  `json:"safetySettings,omitempty"`
	CachedContent     string                  `json:"cachedContent,omitempty"`
	ServiceTier       genai.ServiceTier       `json:"serviceTier,omitempty"`
}

func message(role event.Role, b ...event.Block) event.Message {
	return event.Message{Role: role, Content: b}
}

// everything is a history with every kind of block that goes to the vendor.
func everything() []event.Message {
	return []event.Message{
		message(event.RoleUser, &event.Text{Text: "Go."}, &event.Image{MIME: "image/png", Data: []byte("x")},
			&event.Document{URL: "https://generativelanguage.googleapis.com/v1beta/files/a", MIME: "application/pdf"},
			&event.Media{Media: "audio", MIME: "audio/wav", URL: "data:audio/wav;base64,eA=="}),
		message(event.RoleAssistant,
			&event.UnknownBlock{Name: "gemini.toolCall", Raw: json.RawMessage(`{"kind":"gemini.toolCall","toolCall":{"id":"s","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["a"]}},"thoughtSignature":"c2ln"}`)},
			&event.UnknownBlock{Name: "gemini.toolResponse", Raw: json.RawMessage(`{"kind":"gemini.toolResponse","toolResponse":{"id":"s","toolType":"GOOGLE_SEARCH_WEB","response":{"x":"y"}}}`)},
			&event.Code{Language: "python", Code: "1", ID: "c", Signature: "gemini.c2ln"}, &event.CodeResult{Outcome: "failed", Output: "2", ID: "c", Signature: "gemini."},
			&event.Text{Text: "I look.", Signature: "gemini.c2ln"},
			&event.ToolCall{ID: "t1", Name: "add", Args: []byte(`{"a":1,"b":{"c":[true,null]}}`), Signature: "gemini.c2ln"}, &event.ToolCall{ID: "t2", Name: "add"}),
		message(event.RoleUser,
			&event.ToolResult{Call: "t1", Name: "add", Content: []event.Block{&event.Text{Text: "3"}, &event.Image{MIME: "image/png", Data: []byte("x")}}},
			&event.ToolResult{Call: "t2", Name: "add", IsError: true, Content: []event.Block{&event.Text{Text: "no"}}}),
	}
}

// What is sent can be read into the SDK's types and written again, and nothing is lost.
func TestRequestsAreTheSDKs(t *testing.T) {
	t.Parallel()
	half, seed := 0.5, int64(7)
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)
	tools := []model.ToolSpec{{Name: "add", Description: "Adds.", Schema: schema, Strict: true}}
	servers := []model.ServerTool{
		{Kind: model.WebSearch},
		{Kind: model.WebFetch},
		{Kind: model.CodeExecution},
		{Kind: model.FileSearch, Stores: []string{"a"}},
		{Kind: model.RemoteMCP, Name: "docs", URL: "https://mcp.example.com/mcp", Token: func() string { return "t" }},
	}
	for name, tc := range map[string]struct {
		model string
		req   model.Request
		opts  []gemini.Option
	}{
		"plain": {"gemini-3.6-flash", model.Request{}, nil},
		"everything": {"gemini-3.6-flash", model.Request{
			Instructions: "Be brief.", Tools: tools, Output: &model.OutputSchema{Schema: schema},
			Options: model.Options{
				MaxTokens: 5, Temperature: &half, TopP: &half, Seed: &seed, StopWords: []string{"END"}, Effort: model.EffortHigh, ShowThinking: true,
				ServiceTier: "flex", ServerTools: servers, Extra: map[string]json.RawMessage{"generationConfig": json.RawMessage(`{"topK":3}`)},
			},
		}, []gemini.Option{gemini.Safety(gemini.SafetySetting{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "OFF"})}},
		"a budget": {"gemini-2.5-flash", model.Request{Options: model.Options{Effort: model.EffortNone}}, nil},
		"a choice": {"gemini-3.6-flash", model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "add"}}, nil},
		"Vertex":   {"gemini-3.6-flash", model.Request{Tools: tools, Options: model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch, Blocked: []string{"e.com"}}}}}, []gemini.Option{gemini.Vertex("p", "global", nil)}},
		"a cache":  {"gemini-3.6-flash", model.Request{}, []gemini.Option{gemini.CachedContent("cachedContents/a")}},
	} {
		tc.req.Messages = everything()
		body := sent(t, tc.model, &tc.req, tc.opts...)
		var theirs sdkRequest
		if err := json.Unmarshal(body, &theirs); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := json.Marshal(&theirs)
		if err != nil {
			t.Fatal(err)
		}
		ours := value(t, body)
		hollow(ours)
		back := value(t, again)
		hollow(back)
		if d := cmp.Diff(ours, back); d != "" {
			t.Errorf("%s -ours +SDK:\n%s", name, d)
		}
	}
}

// hollow leaves out members that are empty objects: the SDK's types do, of arguments.
func hollow(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			hollow(x)
			if m, ok := x.(map[string]any); ok && len(m) == 0 && k == "args" {
				delete(v, k)
			}
		}
	case []any:
		for _, x := range v {
			hollow(x)
		}
	}
}

// The SDK would send the same from its own types.
func TestTheSDKWouldSendTheSame(t *testing.T) {
	t.Parallel()
	c := &capture{}
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "k", HTTPClient: &http.Client{Transport: c}, HTTPOptions: genai.HTTPOptions{BaseURL: "http://127.0.0.1:1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	contents := []*genai.Content{
		{Role: "user", Parts: []*genai.Part{{Text: "Go."}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")}}}},
		{Role: "model", Parts: []*genai.Part{
			{Text: "I look."},
			{FunctionCall: &genai.FunctionCall{ID: "t1", Name: "add", Args: map[string]any{"a": 1}}, ThoughtSignature: []byte("signature")},
		}},
		{Role: "user", Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{ID: "t1", Name: "add", Response: map[string]any{"output": "3"}}}}},
	}
	half, seed := float32(0.5), int32(7)
	config := &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
		Tools: []*genai.Tool{
			{FunctionDeclarations: []*genai.FunctionDeclaration{{
				Name: "add", Description: "Adds.",
				ParametersJsonSchema: map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer"}}},
			}}},
			{GoogleSearch: &genai.GoogleSearch{}},
			{FileSearch: &genai.FileSearch{FileSearchStoreNames: []string{"fileSearchStores/a"}}},
		},
		ToolConfig: &genai.ToolConfig{
			FunctionCallingConfig:            &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{"add"}},
			IncludeServerSideToolInvocations: genai.Ptr(true),
		},
		MaxOutputTokens: 100, Temperature: &half, TopP: &half, Seed: &seed, StopSequences: []string{"END"}, ServiceTier: genai.ServiceTierFlex,
		ResponseMIMEType: "application/json", ResponseJsonSchema: map[string]any{"type": "object"},
		ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelLow},
		SafetySettings: []*genai.SafetySetting{{Category: genai.HarmCategoryHarassment, Threshold: genai.HarmBlockThresholdOff}},
	}
	for _, err := range client.Models.GenerateContentStream(t.Context(), gemini.Default, contents, config) {
		if err != nil {
			t.Fatal(err)
		}
	}
	part, number := 0.5, int64(7)
	body := sent(t, gemini.Default, &model.Request{
		Instructions: "Be brief.", Tools: []model.ToolSpec{{Name: "add", Description: "Adds.", Schema: []byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}},
		ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "add"}, Output: &model.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)},
		Options: model.Options{
			MaxTokens: 100, Temperature: &part, TopP: &part, Seed: &number, StopWords: []string{"END"}, Thinking: 1000, ServiceTier: "flex",
			ServerTools: []model.ServerTool{{Kind: model.WebSearch}, {Kind: model.FileSearch, Stores: []string{"a"}}},
		},
		Messages: []event.Message{
			message(event.RoleUser, &event.Text{Text: "Go."}, &event.Image{MIME: "image/png", Data: []byte("x")}),
			message(event.RoleAssistant, &event.Text{Text: "I look."}, &event.ToolCall{ID: "t1", Name: "add", Args: []byte(`{"a":1}`), Signature: "gemini.c2lnbmF0dXJl"}),
			message(event.RoleUser, &event.ToolResult{Call: "t1", Name: "add", Content: []event.Block{&event.Text{Text: "3"}}}),
		},
	}, gemini.Safety(gemini.SafetySetting{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "OFF"}))
	want := value(t, c.body)
	if s, ok := want["systemInstruction"].(map[string]any); ok {
		delete(s, "role")
	}
	if d := cmp.Diff(want, value(t, body)); d != "" {
		t.Errorf("-SDK +ours:\n%s", d)
	}
}
