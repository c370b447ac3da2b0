package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
)

func made(t *testing.T, name string, opts ...Option) *Model {
	t.Helper()
	m, err := New(name, secret.New("k"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func from(role event.Role, b ...event.Block) event.Message {
	return event.Message{Role: role, Content: b}
}

// What stands behind the messages, by model, API and options.
func TestOptionsOnTheWire(t *testing.T) {
	t.Parallel()
	half := 0.5
	other := BaseURL("https://example.com/v1")
	tools := []model.ToolSpec{{Name: "f"}, {Name: "g.h"}}
	const stream = `,"stream":true,"stream_options":{"include_usage":true}}`
	for _, tc := range []struct {
		m    *Model
		req  model.Request
		want string
	}{
		{made(t, "gpt-5.4"), model.Request{}, `,"include":["reasoning.encrypted_content"],"store":false,"stream":true}`},
		{made(t, "gpt-4o"), model.Request{Options: model.Options{Thinking: 9, Temperature: &half}}, `,"temperature":0.5,"store":false,"stream":true}`},
		{
			made(t, "o3"),
			model.Request{Options: model.Options{Thinking: 20000, MaxTokens: 3}},
			`,"max_output_tokens":16,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},"store":false,"stream":true}`,
		},
		{
			made(t, "gpt-5", Effort("minimal")),
			model.Request{},
			`,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"minimal"},"store":false,"stream":true}`,
		},
		{made(t, "my-model", Reasons(true)), model.Request{}, `,"include":["reasoning.encrypted_content"],"store":false,"stream":true}`},
		{made(t, "gpt-5-chat-latest"), model.Request{}, `,"store":false,"stream":true}`},
		{
			made(t, "o4-mini", Use(ChatCompletions)),
			model.Request{Options: model.Options{Thinking: 5000, MaxTokens: 9}},
			`,"max_completion_tokens":9,"reasoning_effort":"medium"` + stream,
		},
		{
			made(t, "gpt-4o", Use(ChatCompletions)),
			model.Request{Options: model.Options{Thinking: 5000, StopWords: []string{"a", " ", "\""}}},
			`,"stop":["a","\""]` + stream,
		},
		{
			made(t, "qwen3", other),
			model.Request{Options: model.Options{Thinking: 1, MaxTokens: 9, Temperature: &half}},
			`,"temperature":0.5,"max_tokens":9,"reasoning_effort":"low"` + stream,
		},
		{
			made(t, "qwen3", other),
			model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsAny, Serial: true}},
			`,"tool_choice":"required","parallel_tool_calls":false` + stream,
		},
		{
			made(t, "qwen3", other),
			model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "f"}},
			`,"tool_choice":{"type":"function","function":{"name":"f"}}` + stream,
		},
		{
			made(t, "gpt-4o"),
			model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "f"}},
			`,"tool_choice":{"type":"function","name":"f"},"store":false,"stream":true}`,
		},
		{made(t, "gpt-4o"), model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolsAny}}, `,"store":false,"stream":true}`},
	} {
		tc.req.Messages = []event.Message{from(event.RoleUser, &event.Text{Text: "q"})}
		body, _, err := tc.m.body(&tc.req)
		if err != nil || !json.Valid(body) {
			t.Fatalf("%v: %s", err, body)
		}
		_, tail, _ := strings.Cut(string(body), `"q"`)
		if got := strings.TrimLeft(tail, "}]"); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.m.name, got, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		m    *Model
		o    model.Options
		want event.ErrorKind
	}{
		"a temperature for one that reasons": {made(t, "gpt-5.4"), model.Options{Temperature: &half}, event.ErrUnsupported},
		"words in Responses":                 {made(t, "gpt-4o"), model.Options{StopWords: []string{"x"}}, event.ErrUnsupported},
		"words for one that reasons":         {made(t, "o3", Use(ChatCompletions)), model.Options{StopWords: []string{"x"}}, event.ErrUnsupported},
		"too many words":                     {made(t, "gpt-4o", Use(ChatCompletions)), model.Options{StopWords: strings.Split("12345", "")}, event.ErrInvalid},
	} {
		if _, _, err := tc.m.body(&model.Request{Messages: []event.Message{from(event.RoleUser, &event.Text{Text: "q"})}, Options: tc.o}); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A tool's schema becomes one that the APIs take, and what they do not take is told.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][2]string{
		``:                      {`{"type":"object","properties":{}}`, ``},
		`true`:                  {`{"type":"object","properties":{}}`, ``},
		`{ "type" : "object" }`: {`{"type":"object","properties":{}}`, ``},
		`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"oneOf":[{"type":"null"}]}}}`: {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"oneOf":[{"type":"null"}]}}}`, ``,
		},
		`{"type":"object","oneOf":[{"required":["a"]},{"required":["c"]}],"properties":{},"not":{"required":["b"]}}`: {
			`{"type":"object","properties":{}}`,
			`The input must also match this JSON schema: {"oneOf":[{"required":["a"]},{"required":["c"]}],"not":{"required":["b"]}}`,
		},
		`{"type":"object","properties":{"a":{"type":"array"},"b":true}}`: {`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{}}}`, ``},
	} {
		schema, rest, err := made(t, "gpt-4o").toolSchema(&model.ToolSpec{Schema: json.RawMessage(given)})
		if err != nil || string(schema) != want[0] || rest != want[1] {
			t.Errorf("%s: %s, %s, %v", given, schema, rest, err)
		}
	}
	for _, given := range []string{`{"type":"string"}`, `[]`, `{`, `{"type":["object","null"]}`, `false`} {
		if _, _, err := made(t, "gpt-4o").body(&model.Request{
			Messages: []event.Message{from(event.RoleUser, &event.Text{Text: "q"})}, Tools: []model.ToolSpec{{Name: "f", Schema: json.RawMessage(given)}},
		}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// What a message becomes in each API.
func TestMessagesOnTheWire(t *testing.T) {
	t.Parallel()
	answer := from(
		event.RoleAssistant, &event.Thinking{Text: "Hm."}, &event.Thinking{Text: "So.", Signature: "openai.rs_7.gAA=.x"},
		&event.Thinking{Text: "No.", Signature: "another vendor's"}, &event.Text{Text: "I look."},
		&event.ToolCall{ID: "a", Name: "f.g", Args: json.RawMessage(`{"x": 1}`)}, &event.ToolCall{ID: strings.Repeat("long_", 12), Name: "f", Args: json.RawMessage(`7`)},
		&event.Thinking{Text: "alone", Signature: "openai.rs_8.gAA="},
	)
	results := from(
		event.RoleUser, &event.Text{Text: "Go on."}, &event.ToolResult{Call: strings.Repeat("long_", 12)},
		&event.ToolResult{Call: "a", Content: []event.Block{&event.Text{Text: "1"}, &event.Image{MIME: "image/png", Data: []byte("x")}}},
	)
	for api, want := range map[string]string{
		"vendor's chat": `{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"NAME","arguments":"{\"x\": 1}"}},` +
			`{"id":"LONG","type":"function","function":{"name":"f","arguments":"{\"value\":7}"}}]},` +
			`{"role":"tool","tool_call_id":"LONG","content":"[nothing]"},{"role":"tool","tool_call_id":"a","content":"1"},` +
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}},{"type":"text","text":"Go on."}]},`,
		"chat": `{"role":"assistant","content":"I look.","reasoning_content":"Hm.","tool_calls":[{"id":"a","type":"function","function":{"name":"NAME","arguments":"{\"x\": 1}"}},` +
			`{"id":"LONG","type":"function","function":{"name":"f","arguments":"{\"value\":7}"}}]},` +
			`{"role":"tool","tool_call_id":"LONG","content":"[nothing]"},{"role":"tool","tool_call_id":"a","content":"1"},` +
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}},{"type":"text","text":"Go on."}]},`,
		"responses": `{"type":"reasoning","id":"rs_7","summary":[{"type":"summary_text","text":"So."}],"encrypted_content":"gAA=.x"},` +
			`{"role":"assistant","content":[{"type":"output_text","text":"I look."}]},{"type":"function_call","call_id":"a","name":"NAME","arguments":"{\"x\": 1}"},` +
			`{"type":"function_call","call_id":"LONG","name":"f","arguments":"{\"value\":7}"},{"type":"function_call_output","call_id":"LONG","output":"[nothing]"},` +
			`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"1"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,eA=="}]},` +
			`{"role":"user","content":[{"type":"input_text","text":"Go on."}]},`,
	} {
		e := encoder{api: ChatCompletions, vendors: api != "chat", thinks: true}
		if api == "responses" {
			e.api = Responses
		}
		long := strings.Repeat("long_", 8) // 40 bytes
		e.Encode(&answer)
		e.Encode(&results)
		got := strings.ReplaceAll(strings.ReplaceAll(string(e.dst), long, "LONG"), toolNames.Wire("f.g"), "NAME")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s\n%s", api, d)
		}
	}
}

// Over 20 turns with tools, each request begins with the bytes of the one
// before, up to the end of its messages: that is what the vendor caches.
func TestRequestsBeginAlike(t *testing.T) {
	t.Parallel()
	for _, m := range []*Model{made(t, "gpt-5.4"), made(t, "gpt-4o", Use(ChatCompletions)), made(t, "qwen3", BaseURL("http://127.0.0.1/v1"))} {
		messages := []event.Message{from(event.RoleUser, &event.Text{Text: "Begin."})}
		var before []byte
		for i := range 20 {
			body, _, err := m.body(&model.Request{Instructions: "Be brief.", Tools: []model.ToolSpec{{Name: "f"}}, Messages: messages})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(body, before) || len(before) == 0 && i > 0 {
				t.Fatalf("%s, turn %d: %s\n does not begin with %s", m.name, i, body, before)
			}
			before = bytes.Clone(body[:bytes.LastIndex(body, []byte("]"+string(mustTail(t, m))))])
			id := fmt.Sprint("c", i%3) // ids come again
			messages = append(messages, from(event.RoleAssistant, &event.Thinking{Text: "Hm.", Signature: seal("rs_1", "x")}, &event.ToolCall{ID: id, Name: "f"}),
				from(event.RoleUser, &event.ToolResult{Call: id, Content: []event.Block{&event.Text{Text: "ok"}}}))
		}
	}
}

func mustTail(t *testing.T, m *Model) []byte {
	t.Helper()
	tail, err := m.tail(&model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return tail[1:]
}

// A model that has seen a conversation before says the same as one that has
// not, however it went on or back.
func TestWarmIsAsCold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		api := rapid.SampledFrom([]API{ChatCompletions, Responses}).Draw(t, "api")
		warm := &Model{name: "m", api: api}
		messages := []event.Message{from(event.RoleUser, &event.Text{Text: "Begin."})}
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			if n := rapid.IntRange(0, 2).Draw(t, "back"); n > 0 && len(messages) > 2*n {
				messages = messages[:len(messages)-2*n]
			}
			for range rapid.IntRange(0, 3).Draw(t, "turns") {
				id := rapid.SampledFrom([]string{"a", "b", "", "a_2"}).Draw(t, "id")
				messages = append(append([]event.Message(nil), messages...), from(event.RoleAssistant, &event.ToolCall{ID: id, Name: "f"}),
					from(event.RoleUser, &event.ToolResult{Call: id}))
			}
			req := &model.Request{Messages: messages, Instructions: rapid.SampledFrom([]string{"", "x"}).Draw(t, "instructions")}
			got, _, err := warm.body(req)
			want, _, err2 := (&Model{name: "m", api: api}).body(req)
			if err != nil || err2 != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s\n%s %v %v", got, want, err, err2)
			}
		}
	})
}

// What people say of a file is made sense of before anybody refuses it.
func TestFilesAreMadeSenseOf(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\n0000")
	for name, tc := range map[string]struct {
		b    event.Block
		want string
		kind event.ErrorKind
	}{
		"a picture under another kind": {&event.Image{MIME: "IMAGE/JPG; q=1", Data: png}, `"image_url":"data:image/png;base64,iVBOR`, ""},
		"data in an address":           {&event.Image{URL: "data:image/png;base64,iVBORw0KGgowMDAw"}, `"image_url":"data:image/png;base64,iVBOR`, ""},
		"a picture in the web":         {&event.Image{URL: "https://example.com/a.png"}, `"image_url":"https://example.com/a.png"`, ""},
		"a picture in a bucket":        {&event.Image{URL: "s3://bucket/a.png"}, "", event.ErrUnsupported},
		"a document without a kind":    {&event.Document{Data: []byte("%PDF-1.7 x")}, `"file_data":"data:application/pdf;base64,`, ""},
		"a document by its name":       {&event.Document{Name: "a.md", Data: []byte("# A")}, `# A`, ""},
		"a document of no use":         {&event.Document{Name: "a.zip", Data: []byte("PK\x03\x04")}, "", event.ErrUnsupported},
	} {
		body, _, err := made(t, "gpt-5.4").body(&model.Request{Messages: []event.Message{from(event.RoleUser, tc.b)}})
		if tc.kind != "" {
			if !errors.Is(err, tc.kind) {
				t.Errorf("%s: %v, %s", name, err, body)
			}
			continue
		}
		if err != nil || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s: %v, %s", name, err, body)
		}
	}
}

// The windows stand on the vendor's page of each model.
func TestWindows(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"gpt-6.1-sol": 1_050_000, "gpt-6-luna": 1_050_000, "openai/gpt-5.6-terra": 1_050_000, "gpt-5.5-pro": 1_050_000, "gpt-5.4-2026-03-05": 1_050_000,
		"gpt-5.4-mini": 400_000, "gpt-5.4-nano": 400_000, "gpt-5.3-codex": 400_000, "gpt-5-pro": 400_000, "gpt-5.3-codex-spark": 128_000,
		"gpt-5.2-chat-latest": 128_000, "gpt-4.1-mini": 1_047_576, "o3-pro": 200_000, "gpt-7-sol": 0, "qwen3": 0,
	} {
		if got := window(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
