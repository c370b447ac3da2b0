package bedrocktest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/model/bedrock/bedrocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	opus   = "us.anthropic.claude-opus-4-6-v1"
	nova   = "amazon.nova-pro-v1:0"
	llama  = "us.meta.llama4-scout-17b-instruct-v1:0"
	titan  = "amazon.titan-text-express-v1"
)

// Each case is a request that the vendor refuses, with a part of the vendor's message.
func TestItRefuses(t *testing.T) {
	t.Parallel()
	server := bedrocktest.Start()
	t.Cleanup(server.Close)
	server.Trust("sig", "hm")
	const q = `{"role":"user","content":[{"text":"q"}]}`
	const tools = `"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}]}`
	with := func(more string) string { return `{"messages":[` + q + `],` + more + `}` }
	of := func(messages string) string { return `{"messages":[` + messages + `],` + tools + `}` }
	after := func(messages string) string { return of(q + "," + messages) }
	tool := func(name, schema string) string {
		return with(`"toolConfig":{"tools":[{"toolSpec":{"name":"` + name + `","inputSchema":{"json":` + schema + `}}}]}`)
	}
	// moreTools adds to the list of tools, choice sets the tool choice.
	moreTools := func(more string) string { return with(strings.TrimSuffix(tools, `]}`) + `,` + more + `]}`) }
	choice := func(c string) string { return with(strings.TrimSuffix(tools, `}`) + `,"toolChoice":` + c + `}`) }
	const object = `{"type":"object","properties":{}}`
	const call = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"f","input":{}}}]}`
	result := func(more string) string {
		return `{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"text":"r"}]` + more + `}}]}`
	}
	input := func(blocks string) string { return of(`{"role":"user","content":[` + blocks + `]}`) }
	for _, tc := range []struct{ model, body, want string }{
		{"gpt-5", with(`"x":1`), "model identifier is invalid"},
		{"anthropic.claude-sonnet-4-5-20250929-v1:0", with(`"x":1`), "on-demand throughput isn’t supported"},
		{claude, `{`, "no JSON"},
		{claude, `{"messages":[]}`, "must start with a user message"},
		{claude, with(`"model":"x"`), "extraneous key [model]"},
		{claude, with(`"system":[{"text":" "}]`), "SystemContentBlock object at system.0 is blank"},
		{titan, with(`"system":[{"text":"x"}]`), "doesn't support system messages"},
		{nova, with(`"system":[{"text":"x"},{"text":"y"}]`), "expected maxItems: 1"},
		{claude, with(`"inferenceConfig":{"maxTokens":0}`), "greater than or equal to 1"},
		{claude, with(`"inferenceConfig":{"stopSequences":[" "]}`), "is blank"},
		{claude, with(`"inferenceConfig":{"maxTokens":1000000}`), "exceeds the model limit"},
		{claude, with(`"toolConfig":{"tools":[]}`), "greater than or equal to 1"},
		{claude, tool("a.b", object), "[a-zA-Z0-9_-]+"},
		{claude, tool(strings.Repeat("a", 65), object), "less than or equal to 64"},
		{claude, tool("a", `{"type":"string"}`), "must be one of the following: object"},
		{claude, tool("a", `{"type":"object","oneOf":[]}`), "at the top level"},
		{nova, tool("a", `{"type":"object","properties":{},"title":"T"}`), "extraneous key [title]"},
		{nova, tool("a", `{"type":"object"}`), "required key [properties]"},
		{nova, tool("a-b", object), "hyphen"},
		{nova, tool("a", object), "greedy decoding"},
		{claude, with(`"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"","inputSchema":{"json":` + object + `}}}]}`), "description"},
		{claude, moreTools(`{"toolSpec":{"name":"f","inputSchema":{"json":` + object + `}}}`), "already defined"},
		{titan, with(tools), "doesn't support tool use."},
		{llama, with(tools), "doesn't support tool use in streaming mode"},
		{claude, with(`"toolConfig":{"tools":[{"cachePoint":{"type":"default"}}]}`), "nothing available to cache"},
		{nova, moreTools(`{"cachePoint":{"type":"default"}}`), "extraneous key [cachePoint]"},
		{claude, choice(`{"tool":{"name":"g"}}`), "is not defined"},
		{"cohere.command-r-v1:0", choice(`{"any":{}}`), "doesn't support the toolConfig.toolChoice.any field"},
		{claude, with(`"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":10}}`), "greater than or equal to 1024"},
		{claude, with(`"inferenceConfig":{"maxTokens":1024},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}}`), "must be greater than"},
		{claude, with(`"additionalModelRequestFields":{"thinking":{"type":"adaptive"}}`), "not supported"},
		{opus, with(`"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2000}}`), "not supported for this model"},
		{"us.amazon.nova-2-lite-v1:0", with(`"inferenceConfig":{"maxTokens":5},"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}}`), "cannot be used"},
		{claude, with(`"guardrailConfig":{"guardrailIdentifier":"x"}`), "guardrailVersion"},
		{claude, with(`"guardrailConfig":{"guardrailIdentifier":"x","guardrailVersion":"1","trace":"on"}`), "enabled_full"},
		{nova, with(`"outputConfig":{}`), "doesn't support the outputConfig"},
		{claude, with(`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\":\"object\"}"}}}}`), "explicitly set to false"},
		{claude, with(`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"minLength\":1}"}}}}`), "'minLength' is not supported"},
		{claude, with(`"serviceTier":{"type":"gold"}`), "priority"},
		{claude, with(`"performanceConfig":{"latency":"low"}`), "optimized"},
		{claude, after(q), "must alternate"},
		{claude, of(`{"role":"tool","content":[{"text":"q"}]}`), "[user, assistant]"},
		{claude, of(`{"role":"assistant","content":[{"text":"q"}]}`), "must start with a user message"},
		{claude, of(`{"role":"user","content":[]}`), "is empty"},
		{claude, input(`{"text":""}`), "is blank"},
		{claude, input(`{"text":"q","toolUse":{}}`), "exactly one member"},
		{claude, input(`{"reasoningContent":{}}`), "not supported in user messages"},
		{claude, after(`{"role":"assistant","content":[{"text":"q"}]}`), "prefill"},
		{claude, after(`{"role":"assistant","content":[{"document":{}}]},` + q), "not supported in assistant messages"},
		{claude, `{"messages":[` + q + `,` + call + `,` + result("") + `]}`, "toolConfig field must be defined"},
		{claude, after(call + `,` + q), "Expected toolResult blocks at messages.2.content for the following Ids: t"},
		{claude, after(call + `,` + strings.Replace(result(""), `"t"`, `"u"`, 1)), "exceeds the number of toolUse blocks"},
		{claude, after(call + `,` + result("") + `,` + call + `,` + result("")), "ids must be unique"},
		{claude, after(strings.Replace(call, `"t"`, `"t.1"`, 1) + `,` + q), "[a-zA-Z0-9_-]+"},
		{claude, after(strings.Replace(call, `{}`, `[]`, 1) + `,` + q), "Provide a json object"},
		{claude, after(call + `,` + strings.Replace(result(""), `[{"text":"r"}]`, `[]`, 1)), "is empty"},
		{claude, after(call + `,` + strings.Replace(result(""), `{"text":"r"}`, `{"json":[1]}`, 1)), "Provide a json object"},
		{claude, after(call + `,` + strings.Replace(result(`,"status":"error"`), `{"text":"r"}`, `{"image":{"format":"png","source":{"bytes":"AQ=="}}}`, 1)), "all content must be type"},
		{"qwen.qwen3-32b-v1:0", after(call + `,` + result(`,"status":"success"`)), "doesn't support the status field"},
		{"qwen.qwen3-32b-v1:0", after(call + `,` + strings.Replace(result(""), `}}]}`, `}},{"text":"q"}]}`, 1)), "cannot be provided in the same turn"},
		{"qwen.qwen3-32b-v1:0", after(call + `,` + strings.Replace(result(""), `{"text":"r"}`, `{"image":{"format":"png","source":{"bytes":"AQ=="}}}`, 1)), "in toolResult"},
		{claude, after(`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"other"}}}]},` + q), "Invalid `signature`"},
		{claude, after(`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"changed","signature":"sig"}}}]},` + q), "cannot be modified"},
		{claude, after(`{"role":"assistant","content":[{"reasoningContent":{"redactedContent":"?"}}]},` + q), "no base64"},
		{"amazon.nova-micro-v1:0", strings.Replace(input(`{"image":{"format":"png","source":{"bytes":"AQ=="}}},{"text":"q"}`), ","+tools, "", 1), "doesn't support the image"},
		{claude, input(`{"image":{"format":"tiff","source":{"bytes":"AQ=="}}}`), "[gif, jpeg, png, webp]"},
		{claude, input(`{"image":{"format":"png","source":{"bytes":"?"}}}`), "no base64"},
		{claude, input(`{"image":{"format":"png","source":{"s3Location":{"uri":"s3://b/a"}}}}`), "s3Location"},
		{claude, input(`{"image":{"format":"png","source":{"bytes":"` + strings.Repeat("AAAA", 5<<18+1) + `"}}}`), "exceeds 5 MB maximum"},
		{claude, input(`{"document":{"format":"pdf","name":"a.pdf","source":{"bytes":"AQ=="}}},{"text":"q"}`), "file name can only contain"},
		{claude, input(`{"document":{"format":"pdf","name":"a  b","source":{"bytes":"AQ=="}}},{"text":"q"}`), "file name can only contain"},
		{claude, input(`{"document":{"format":"pdf","name":"a","source":{"bytes":"AQ=="}}},{"document":{"format":"pdf","name":"a","source":{"bytes":"AQ=="}}},{"text":"q"}`), "Duplicate document"},
		{claude, input(`{"document":{"format":"zip","name":"a","source":{"bytes":"AQ=="}}},{"text":"q"}`), "enum value set"},
		{claude, input(`{"document":{"format":"pdf","name":"a","source":{"bytes":"AQ=="}}}`), "a text block is required"},
		{claude, input(`{"text":"q"},{"document":{"format":"csv","name":"a","source":{"bytes":"AQ=="}}},{"cachePoint":{"type":"default"}}`), "no PDF"},
		{claude, input(`{"cachePoint":{"type":"default"}}`), "nothing available to cache"},
		{claude, input(`{"text":"q"},{"cachePoint":{"type":"big"}}`), "[default]"},
		{llama, `{"messages":[{"role":"user","content":[{"text":"q"},{"cachePoint":{"type":"default"}}]}]}`, "did not allow prompt caching"},
		{claude, input(strings.TrimSuffix(strings.Repeat(`{"text":"q"},{"cachePoint":{"type":"default"}},`, 5), ",")), "A maximum of 4 cache points"},
	} {
		got := post(t, server, "/model/"+tc.model+"/converse-stream", tc.body, nil)
		if !strings.Contains(got, tc.want) || !strings.Contains(got, "ValidationException") {
			t.Errorf("%s\n%.600s\n is answered with %s\n want %s", tc.model, tc.body, got, tc.want)
		}
	}
	body := with(`"system":[]`)
	for header, want := range map[string]string{
		"Authorization": "MissingAuthenticationTokenException", "Content-Type": "content type",
	} {
		if got := post(t, server, "/model/"+claude+"/converse-stream", body, map[string]string{header: ""}); !strings.Contains(got, want) {
			t.Errorf("without %s: %s", header, got)
		}
	}
	if got := post(t, server, "/model/"+claude+"/converse-stream", body, map[string]string{"Authorization": "Bearer x"}); !strings.Contains(got, "AccessDeniedException") {
		t.Errorf("a wrong key: %s", got)
	}
	if got := post(t, server, "/model/"+claude+"/invoke", body, nil); !strings.Contains(got, "UnknownOperationException") {
		t.Errorf("another operation: %s", got)
	}
}

func TestItAnswers(t *testing.T) {
	t.Parallel()
	server := bedrocktest.Start(bedrocktest.Text("Hel", "lo."))
	t.Cleanup(server.Close)
	const body = `{"messages":[{"role":"user","content":[{"text":"q"}]}]}`
	const path = "/model/" + claude + "/converse-stream"
	if got := post(t, server, path, body, nil); !strings.Contains(got, `"text":"Hel"`) || !strings.Contains(got, `"stopReason":"end_turn"`) {
		t.Errorf("%s", got)
	}
	server.Add(bedrocktest.Error(429, "ThrottlingException", "Slow down"))
	if got := post(t, server, path, body, nil); !strings.Contains(got, "Slow down") {
		t.Errorf("%s", got)
	}
	if got := post(t, server, path, body, nil); !strings.Contains(got, "no answer to this request") {
		t.Errorf("%s", got)
	}
	server.Window = 5
	if got := post(t, server, path, body, nil); !strings.Contains(got, "prompt is too long") {
		t.Errorf("%s", got)
	}
	if n := len(server.Bodies()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// post returns the name of the exception, if there is one, and the body.
func post(t *testing.T, server *bedrocktest.Server, path, body string, header map[string]string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bedrocktest.Key)
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
		if v == "" {
			req.Header.Del(k)
		}
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
	return resp.Header.Get("X-Amzn-Errortype") + string(out)
}
