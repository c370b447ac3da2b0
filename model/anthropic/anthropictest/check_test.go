package anthropictest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the vendor refuses, and a piece of how it says so.
func TestItRefuses(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start()
	t.Cleanup(server.Close)
	server.Trust("sig", "hm")
	const head = `{"model":"claude-sonnet-5-5","max_tokens":100,"stream":true,"messages":`
	with := func(more string) string {
		return head + `[{"role":"user","content":[{"type":"text","text":"q"}]}],` + more + `}`
	}
	said := func(messages string) string {
		return head + `[{"role":"user","content":[{"type":"text","text":"q"}]},` + messages + `]}`
	}
	const call = `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}`
	for _, tc := range []struct{ body, want string }{
		{`{`, "not valid JSON"},
		{`{"stream":true}`, "model: Field required"},
		{`{"model":"gpt-5","max_tokens":1,"stream":true,"messages":[]}`, "model: gpt-5"},
		{head + `[]}`, "at least one message"},
		{with(`"temperature":1`), "temperature: Extra inputs are not permitted"},
		{with(`"nonsense":1`), "nonsense: Extra inputs are not permitted"},
		{with(`"stop_sequences":[" "]`), "non-whitespace"},
		{with(`"system":[{"type":"text","text":" "}]`), "must be non-empty"},
		{with(`"tools":[{"name":"a.b","input_schema":{"type":"object"}}]`), "should match pattern"},
		{with(`"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`), "must be unique"},
		{with(`"tools":[{"name":"a","input_schema":{}}]`), "input_schema.type"},
		{with(`"tools":[{"name":"a","input_schema":{"type":"object","oneOf":[]}}]`), "at the top level"},
		{with(`"tool_choice":{"type":"auto"}`), "while providing tools"},
		{with(`"tools":[{"name":"a","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"b"}`), "not found in provided tools"},
		{
			with(`"tools":[{"name":"a","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},"thinking":{"type":"adaptive"}`),
			"forces tool use",
		},
		{with(`"thinking":{"type":"enabled","budget_tokens":2000}`), "is not supported for this model"},
		{strings.Replace(with(`"thinking":{"type":"enabled","budget_tokens":200}`), "sonnet-5-5", "sonnet-4-5", 1), "greater than or equal to 1024"},
		{strings.Replace(with(`"thinking":{"type":"enabled","budget_tokens":2000}`), "sonnet-5-5", "sonnet-4-5", 1), "must be greater than"},
		{strings.Replace(with(`"thinking":{"type":"adaptive"}`), "sonnet-5-5", "sonnet-4-5", 1), "not supported"},
		{head + `[{"role":"assistant","content":[{"type":"text","text":"q"}]}]}`, "first message must use"},
		{said(`{"role":"user","content":[{"type":"text","text":"q"}]}`), "roles must alternate"},
		{said(`{"role":"tool","content":[{"type":"text","text":"q"}]}`), "Unexpected role"},
		{said(`{"role":"assistant","content":[]}`), "non-empty content"},
		{said(`{"role":"assistant","content":[{"type":"text","text":""}]}`), "must be non-empty"},
		{said(`{"role":"assistant","content":[{"type":"text","text":"\n"}]}`), "non-whitespace"},
		{said(`{"role":"assistant","content":[{"type":"text","text":"q"}]}`), "prefill"},
		{said(call), "without `tool_result` blocks"},
		{said(call + `,{"role":"user","content":[{"type":"text","text":"q"}]}`), "without `tool_result` blocks"},
		{said(call + `,{"role":"user","content":[{"type":"text","text":"q"},{"type":"tool_result","tool_use_id":"t"}]}`), "immediately after"},
		{said(call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"u"}]}`), "unexpected `tool_use_id`"},
		{
			said(call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"},{"type":"tool_result","tool_use_id":"t"}]}`),
			"single result",
		},
		{
			said(call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]},` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}`),
			"ids must be unique",
		},
		{
			said(call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"image","source":{"type":"url","url":"https://e"}}]}]}`),
			"all content must be type",
		},
		{said(strings.Replace(call, `"t"`, `"t.1"`, 1)), "tool_use.id: String should match"},
		{said(strings.Replace(call, `{}`, `[]`, 1)), "valid dictionary"},
		{said(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"other"}]}`), "Invalid `signature`"},
		{said(`{"role":"assistant","content":[{"type":"thinking","thinking":"changed","signature":"sig"}]}`), "cannot be modified"},
		{said(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}`), "signature: Field required"},
		{said(`{"role":"assistant","content":[{"type":"document","source":{}}]}`), "not permitted in assistant"},
		{head + `[{"role":"user","content":[{"type":"thinking","thinking":"hm","signature":"sig"}]}]}`, "not permitted in user"},
		{head + `[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"eA=="}}]}]}`, "media_type"},
		{head + `[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}]}]}`, "invalid base64"},
		{head + `[{"role":"user","content":[{"type":"text","text":"q","citations":[]}]}]}`, "Extra inputs"},
		{
			head + `[{"role":"user","content":[` + strings.TrimSuffix(
				strings.Repeat(`{"type":"text","text":"q","cache_control":{"type":"ephemeral"}},`, 5), ",",
			) + `]}]}`,
			"A maximum of 4 blocks",
		},
	} {
		got := post(t, server, tc.body, nil)
		if !strings.Contains(got, `"type":"error"`) || !strings.Contains(got, strings.ReplaceAll(tc.want, `"`, `\"`)) {
			t.Errorf("%s\n is answered with %s\n want %s", tc.body, got, tc.want)
		}
	}
	for header, want := range map[string]string{
		"Authorization": "x-api-key header is required", "Anthropic-Version": "header is required",
		"Content-Type": "content-type",
	} {
		if got := post(t, server, with(`"system":[]`), map[string]string{header: ""}); !strings.Contains(got, want) {
			t.Errorf("without %s: %s", header, got)
		}
	}
}

func TestItAnswers(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start(anthropictest.Text("Hel", "lo."))
	t.Cleanup(server.Close)
	body := `{"model":"claude-sonnet-5-5","max_tokens":100,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`
	if got := post(t, server, body, nil); !strings.Contains(got, `"text":"Hel"`) || !strings.HasSuffix(
		got, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	) {
		t.Errorf("%s", got)
	}
	server.Add(anthropictest.Error(529, "overloaded_error", "Overloaded"))
	if got := post(t, server, body, nil); !strings.Contains(got, "overloaded_error") {
		t.Errorf("%s", got)
	}
	if got := post(t, server, body, nil); !strings.Contains(got, "no answer to this request") {
		t.Errorf("%s", got)
	}
	if n := len(server.Asked()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func post(t *testing.T, server *anthropictest.Server, body string, header map[string]string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+anthropictest.Key)
	req.Header.Set("Anthropic-Version", "2026-10-21")
	req.Header.Set("Content-Type", "application/json")
	for k := range header {
		req.Header.Del(k)
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

// A schema that an answer is held to, and what of it the vendor refuses.
func TestItRefusesSchemas(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start()
	t.Cleanup(server.Close)
	body := func(model, schema string) string {
		return `{"model":"` + model + `","max_tokens":100,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],` +
			`"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}}`
	}
	const good = `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"$ref":"#/$defs/n"}},"required":["a"],"additionalProperties":false,` +
		`"$defs":{"n":{"type":"integer","enum":[1,2]}}}`
	server.Add(anthropictest.Text("{}"))
	if got := post(t, server, body("claude-sonnet-4-5", good), nil); !strings.Contains(got, "message_stop") {
		t.Errorf("%s", got)
	}
	for schema, want := range map[string]string{
		`{"type":"object","properties":{}}`:                       "additionalProperties",
		`{"type":"integer","minimum":1}`:                          "minimum",
		`{"type":"string","format":"color"}`:                      "color",
		`{"type":"array","items":{"type":"string"},"minItems":2}`: "minItems",
		`{"oneOf":[{"type":"string"}]}`:                           "'type'",
		`{}`:                                                      "'type'",
		`[]`:                                                      "valid dictionary",
		`{"type":"thing"}`:                                        "thing",
		`{"$defs":{"n":{"anyOf":[{"$ref":"#/$defs/n"}]}},"$ref":"#/$defs/n"}`:     "Circular",
		`{"type":"array","items":{"anyOf":[{"type":"string","maxLength":1}]}}`:    "maxLength",
		`{"type":"object","additionalProperties":false,"properties":{"a":false}}`: "valid dictionary",
	} {
		if got := post(t, server, body("claude-sonnet-5-5", schema), nil); !strings.Contains(got, `"type":"error"`) || !strings.Contains(got, want) {
			t.Errorf("%s\n is answered with %s\n want %s", schema, got, want)
		}
	}
	if got := post(t, server, body("claude-3-7-sonnet", good), nil); !strings.Contains(got, "does not support output format") {
		t.Errorf("%s", got)
	}
}

// What Amazon Bedrock refuses otherwise than the API does.
func TestBedrockRefuses(t *testing.T) {
	t.Parallel()
	server := anthropictest.StartBedrock()
	t.Cleanup(server.Close)
	const haiku = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
	const question = `"max_tokens":100,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]`
	with := func(more string) string { return `{"anthropic_version":"bedrock-2023-05-31",` + question + more + `}` }
	large := with(`,"system":[{"type":"text","text":"` + strings.Repeat("x", 25_000_000) + `"}]`)
	for name, tc := range map[string]struct{ model, body, want string }{
		"no version":       {haiku, `{` + question + `}`, "anthropic_version: Field required"},
		"another version":  {haiku, strings.Replace(with(""), "bedrock-2023-05-31", "2026-10-21", 1), "is not a valid version"},
		"a model":          {haiku, with(`,"model":"claude-haiku-4-5"`), "model: Extra inputs"},
		"a stream":         {haiku, with(`,"stream":true`), "stream: Extra inputs"},
		"automatic points": {haiku, with(`,"cache_control":{"type":"ephemeral"}`), "cache_control: Extra inputs"},
		"a display":        {"us.anthropic.claude-opus-4-6-v1", with(`,"thinking":{"type":"adaptive","display":"summarized"}`), "display"},
		"a temperature":    {"us.anthropic.claude-opus-4-7-v1", with(`,"temperature":1`), "deprecated"},
		"an address":       {haiku, strings.Replace(with(""), `{"type":"text","text":"q"}`, `{"type":"image","source":{"type":"url","url":"https://e"}}`, 1), "'url'"},
		"an hour behind five minutes": {
			haiku, strings.Replace(with(`,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]`), `"text":"q"`,
				`"text":"q","cache_control":{"type":"ephemeral","ttl":"1h"}`, 1), "must not come after",
		},
		"no model":   {"us.anthropic.opus", with(""), "identifier is invalid"},
		"no profile": {"anthropic.claude-haiku-4-5-20251001-v1:0", with(""), "on-demand throughput"},
		"too much":   {haiku, large, "less than or equal to 25000000"},
	} {
		got, status := invoke(t, server, tc.model, tc.body, "Bearer "+anthropictest.BedrockKey)
		if status != http.StatusBadRequest || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %d %.300s, want %s", name, status, got, tc.want)
		}
	}
	for key, want := range map[string]string{"": "Missing Authentication Token", "Bearer other": "valid", "Basic eA==": "algorithm"} {
		if got, status := invoke(t, server, haiku, with(""), key); status != http.StatusForbidden || !strings.Contains(got, want) {
			t.Errorf("%q: %d %s", key, status, got)
		}
	}
	server.Add(anthropictest.BedrockText("Hello."))
	if got, status := invoke(t, server, haiku, with(`,"temperature":1`), "Bearer "+anthropictest.BedrockKey); status != http.StatusOK || got != anthropictest.BedrockText("Hello.").Body {
		t.Errorf("%d %s", status, got)
	}
	if got, status := invoke(t, server, haiku, with(""), "Bearer "+anthropictest.BedrockKey); status != http.StatusInternalServerError || !strings.Contains(got, "no answer") {
		t.Errorf("%d %s", status, got)
	}
}

func invoke(t *testing.T, server *anthropictest.Server, model, body, key string) (answer string, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/model/"+model+"/invoke-with-response-stream", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", key)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), resp.StatusCode
}

// Large files are looked at too, and how large they are.
func TestItRefusesLargeImages(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start(anthropictest.Text("a"))
	t.Cleanup(server.Close)
	image := func(data string) string {
		return `{"model":"claude-sonnet-5-5","max_tokens":100,"stream":true,"messages":[{"role":"user","content":[` +
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}]}]}`
	}
	const most = 10 << 20
	for data, want := range map[string]string{
		strings.Repeat("A", most):                  "message_stop",
		strings.Repeat("A", most+4):                "image exceeds 10 MB maximum: 10485764 bytes",
		strings.Repeat("A", 100_000) + "?" + "AAA": "invalid base64",
	} {
		if got := post(t, server, image(data), nil); !strings.Contains(got, want) {
			t.Errorf("%d bytes: %.200s, want %s", len(data), got, want)
		}
	}
}

// What Vertex AI, the count of tokens and the Files API refuse.
func TestItRefusesAside(t *testing.T) {
	t.Parallel()
	const message = `"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]`
	vertex := anthropictest.StartVertex()
	t.Cleanup(vertex.Close)
	api := anthropictest.Start()
	t.Cleanup(api.Close)
	const models = "/v1/projects/test-project/locations/us-east5/publishers/anthropic/models/"
	ask := func(server *anthropictest.Server, method, path, key, kind, body string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", kind)
		if server == api {
			req.Header.Set("Anthropic-Version", "2026-10-21")
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const head = `{"anthropic_version":"vertex-2023-10-16","max_tokens":9,"stream":true,`
	for _, tc := range []struct{ model, body, want string }{
		{"claude-sonnet-5-5:streamRawPredict", head + `"model":"claude-sonnet-5-5",` + message + `}`, "model: Extra inputs"},
		{"claude-sonnet-5-5:streamRawPredict", head + `"cache_control":{"type":"ephemeral"},` + message + `}`, "cache_control: Extra inputs"},
		{"claude-sonnet-5-5:streamRawPredict", `{"max_tokens":9,"stream":true,` + message + `}`, "anthropic_version"},
		{"claude-sonnet-5-5:streamRawPredict", strings.Replace(head, "vertex-2023-10-16", "2026-10-21", 1) + message + `}`, "not a valid version"},
		{"claude-sonnet-5-5:streamRawPredict", strings.Replace(head, `"stream":true,`, "", 1) + message + `}`, "streams only"},
		{"claude-sonnet-5-5:rawPredict", head + message + `}`, "streams only"},
		{"claude-haiku-4-5:streamRawPredict", head + message + `}`, "NOT_FOUND"},
		{"claude-sonnet-5-5:predict", head + message + `}`, "NOT_FOUND"},
		{"claude-sonnet-5-5:streamRawPredict", head + strings.Replace(message, `{"type":"text","text":"q"}`, `{"type":"image","source":{"type":"url","url":"https://e"}}`, 1) + `}`, "Input tag 'url'"},
		{"claude-sonnet-5-5:streamRawPredict", head + strings.Replace(message, `{"type":"text","text":"q"}`, `{"type":"image","source":{"type":"file","file_id":"f"}}`, 1) + `}`, "Input tag 'file'"},
		{"count-tokens:rawPredict", `{"anthropic_version":"vertex-2023-10-16",` + message + `}`, "NOT_FOUND"},
	} {
		if got := ask(vertex, http.MethodPost, models+tc.model, anthropictest.VertexToken, "application/json", tc.body); !strings.Contains(got, tc.want) {
			t.Errorf("%s %s\n is answered with %s\n want %s", tc.model, tc.body, got, tc.want)
		}
	}
	for _, tc := range []struct{ method, path, key, kind, body, want string }{
		{"POST", "/v1/messages/count_tokens", anthropictest.Key, "application/json", `{"model":"claude-sonnet-5-5","max_tokens":1,` + message + `}`, "max_tokens: Extra inputs"},
		{"POST", "/v1/messages/count_tokens", anthropictest.Key, "application/json", `{"model":"claude-sonnet-5-5","stream":true,` + message + `}`, "stream: Extra inputs"},
		{"POST", "/v1/messages/count_tokens", "other", "application/json", `{}`, "invalid x-api-key"},
		{"POST", "/v1/files", "other", "x", "", "invalid x-api-key"},
		{"POST", "/v1/files", anthropictest.Key, "application/json", `{}`, "multipart/form-data"},
		{"POST", "/v1/files", anthropictest.Key, "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nx\r\n--b--\r\n", "file: Field required"},
		{
			"POST", "/v1/files", anthropictest.Key, "multipart/form-data; boundary=b",
			"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a|b\"\r\n\r\nx\r\n--b--\r\n", "Invalid filename",
		},
		{
			"POST", "/v1/files", anthropictest.Key, "multipart/form-data; boundary=b",
			"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx", "the form ends",
		},
		{"DELETE", "/v1/files/file_x", anthropictest.Key, "", "", "File not found"},
		{"PUT", "/v1/files/file_x", anthropictest.Key, "", "", "Method Not Allowed"},
		{
			"POST", "/v1/messages", anthropictest.Key, "application/json", `{"model":"claude-sonnet-5-5","max_tokens":1,"stream":true,` +
				strings.Replace(message, `{"type":"text","text":"q"}`, `{"type":"container_upload","file_id":"f"}`, 1) + `}`, "require the code execution tool",
		},
	} {
		if got := ask(api, tc.method, tc.path, tc.key, tc.kind, tc.body); !strings.Contains(got, tc.want) {
			t.Errorf("%s %s %s\n is answered with %s\n want %s", tc.method, tc.path, tc.body, got, tc.want)
		}
	}
}
