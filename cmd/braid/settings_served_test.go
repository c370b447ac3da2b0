package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/openai/openaitest"
)

const claudeSettings = `"effort":"low","show_thinking":true,"service_tier":"standard_only","context":"provider",` +
	`"server_tools":[{"kind":"web_search","max_uses":3,"domains":["docs.example"]},{"kind":"code_execution"}]`

// members returns the members of the last request to a stand-in.
func members(t *testing.T, body []byte) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// talk creates a conversation with an agent, runs once, and returns the conversation.
func (s *site) talk(token, agent, model string) (conversation string, status int, answer string) {
	s.t.Helper()
	id, ok := s.must(token, "POST", "/v1/conversations", `{"agent":"`+agent+`"}`)["id"].(string)
	if !ok {
		s.t.Fatal("the conversation has no id")
	}
	status, answer = s.run(token, id, "Hello.", model)
	return id, status, answer
}

// claudes makes two tenants, each with its own model and key, and an agent "clerk", on a stand-in.
func claudes(t *testing.T, answers int, args ...string) (s *site, vendor *anthropictest.Server, acme, zeta string) {
	t.Helper()
	vendor = anthropictest.Start(slices.Repeat([]anthropictest.Answer{anthropictest.Text("Hello.")}, answers)...)
	t.Cleanup(vendor.Close)
	s = serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{"ANTHROPIC_API_KEY": anthropictest.Key, "ANTHROPIC_BASE_URL": vendor.URL},
		append([]string{"--model", "anthropic:claude-sonnet-5-5", "--tools", "none", "--agentcore"}, args...)...)
	for _, tenant := range []string{"acme", "zeta"} {
		s.must("", "POST", "/v1/admin/tenants", `{"id":"`+tenant+`"}`)
		for id, name := range map[string]string{"own": "claude-sonnet-5-5", "old": "claude-sonnet-4-5"} {
			s.must("", "POST", "/v1/admin/tenants/"+tenant+"/models",
				`{"id":"`+id+`","provider":"anthropic","name":"`+name+`","credential":{"secret":"`+anthropictest.Key+`"}}`)
		}
	}
	return s, vendor, s.key("acme", "", "read", "write", "admin:read", "admin:write"), s.key("zeta", "", "read", "write", "admin:read", "admin:write")
}

// An agent's settings of model calls are sent with its tenant's key, in the version that the conversation uses.
// Another tenant's agent of the same id is not affected.
func TestSettingsOfATenantsAgentAreSent(t *testing.T) {
	t.Parallel()
	s, vendor, acme, zeta := claudes(t, 5)
	const at = "/v1/admin/tenants/"
	s.must(acme, "POST", at+"acme/agents", `{"id":"clerk","model":"own",`+claudeSettings+`}`)
	s.must(zeta, "POST", at+"zeta/agents", `{"id":"clerk","model":"own"}`)
	last := func() (map[string]any, []byte) {
		asked := vendor.Asked()
		body := asked[len(asked)-1].Body
		return members(t, body), body
	}
	set := []string{
		`"effort":"low"`, `"display":"summarized"`, `"service_tier":"standard_only"`, `"context_management"`, `"max_uses":3`,
		`"allowed_domains":["docs.example"]`, `"type":"code_execution_`,
	}
	kept, status, answer := s.talk(acme, "clerk", "")
	_, body := last()
	for _, want := range set {
		if status != 200 || !bytes.Contains(body, []byte(want)) {
			t.Errorf("%d %s: %s is not in %s", status, answer, want, body)
		}
	}
	_, status, answer = s.talk(zeta, "clerk", "")
	bare := func(whose string) {
		t.Helper()
		m, body := last()
		for _, member := range []string{"output_config", "service_tier", "context_management", "tools"} {
			if _, there := m[member]; status != 200 || there {
				t.Errorf("%s: %d %s: %s is in %s", whose, status, answer, member, body)
			}
		}
	}
	bare("another tenant")

	// Removing settings makes a new version. A conversation keeps its version.
	v := s.must(acme, "PATCH", at+"acme/agents/clerk",
		`{"effort":null,"show_thinking":null,"service_tier":null,"context":null,"server_tools":null}`)
	if v["version"] != 2.0 || v["effort"] != nil || v["server_tools"] != nil {
		t.Errorf("the second version is %v", v)
	}
	if v := s.must(acme, "GET", at+"acme/agents/clerk/versions/1", ""); v["effort"] != "low" || v["context"] != "provider" {
		t.Errorf("the first version is %v", v)
	}
	status, answer = s.run(acme, kept, "And again.", "")
	if _, body := last(); status != 200 || !bytes.Contains(body, []byte(`"effort":"low"`)) {
		t.Errorf("a conversation that keeps to the first version: %d %s: %s", status, answer, body)
	}
	_, status, answer = s.talk(acme, "clerk", "")
	bare("the second version")
	for i, r := range vendor.Asked() {
		if r.Refused != "" {
			t.Errorf("request %d is refused: %s", i, r.Refused)
		}
	}
}

// OpenAI's own settings, from a model's entry, and from an agent, which takes precedence.
func TestSettingsOfAModelAreSent(t *testing.T) {
	t.Parallel()
	vendor := openaitest.Start(openaitest.Text(openaitest.Chat, "Hello."), openaitest.Text(openaitest.Chat, "Hello."))
	t.Cleanup(vendor.Close)
	s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{"OPENAI_API_KEY": openaitest.Key, "OPENAI_BASE_URL": vendor.URL},
		"--model", "demo", "--tools", "none")
	s.must("", "POST", "/v1/admin/models",
		`{"id":"careful","provider":"openai","name":"gpt-5.4","effort":"high","verbosity":"low","seed":7,"service_tier":"flex"}`)
	s.must("", "POST", "/v1/admin/tenants", `{"id":"acme"}`)
	token := s.key("acme", "", "read", "write", "admin:read", "admin:write")
	s.must(token, "POST", "/v1/admin/tenants/acme/agents", `{"id":"plain","model":"careful"}`)
	s.must(token, "POST", "/v1/admin/tenants/acme/agents", `{"id":"quick","model":"careful","effort":"low","verbosity":"high"}`)
	for i, c := range []struct{ agent, effort, verbosity string }{{"plain", "high", "low"}, {"quick", "low", "high"}} {
		_, status, answer := s.talk(token, c.agent, "")
		if asked := vendor.Asked(); status != 200 || len(asked) != i+1 {
			t.Fatalf("%s: %d %s", c.agent, status, answer)
		}
		m := members(t, vendor.Asked()[i].Body)
		if m["reasoning_effort"] != c.effort || m["verbosity"] != c.verbosity || m["seed"] != 7.0 || m["service_tier"] != "flex" {
			t.Errorf("%s sends %v", c.agent, m)
		}
	}
	m := s.must("", "PATCH", "/v1/admin/models/careful", `{"seed":null,"effort":"max"}`)
	if m["seed"] != nil || m["effort"] != "max" || m["verbosity"] != "low" {
		t.Errorf("the model is %v", m)
	}
	// Only the operator changes shared entries.
	if status, answer := s.ask(token, "PATCH", "/v1/admin/models/careful", `{"effort":"low"}`); status < 400 {
		t.Errorf("a tenant changes what all share: %d %s", status, answer)
	}
}

// Each invalid setting is refused with the path of its field, and nothing is stored.
func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	s, vendor, acme, _ := claudes(t, 0)
	const at = "/v1/admin/tenants/acme"
	many := func(n int, word string) string {
		return `["` + strings.Join(slices.Repeat([]string{word}, n), `","`) + `"]`
	}
	tool := func(members string) string { return `"server_tools":[` + members + `]` }
	for _, c := range []struct {
		member string
		status int
		says   string
	}{
		{`"effort":"Very hard"`, 422, "effort: "},
		{`"effort":"` + strings.Repeat("a", 21) + `"`, 422, "effort: "},
		{`"top_p":0`, 422, "top_p: "},
		{`"top_p":1.01`, 422, "top_p: "},
		{`"verbosity":"chatty"`, 422, "verbosity: "},
		{`"service_tier":"a tier"`, 422, "service_tier: "},
		{`"service_tier":"` + strings.Repeat("a", 41) + `"`, 422, "service_tier: "},
		{tool(`{"kind":"shell"}`), 422, "server_tools[0].kind: there is no such tool"},
		{tool(`{"kind":""}`), 422, "server_tools[0].kind: "},
		{tool(`{"kind":"mcp"}`), 422, "server_tools[0].kind: an MCP server"},
		{tool(`{"kind":"web_search"},{"kind":"web_search"}`), 422, "server_tools[1].kind: the kind stands twice"},
		{tool(strings.Join(slices.Repeat([]string{`{"kind":"web_search"}`}, 5), ",")), 422, "server_tools: there are too many"},
		{tool(`{"kind":"web_search","max_uses":-1}`), 422, "server_tools[0].max_uses: "},
		{tool(`{"kind":"web_search","max_uses":1001}`), 422, "server_tools[0].max_uses: "},
		{tool(`{"kind":"code_execution","max_uses":1}`), 422, "server_tools[0].max_uses: "},
		{tool(`{"kind":"web_search","domains":["a.example"],"blocked":["b.example"]}`), 422, "server_tools[0].blocked: "},
		{tool(`{"kind":"web_fetch","domains":["a.example","b\u0000"]}`), 422, "server_tools[0].domains[1]: "},
		{tool(`{"kind":"web_fetch","blocked":["http://x y"]}`), 422, "server_tools[0].blocked[0]: "},
		{tool(`{"kind":"web_fetch","domains":` + many(101, "a.example") + `}`), 422, "server_tools[0].domains: there are too many"},
		{tool(`{"kind":"code_execution","domains":["a.example"]}`), 422, "server_tools[0].domains: "},
		{tool(`{"kind":"web_search","stores":["vs_1"]}`), 422, "server_tools[0].stores: "},
		{tool(`{"kind":"file_search"}`), 422, "server_tools[0].stores: "},
		{tool(`{"kind":"file_search","stores":` + many(17, "vs_1") + `}`), 422, "server_tools[0].stores: there are too many"},
		{tool(`{"kind":"file_search","stores":["` + strings.Repeat("a", 129) + `"]}`), 422, "server_tools[0].stores[0]: "},
		// Settings that the model does not have give the model's error.
		{`"top_p":0.5`, 422, "UNSUPPORTED"},
		{`"seed":7`, 422, "UNSUPPORTED"},
		{`"verbosity":"low"`, 422, "UNSUPPORTED"},
		{`"service_tier":"flex"`, 422, "UNSUPPORTED"},
		{`"effort":"hardest"`, 422, "UNSUPPORTED"},
		{tool(`{"kind":"file_search","stores":["vs_1"]}`), 422, "UNSUPPORTED"},
		// Values of the wrong form, and fields that nobody may set.
		{`"seed":1.5`, 400, "INVALID_REQUEST"},
		{`"seed":99999999999999999999`, 400, "INVALID_REQUEST"},
		{`"show_thinking":"yes"`, 400, "INVALID_REQUEST"},
		{`"server_tools":{"kind":"web_search"}`, 400, "INVALID_REQUEST"},
		{tool(`{"kind":"mcp","url":"https://mcp.example","token":"ANTHROPIC_API_KEY"}`), 400, "INVALID_REQUEST"},
		{`"extra":{"user":"x"}`, 400, "INVALID_REQUEST"},
		{`"headers":{"X-Api-Key":"x"}`, 400, "INVALID_REQUEST"},
	} {
		for _, way := range []struct{ what, method, path, body string }{
			{"agent", "POST", "/agents", `{"id":"x","model":"own",` + c.member + `}`},
			{"model", "POST", "/models", `{"id":"x","provider":"anthropic","name":"claude-sonnet-5-5","credential":{"secret":"k"},` + c.member + `}`},
		} {
			status, answer := s.ask(acme, way.method, at+way.path, way.body)
			if status != c.status || !strings.Contains(answer, c.says) || c.status == 422 && !strings.Contains(c.says, "UNS") && !strings.Contains(answer, "SETTING_INVALID") {
				t.Errorf("%s with %s: %d, want %d with %q: %s", way.what, c.member, status, c.status, c.says, answer)
			}
			if status, _ := s.ask(acme, "GET", at+way.path+"/x", ""); status != 404 {
				t.Errorf("%s with %s is kept: %d", way.what, c.member, status)
			}
		}
	}
	s.must(acme, "POST", at+"/agents", `{"id":"clerk","model":"own"}`)
	for says, patch := range map[string]string{
		"context: ": `{"context":"forget"}`, "UNSUPPORTED": `{"top_p":0.5}`, "effort: ": `{"effort":"?"}`, "server_tools[0].kind: ": `{"server_tools":[{"kind":"x"}]}`,
	} {
		if status, answer := s.ask(acme, "PATCH", at+"/agents/clerk", patch); status != 422 || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %s", patch, status, answer)
		}
	}
	if v := s.must(acme, "GET", at+"/agents/clerk", ""); v["version"] != 1.0 || v["revision"] != 1.0 {
		t.Errorf("what is refused changes %v", v)
	}
	// A run with another model is refused before it begins.
	s.must(acme, "POST", at+"/agents", `{"id":"hard","model":"own","effort":"xhigh"}`)
	conv, status, answer := s.talk(acme, "hard", "old")
	if status != 422 || !strings.Contains(answer, "UNSUPPORTED") || !strings.Contains(answer, "xhigh") {
		t.Errorf("a run with a model that has no such effort: %d %s", status, answer)
	}
	if list, ok := s.must(acme, "GET", "/v1/conversations/"+conv+"/runs", "")["data"].([]any); !ok || len(list) != 0 {
		t.Errorf("it is a run: %v", list)
	}
	if n := len(vendor.Asked()); n != 0 {
		t.Errorf("the vendor is asked %d times", n)
	}
}

// A tenant's agent uses settings that the operator pays for only as the tenant's policy allows. It never uses stores
// of the operator's account or an MCP server. Only the operator changes the policy.
func TestSettingsOnTheOperatorsModels(t *testing.T) {
	t.Parallel()
	s, vendor, acme, _ := claudes(t, 3)
	const at = "/v1/admin/tenants/acme"
	s.must("", "POST", "/v1/admin/models", `{"id":"shared","provider":"anthropic","name":"claude-sonnet-5-5"}`)
	forbidden := func(what string, status int, answer, says string) {
		t.Helper()
		if status != 403 || !strings.Contains(answer, "SETTING_FORBIDDEN") || !strings.Contains(answer, says) {
			t.Errorf("%s: %d, want 403 with %q: %s", what, status, says, answer)
		}
	}
	for _, model := range []string{"", `"model":"shared",`} { // the server's own model, and a shared one
		for says, member := range map[string]string{
			"server_tools[0]: the tenant's policy":   `"server_tools":[{"kind":"web_search"}]`,
			"server_tools[0]: the stores would be":   `"server_tools":[{"kind":"file_search","stores":["vs_of_another_tenant"]}]`,
			"service_tier: the tenant's policy does": `"service_tier":"standard_only"`,
		} {
			status, answer := s.ask(acme, "POST", at+"/agents", `{"id":"x",`+model+member+`}`)
			forbidden(model+member, status, answer, says)
		}
	}
	// A run with the operator's model has no provider tools of the agent either.
	s.must(acme, "POST", at+"/agents", `{"id":"clerk","model":"own","effort":"low","server_tools":[{"kind":"web_search"}],"service_tier":"standard_only"}`)
	_, status, answer := s.talk(acme, "clerk", "shared")
	forbidden("a run with the operator's model", status, answer, "server_tools[0]: ")
	if n := len(vendor.Asked()); n != 0 {
		t.Errorf("the vendor is asked %d times", n)
	}
	const policy = `{"policy":{"server_tools":["web_search"],"service_tiers":["standard_only"]}}`
	if status, answer := s.ask(acme, "PATCH", at, policy); status != 403 {
		t.Errorf("a tenant changes its policy: %d %s", status, answer)
	}
	for says, bad := range map[string]string{
		"policy.server_tools[0]: ": `{"policy":{"server_tools":["file_search"]}}`, "policy.server_tools[1]: ": `{"policy":{"server_tools":["web_fetch","mcp"]}}`,
		"policy.service_tiers[0]: ": `{"policy":{"service_tiers":[""]}}`,
	} {
		if status, answer := s.ask("", "PATCH", at, bad); status != 422 || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %s", bad, status, answer)
		}
	}
	s.must("", "PATCH", at, policy)
	if _, status, answer := s.talk(acme, "clerk", "shared"); status != 200 {
		t.Errorf("with the policy: %d %s", status, answer)
	}
	s.must(acme, "POST", at+"/agents", `{"id":"more","model":"shared","server_tools":[{"kind":"web_search","max_uses":2}]}`)
	// Settings of the operator's own model entry need no policy.
	s.must("", "PATCH", at, `{"policy":null}`)
	s.must("", "PATCH", "/v1/admin/models/shared", `{"server_tools":[{"kind":"web_fetch"}]}`)
	s.must(acme, "POST", at+"/agents", `{"id":"plain","model":"shared"}`)
	_, status, answer = s.talk(acme, "plain", "")
	if asked := vendor.Asked(); status != 200 || len(asked) != 2 || !strings.Contains(string(asked[1].Body), `"type":"web_fetch_`) {
		t.Errorf("the model's own tool: %d %s", status, answer)
	}
	_, status, answer = s.talk(acme, "more", "")
	forbidden("a policy that has gone", status, answer, "server_tools[0]: ")
	s.must(acme, "POST", at+"/agents", `{"id":"none","model":"shared","server_tools":[]}`)
	_, status, answer = s.talk(acme, "none", "")
	if asked := vendor.Asked(); status != 200 || len(asked) != 3 || strings.Contains(string(asked[2].Body), `"web_fetch`) {
		t.Errorf("no tools at all: %d %s", status, answer)
	}
}

// A request for a run cannot set fields, headers or options of the model's requests.
func TestRunsSetNoMembersOfRequests(t *testing.T) {
	t.Parallel()
	s, vendor, acme, _ := claudes(t, 2)
	s.must(acme, "POST", "/v1/admin/tenants/acme/agents", `{"id":"clerk","model":"own"}`)
	conv, ok := s.must(acme, "POST", "/v1/conversations", `{"agent":"clerk"}`)["id"].(string)
	if !ok {
		t.Fatal("the conversation has no id")
	}
	for _, name := range []string{
		"extra", "Extra", "headers", "Headers", "model_extra", "model_headers", "extra_body", "extra_headers", "options", "server_tools", "effort",
		"service_tier", "context", "top_p",
	} {
		body := fmt.Sprintf(`{"user_input":"Hi.",%q:{"x-api-key":"planted","user":"planted"}}`, name)
		for _, path := range []string{"/v1/conversations/" + conv + "/runs", "/v1/conversations/" + conv + "/runs/run_x/retry", "/v1/conversations"} {
			if status, answer := s.ask(acme, "POST", path, body); status != 400 || !strings.Contains(answer, "INVALID_REQUEST") {
				t.Errorf("%s at %s: %d %s", name, path, status, answer)
			}
		}
	}
	// The name of a model cannot have settings either.
	for _, model := range []string{"own?effort=max", "anthropic:claude-sonnet-5-5?tier=auto", "own&effort=max"} {
		if status, answer := s.run(acme, conv, "Hi.", model); status != 422 {
			t.Errorf("%s: %d %s", model, status, answer)
		}
	}
	if status, answer := s.run(acme, conv, "Hi.", ""); status != 200 {
		t.Errorf("a plain run: %d %s", status, answer)
	}
	// Unknown members of AgentCore's payload are ignored, because programs define them.
	if status, answer := s.ask("", "POST", "/invocations",
		`{"prompt":"Hi.","extra":{"user":"planted"},"headers":{"x-api-key":"planted"},"options":{"extra":{"user":"planted"}},"effort":"planted"}`); status != 200 {
		t.Errorf("an invocation: %d %s", status, answer)
	}
	asked := vendor.Asked()
	if len(asked) != 2 {
		t.Fatalf("%d requests", len(asked))
	}
	for _, r := range asked {
		if bytes.Contains(r.Body, []byte("planted")) || strings.Contains(fmt.Sprint(r.Header), "planted") {
			t.Errorf("it is sent: %s %v", r.Body, r.Header)
		}
	}
}
