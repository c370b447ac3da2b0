package openaitest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid/model/openai/openaitest"
)

func post(t *testing.T, server *openaitest.Server, path, body string, header map[string]string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+openaitest.Key)
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What each API refuses, and in which words.
func TestItRefusesWhatTheVendorRefuses(t *testing.T) {
	t.Parallel()
	server := openaitest.Start(openaitest.Answer{Body: `data: {"type":"response.output_item.done","item":{"id":"rs_1","encrypted_content":"sealed"}}` + "\n\n"})
	t.Cleanup(server.Close)
	server.Window = 4000
	small := openaitest.Start()
	t.Cleanup(small.Close)
	small.Compatible = true

	const user = `{"role":"user","content":"q"}`
	const tool = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`
	call := func(id string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	}
	chat := func(model, messages, more string) string {
		return `{"model":"` + model + `","stream":true,"messages":[` + messages + `]` + more + `}`
	}
	said := func(messages ...string) string { return chat("gpt-4o", strings.Join(messages, ","), "") }
	for _, tc := range []struct{ body, want string }{
		{`{`, "could not parse the JSON"},
		{chat("claude", user, ""), "does not exist or you do not have access"},
		{chat("gpt-4o", user, `,"colour":1`), "Unknown parameter: 'colour'"},
		{chat("gpt-4o", "", ""), "empty array"},
		{strings.Replace(said(user), "true", "false", 1), "streams only"},
		{said(`{"role":"robot","content":"x"}`), "Invalid value: 'robot'"},
		{said(user, `{"role":"system","content":"x"}`), "one system message"},
		{said(`{"role":"system","content":"x"}`, `{"role":"system","content":"x"}`, user), "one system message"},
		{said(user, call("a")), "must be followed by tool messages"},
		{said(user, call("a"), user), "did not have response messages: a"},
		{said(user, `{"role":"tool","tool_call_id":"a","content":"x"}`), "must be a response to a preceding message"},
		{said(user, call("a"), `{"role":"tool","tool_call_id":"b","content":"x"}`), "must be a response to a preceding message"},
		{
			said(user, call("a"), `{"role":"tool","tool_call_id":"a","content":"x"}`, `{"role":"tool","tool_call_id":"a","content":"x"}`),
			"must be a response to a preceding message",
		},
		{said(user, call(strings.Repeat("a", 41))), "maximum length 40"},
		{said(user, call("")), "empty string"},
		{said(user, strings.Replace(call("a"), `"f"`, `"f.g"`, 1)), "does not match pattern"},
		{said(user, strings.Replace(call("a"), `"{}"`, `{}`, 1)), "expected a string"},
		{said(user, `{"role":"assistant","content":null}`), "expected a string, got null"},
		{said(user, `{"role":"assistant","content":"x","tool_calls":[]}`), "empty array"},
		{said(user, `{"role":"assistant","content":"x","reasoning_content":"y"}`), "Unknown parameter: 'messages[1].reasoning_content'"},
		{said(`{"role":"user","content":[]}`), "expected a string"},
		{said(`{"role":"user","content":[{"type":"hologram"}]}`), "Invalid value: 'hologram'"},
		{said(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,eA=="}}]}`), "Invalid MIME type"},
		{said(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}}]}`), "Invalid base64"},
		{said(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"here"}}]}`), "valid URL"},
		{said(user, call("a"), `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"https://e"}}]}`), "Invalid value: 'image_url'"},
		{chat("gpt-4o", user, `,"tool_choice":"auto"`), "only allowed when 'tools' are specified"},
		{chat("gpt-4o", user, `,"parallel_tool_calls":false`), "only allowed when 'tools' are specified"},
		{chat("gpt-4o", user, `,"tools":[]`), "empty array"},
		{chat("gpt-4o", user, `,`+tool+`,"tool_choice":"must"`), "Invalid value: 'must'"},
		{chat("gpt-4o", user, `,`+tool+`,"tool_choice":{"type":"function","function":{"name":"g"}}`), "not found in 'tools'"},
		{chat("gpt-4o", user, `,`+strings.Replace(tool, `"f"`, `"f g"`, 1)), "does not match pattern"},
		{chat("gpt-4o", user, `,`+strings.Replace(tool, `"f"`, `"`+strings.Repeat("f", 65)+`"`, 1)), "maximum length 64"},
		{chat("gpt-4o", user, `,`+strings.Replace(tool, `,"properties":{}`, ``, 1)), "object schema missing properties"},
		{chat("gpt-4o", user, `,`+strings.Replace(tool, `"properties"`, `"anyOf":[],"properties"`, 1)), "at the top level"},
		{chat("gpt-4o", user, `,`+strings.Replace(tool, `"object"`, `"string"`, 1)), "schema must be a JSON Schema"},
		{chat("gpt-4o", user, `,"stop":["1","2","3","4","5"]`), "maximum length 4"},
		{chat("gpt-4o", user, `,"reasoning_effort":"low"`), "Unrecognized request argument"},
		{chat("o4-mini", user, `,"stop":["x"]`), "'stop' is not supported"},
		{chat("o4-mini", user, `,"max_tokens":9`), "Use 'max_completion_tokens'"},
		{chat("o4-mini", user, `,"temperature":0.5`), "Only the default (1)"},
		{chat("o4-mini", user, `,"reasoning_effort":"huge"`), "Invalid value: 'huge'"},
		{chat("o4-mini", user, `,"reasoning_effort":"none"`), "'none' is not supported with the 'o4-mini' model. Supported values are: 'low', 'medium', 'high'"},
		{chat("gpt-6-astra", user, `,"reasoning_effort":"max"`), "Unsupported value: 'max'"},
		{chat("gpt-6-astra", user, `,`+tool), "Please use /v1/responses instead"},
		{chat("gpt-5.4", user, `,"reasoning_effort":"low",`+tool), "Please use /v1/responses instead"},
		{chat("o4-mini", user, `,"top_p":0.5`), "'top_p' does not support 0.5"},
		{chat("gpt-4o", user, `,"top_p":1.5`), "Invalid 'top_p'"},
		{chat("gpt-4o", user, `,"verbosity":"low"`), "Unsupported value: 'low'"},
		{chat("gpt-5", user, `,"verbosity":"long"`), "Invalid value: 'long'"},
		{chat("gpt-4o", user, `,"service_tier":"slow"`), "Invalid value: 'slow'"},
		{chat("gpt-4o", user, `,"prompt_cache_options":{"ttl":"30m"}`), "'prompt_cache_options' is not supported"},
		{chat("gpt-5.5", user, `,"prompt_cache_retention":"in_memory"`), "Supported values are: '24h'"},
		{chat("gpt-4o", user, `,"web_search_options":{}`), "Web search options not supported"},
		{chat("gpt-4o", user, `,"reasoning":{"effort":"low"}`), "Unknown parameter: 'reasoning'"},
		{chat("gpt-4o", user, `,`+strings.Replace(tool, `"parameters":{"type":"object","properties":{}}`, `"strict":true,"parameters":{"type":"object","properties":{}}`, 1)), "'additionalProperties' is required"},
		{said(`{"role":"user","content":"` + strings.Repeat("x", 20000) + `"}`), "maximum context length is 4000 tokens"},
	} {
		if got := post(t, server, "/chat/completions", tc.body, nil); !strings.Contains(got, tc.want) || !strings.Contains(got, `"error"`) {
			t.Errorf("%.300s\n is answered with %s\n want %s", tc.body, got, tc.want)
		}
	}
	for _, tc := range []struct{ body, want string }{
		{said(user, strings.Replace(call("a"), `"{}"`, `"[]"`, 1), `{"role":"tool","tool_call_id":"a","content":"x"}`), "from a mapping"},
		{said(`{"role":"user","content":[{"type":"file","file":{"filename":"a","file_data":"data:application/pdf;base64,eA=="}}]}`), "Invalid value: 'file'"},
	} {
		if got := post(t, small, "/chat/completions", tc.body, nil); !strings.Contains(got, tc.want) {
			t.Errorf("%s\n is answered with %s\n want %s", tc.body, got, tc.want)
		}
	}
	if got := post(t, small, "/responses", `{}`, nil); !strings.Contains(got, "404 page not found") {
		t.Errorf("it knows Responses: %s", got)
	}

	ask := func(model, items, more string) string {
		return `{"model":"` + model + `","stream":true,"store":false,"input":[` + items + `]` + more + `}`
	}
	in := func(items ...string) string { return ask("gpt-5.4", strings.Join(items, ","), "") }
	const called = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	const out = `{"type":"function_call_output","call_id":"a","output":"x"}`
	const thought = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}`
	const function = `"tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object","properties":{}}}]`
	for _, tc := range []struct{ body, want string }{
		{ask("gpt-5.4", user, `,"stop":["x"]`), "Unknown parameter: 'stop'"},
		{ask("gpt-5.4", "", ""), "must be provided"},
		{strings.Replace(in(user), `"store":false,`, ``, 1), "nothing may be kept"},
		{in(user, called), "No tool output found for function call a"},
		{in(user, out), "No tool call found for function call output with call_id a"},
		{in(user, called, out, out), "No tool call found"},
		{in(user, called, out, called, out), "Duplicate item"},
		{in(user, strings.Replace(called, `"f"`, `"f.g"`, 1), out), "does not match pattern"},
		{in(user, strings.Replace(called, `"{}"`, `{}`, 1), out), "expected a string"},
		{in(user, thought), "without its required following item"},
		{in(user, thought, user), "without its required following item"},
		{in(user, strings.Replace(thought, "sealed", "other", 1), called, out), "could not be verified"},
		{in(user, strings.Replace(thought, "rs_1", "x", 1), called, out), "begins with 'rs'"},
		{in(user, strings.Replace(thought, `"summary":[],`, ``, 1), called, out), "summary"},
		{ask("gpt-4o", user+`,`+thought+`,`+called+`,`+out, ""), "only be provided to a reasoning"},
		{ask("gpt-4o", user, `,"include":["reasoning.encrypted_content"]`), "Encrypted content is not supported"},
		{ask("gpt-4o", user, `,"reasoning":{"effort":"low"}`), "'reasoning.effort' is not supported"},
		{ask("gpt-5.4", user, `,"reasoning":{"effort":"huge"}`), "Invalid value: 'huge'"},
		{ask("gpt-5.4", user, `,"reasoning":{"effort":"minimal"}`), "'minimal' is not supported with the 'gpt-5.4' model"},
		{ask("gpt-5.4", user, `,"reasoning":{"summary":"long"}`), "Invalid value: 'long'"},
		{ask("gpt-5.4", user, `,"temperature":1`), "Unsupported value"},
		{ask("gpt-5.4", user, `,"seed":1`), "Unknown parameter: 'seed'"},
		{ask("gpt-4o", user, `,"text":{"verbosity":"high"}`), "Unsupported value: 'high'"},
		{ask("gpt-5.4", user, `,"truncation":"yes"`), "Invalid value: 'yes'"},
		{ask("gpt-5.4", user, `,"max_tool_calls":0`), "Expected a value >= 1"},
		{ask("gpt-5.4", user, `,"include":["everything"]`), `Invalid value: \"everything\"`},
		{ask("gpt-5.4", user, `,"context_management":[{"type":"shorten"}]`), "Invalid value: 'shorten'"},
		{ask("gpt-5.4", user, `,"context_management":[{"compact_threshold":9}]`), "Missing required parameter: 'context_management[0].type'"},
		{ask("gpt-5.4", user, `,"tools":[{"type":"web_fetch"}]`), "Invalid value: 'web_fetch'"},
		{ask("gpt-5.4", user, `,"tools":[{"type":"web_search","max_uses":3}]`), "Unknown parameter: 'tools[0].max_uses'"},
		{ask("gpt-5.4", user, `,"tools":[{"type":"web_search","filters":{"allowed_domains":["https://a.example"]}}]`), "Invalid 'tools[0].filters.allowed_domains[0]'"},
		{ask("gpt-5.4", user, `,"tools":[{"type":"file_search"}]`), "'tools[0].vector_store_ids'"},
		{ask("gpt-5.4", user, `,"tools":[{"type":"code_interpreter"}]`), "'tools[0].container'"},
		{ask("gpt-5.4", user, `,"tools":[{"type":"mcp","server_label":"a","server_url":"http://b","require_approval":"never"}]`), "Expected a valid URL"},
		{ask("gpt-5.4", user, `,"tools":[{"type":"mcp","server_label":"a","server_url":"https://b"}]`), "require_approval"},
		{in(user, `{"type":"web_search_call","id":"ws_1","status":"completed"}`), "Missing required parameter: 'input[1].action'"},
		{in(user, `{"type":"web_search_call","id":"ws_1","status":"completed","action":{},"kind":"x"}`), "Unknown parameter: 'input[1].kind'"},
		{in(user, `{"type":"custom_tool_call","call_id":"a","name":"f","input":"x"}`), "Invalid value: 'custom_tool_call'"},
		{in(user, `{"type":"compaction","encrypted_content":"other"}`), "could not be verified"},
		{ask("gpt-5.4", user, `,"max_output_tokens":15`), "Expected a value >= 16"},
		{in(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), "Supported values are: 'output_text', 'refusal'"},
		{in(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), "Invalid value: 'output_text'"},
		{in(`{"role":"tool","content":"x"}`), "Invalid value: 'tool'"},
		{in(`{"type":"hologram"}`), "Invalid value: 'hologram'"},
		{in(`{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,eA=="}]}`), "filename"},
		{in(`{"role":"user","content":[{"type":"input_file","filename":"x","file_data":"data:application/zip;base64,eA=="}]}`), "not supported"},
		{ask("gpt-5.4", user, `,`+strings.Replace(function, `"strict":false,`, ``, 1)), "'additionalProperties' is required"},
		{ask("gpt-5.4", user, `,`+function+`,"tool_choice":{"type":"function","name":"g"}`), "not found in 'tools'"},
		{in(`{"role":"user","content":"` + strings.Repeat("x", 20000) + `"}`), "exceeds the context window"},
	} {
		if got := post(t, server, "/responses", tc.body, nil); !strings.Contains(got, tc.want) || !strings.Contains(got, `"error"`) {
			t.Errorf("%.300s\n is answered with %s\n want %s", tc.body, got, tc.want)
		}
	}
	for want, header := range map[string]map[string]string{
		"didn't provide an API key": {"Authorization": "Bearer "}, "Incorrect API key": {"Authorization": "Bearer sk-no"},
		"JSON content type": {"Content-Type": "text/plain"},
	} {
		if got := post(t, server, "/responses", in(user), header); !strings.Contains(got, want) {
			t.Errorf("%s: %s", want, got)
		}
	}
	// All of this is taken, and there is one answer.
	if got := post(t, server, "/responses", in(user, thought, called, out), nil); !strings.Contains(got, "sealed") {
		t.Error(got)
	}
	if got := post(t, server, "/chat/completions", said(user), nil); !strings.Contains(got, "no answer to this request") {
		t.Error(got)
	}
}
