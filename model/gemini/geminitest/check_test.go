package geminitest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/model/gemini/geminitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	flash = "/v1beta/models/gemini-3.6-flash:streamGenerateContent?alt=sse"
	older = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
)

// The stand-in refuses what the API refuses, with the same message.
func TestItRefuses(t *testing.T) {
	t.Parallel()
	server := geminitest.Start()
	t.Cleanup(server.Close)
	server.Trust("c2ln", "call f")
	const ask = `{"role":"user","parts":[{"text":"q"}]}`
	said := func(contents ...string) string { return `{"contents":[` + strings.Join(contents, ",") + `]}` }
	with := func(member string) string { return `{"contents":[` + ask + `],` + member + `}` }
	tools := func(declarations string) string {
		return with(`"tools":[{"functionDeclarations":[` + declarations + `]}]`)
	}
	model := func(parts string) string { return `{"role":"model","parts":[` + parts + `]}` }
	user := func(parts string) string { return `{"role":"user","parts":[` + parts + `]}` }
	call := `{"functionCall":{"name":"f","args":{},"id":"1"},"thoughtSignature":"c2ln"}`
	second := `{"functionCall":{"name":"f","args":{},"id":"2"}}`
	result := `{"functionResponse":{"name":"f","id":"1","response":{"output":"r"}}}`
	const f = `{"name":"f","parametersJsonSchema":{"type":"object","properties":{}}}`
	for _, tc := range []struct{ path, body, want string }{
		{flash, `{`, "Invalid JSON payload"},
		{flash, `{"contents":[]}`, "contents is not specified"},
		{flash, with(`"model":"x"`), `Unknown name "model"`},
		{flash, said(`{"role":"user","parts":[]}`), "contents.parts must not be empty"},
		{flash, said(`{"role":"user","parts":[{}]}`), "must have one initialized field"},
		{flash, said(user(`{"text":""}`)), "must have one initialized field"},
		{flash, said(user(`{"text":"a","inlineData":{"mimeType":"image/png","data":"eA=="}}`)), "oneof field 'data' is already set"},
		{flash, said(user(`{"text":"a","citations":[]}`)), `Unknown name "citations"`},
		{flash, said(`{"role":"assistant","parts":[{"text":"q"}]}`), "valid role: user, model"},
		{flash, said(`{"role":"system","parts":[{"text":"q"}]}`), "valid role: user, model"},
		{flash, said(ask, model(`{"text":"a"}`)), "end with a user role"},
		{flash, with(`"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]}`), "exactly one part"},
		{flash, with(`"systemInstruction":{"parts":[{"text":""}]}`), "must have one initialized field"},
		{flash, with(`"systemInstruction":"be brief"`), "Invalid value"},
		{flash, said(ask, model(call)), "end with a user role"},
		{flash, said(model(call), user(result)), "immediately after a user turn"},
		{flash, said(ask, model(`{"text":"a"}`), model(call), user(result)), "immediately after a user turn"},
		{flash, said(user(call)), "immediately after a user turn"},
		{flash, said(ask, user(result)), "immediately after a function call turn"},
		{flash, said(ask, model(call), ask), "number of function response parts"},
		{flash, said(ask, model(call+","+second), user(result)), "number of function response parts"},
		{flash, said(ask, model(call), user(strings.Replace(result, `"f"`, `"g"`, 1))), "does not match"},
		{flash, said(ask, model(call), user(strings.Replace(result, `"1"`, `"2"`, 1))), "does not match"},
		{flash, said(ask, model(call), user(strings.Replace(result, `"f"`, `""`, 1))), "Name cannot be empty"},
		{flash, said(ask, model(call), user(strings.Replace(result, `{"output":"r"}`, `"r"`, 1))), "protobuf.Struct"},
		{flash, said(ask, model(strings.Replace(call, `{},`, `[],`, 1)), user(result)), "protobuf.Struct"},
		{flash, said(ask, model(call+","+call), user(result+","+result)), "Duplicate function call id"},
		{flash, said(ask, model(second), user(strings.Replace(result, `"1"`, `"2"`, 1))), "missing a thought_signature in functionCall parts"},
		{flash, said(ask, model(second+","+call), user(strings.Replace(result, `"1"`, `"2"`, 1)+","+result)), "missing a thought_signature"},
		{flash, said(ask, model(strings.Replace(call, "c2ln", "eA==", 1)), user(result)), "Corrupted thought signature"},
		{flash, said(ask, model(strings.Replace(call, "c2ln", "?", 1)), user(result)), "Base64 decoding failed"},
		{flash, said(ask, model(`{"text":"a","thoughtSignature":"c2ln"}`), ask), "it is of call f"},
		{flash, said(ask, model(`{"text":"a","thoughtSignature":"skip_thought_signature_validator"}`), ask), "Base64 decoding failed"},
		{flash, said(user(`{"inlineData":{"mimeType":"image/tiff","data":"eA=="}}`)), "Unsupported MIME type: image/tiff"},
		{flash, said(user(`{"inlineData":{"mimeType":"image/png","data":"?"}}`)), "Base64 decoding failed"},
		{flash, said(user(`{"inlineData":{"mimeType":"image/png","data":""}}`)), "Unable to process input image"},
		{flash, said(user(`{"fileData":{"mimeType":"image/png"}}`)), "file_uri"},
		{older, said(ask, model(call), user(`{"functionResponse":{"name":"f","id":"1","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}}`)), "not supported for this model"},
		{flash, said(ask, model(call), user(`{"functionResponse":{"name":"f","id":"1","response":{},"parts":[{"inlineData":{"mimeType":"image/heic","data":"eA=="}}]}}`)), "Unsupported MIME type"},
		{strings.Replace(flash, "v1beta/", "v1beta1/projects/p/locations/l/publishers/google/", 1), said(ask, model(call), user(result)), `Unknown name \"id\"`},

		{flash, tools(`{"name":"1f"}`), "Must start with a letter or an underscore"},
		{flash, tools(`{"name":"` + strings.Repeat("a", 65) + `"}`), "maximum length of 64"},
		{flash, tools(f + `,` + f), "Duplicate function declaration"},
		{flash, tools(`{"name":"f","parametersJsonSchema":{}}`), "of type OBJECT"},
		{flash, tools(`{"name":"f","parametersJsonSchema":{"type":"object","not":{}}}`), `Unknown name \"not\"`},
		{flash, tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"$ref":"#/x","type":"string"}}}}`), "beside `$ref`"},
		{flash, tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"text"}}}}`), "unknown type"},
		{flash, tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"enum":[true]}}}}`), "only strings and numbers"},
		{flash, tools(`{"name":"f","parametersJsonSchema":{"type":"object","required":["a"]}}`), "property is not defined"},
		{flash, tools(`{"name":"f","parameters":{"type":"OBJECT"}}`), "should be non-empty for OBJECT type"},
		{flash, tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"ARRAY"}}}}`), "items: missing field"},
		{flash, tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","const":"x"}}}}`), `Unknown name \"const\"`},
		{flash, tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}},"parametersJsonSchema":{"type":"object"}}`), "mutually exclusive"},
		{flash, with(`"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`), "without function_declarations"},
		{flash, with(`"tools":[{"functionDeclarations":[` + f + `]}],"toolConfig":{"functionCallingConfig":{"mode":"SOME"}}`), "function_calling_config.mode"},
		{flash, with(`"tools":[{"functionDeclarations":[` + f + `]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g"]}}`), "is not declared"},
		{flash, with(`"tools":[{"functionDeclarations":[` + f + `]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["f"]}}`), "mode is ANY"},

		{flash, with(`"generationConfig":{"effort":"high"}`), `Unknown name \"effort\"`},
		{flash, with(`"generationConfig":{"stopSequences":["1","2","3","4","5","6"]}`), "must not exceed 5"},
		{flash, with(`"generationConfig":{"responseJsonSchema":{"type":"object"}}`), "requires a response mime type"},
		{flash, with(`"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"if":{}}}`), `Unknown name \"if\"`},
		{older, with(`"tools":[{"functionDeclarations":[` + f + `]}],"generationConfig":{"responseMimeType":"application/json"}`), "is unsupported"},
		{older, with(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}`), "level is not supported"},
		{older, with(`"generationConfig":{"thinkingConfig":{"thinkingBudget":1}}`), "between 128 and 24576"},
		{flash, with(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":200}}`), "only one of thinking budget"},
		{flash, with(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"low-ish"}}`), "thinking_level"},
		{strings.Replace(older, "2.5", "2.0", 1), with(`"generationConfig":{"thinkingConfig":{"includeThoughts":true}}`), "Thinking is not enabled"},
		{flash, with(`"cachedContent":"cachedContents/x","systemInstruction":{"parts":[{"text":"a"}]}`), "CachedContent can not be used"},
		{flash, with(`"safetySettings":[{"category":"HARM","threshold":"OFF"}]`), "HarmCategory"},

		{"/v1/models/x", said(ask), "Error 404"},
		{strings.Replace(flash, "gemini-3.6-flash", "palm-2", 1), said(ask), "models/palm-2 is not found"},
		{strings.TrimSuffix(flash, "?alt=sse"), said(ask), "server-sent events only"},
	} {
		got := post(t, server, tc.path, tc.body, nil)
		if !strings.Contains(got, "rror") || !strings.Contains(got, tc.want) && !strings.Contains(got, strings.ReplaceAll(tc.want, `"`, `\"`)) {
			t.Errorf("%s %s\n is answered with %s\n want %s", tc.path, tc.body, got, tc.want)
		}
	}
	for want, header := range map[string]map[string]string{
		"unregistered callers": {"X-Goog-Api-Key": ""}, "API_KEY_INVALID": {"X-Goog-Api-Key": "AIzaOther"}, "UNAUTHENTICATED": {"Authorization": "Bearer x"},
		"Unexpected token": {"Content-Type": "text/plain"},
	} {
		if got := post(t, server, flash, said(ask), header); !strings.Contains(got, want) {
			t.Errorf("with %v: %s", header, got)
		}
	}
	if n := len(server.Asked()); n < 70 {
		t.Errorf("%d requests", n)
	}
}

// The stand-in accepts what the API accepts, and returns the answers in order.
func TestItAnswers(t *testing.T) {
	t.Parallel()
	server := geminitest.Start(geminitest.Text("Hel", "lo."), geminitest.Error(503, "UNAVAILABLE", "The model is overloaded."))
	t.Cleanup(server.Close)
	const ask = `{"role":"user","parts":[{"text":"q"}]}`
	body := `{"contents":[` + ask + `]}`
	if got := post(t, server, flash, body, nil); !strings.HasPrefix(got, "data: {") || !strings.Contains(got, `"text": "Hel"`) ||
		!strings.Contains(got, `"finishReason": "STOP"`) || !strings.HasSuffix(got, "}\r\n\r\n") {
		t.Errorf("%s", got)
	}
	if got := post(t, server, flash, body, nil); !strings.Contains(got, `"status": "UNAVAILABLE"`) {
		t.Errorf("%s", got)
	}
	for _, placeholder := range []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"} {
		foreign := `{"contents":[` + ask + `,{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"` + placeholder + `"}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}},{"text":"and?"}]}]}`
		if got := post(t, server, flash, foreign, nil); !strings.Contains(got, "no answer to this request") {
			t.Errorf("%s", got)
		}
	}
	// Calls of earlier turns need no signature, and before Gemini 3 no call does.
	unsigned := ask + `,{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`
	for path, body := range map[string]string{
		flash: `{"contents":[` + unsigned + `,{"role":"model","parts":[{"text":"a"}]},` + ask + `]}`, older: `{"contents":[` + unsigned + `]}`,
	} {
		if got := post(t, server, path, body, nil); !strings.Contains(got, "no answer to this request") {
			t.Errorf("%s", got)
		}
	}
}

func post(t *testing.T, server *geminitest.Server, path, body string, header map[string]string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Goog-Api-Key", geminitest.Key)
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
