package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// References are checked when an entry is written: the error lists what exists, and nothing is stored.
func TestReferencesAreChecked(t *testing.T) {
	t.Parallel()
	s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{"GIVEN": "sk-operators-given"},
		"--model", "demo", "--tools", "calculator,clock,files")
	s.must("", "POST", "/v1/admin/tenants", `{"id":"a"}`)
	admin := s.key("a", "", "read", "write", "admin:read", "admin:write")
	at := "/v1/admin/tenants/a"
	s.must("", "POST", at+"/models", `{"id":"good","provider":"openai","name":"m","credential":{"env":"GIVEN"}}`)
	s.must(admin, "POST", at+"/models", `{"id":"own","provider":"bedrock","name":"us.anthropic.claude-x","region":"us-east-1","credential":{"secret":"bedrock-api-key-x"}}`)
	s.must(admin, "POST", at+"/agents", `{"id":"good","tools":["calc*"]}`)
	for _, c := range []struct{ why, token, method, path, body, says string }{
		{"provider", admin, "POST", "/models", `{"id":"x","provider":"nosuch","name":"m","credential":{"secret":"sk-of-the-tenant-itself"}}`, "anthropic, openai, gemini, bedrock, vertex, azure, ollama, demo"},
		{"provider, later", admin, "PATCH", "/models/own", `{"provider":"nosuch"}`, "there is no provider"},
		{"variable", "", "POST", "/models", `{"id":"x","provider":"openai","name":"m","credential":{"env":"UNSET"}}`, "does not have the variable"},
		{"variable, later", "", "PATCH", "/models/good", `{"credential":{"env":"UNSET"}}`, "does not have the variable"},
		{"region", admin, "POST", "/models", `{"id":"x","provider":"bedrock","name":"us.anthropic.claude-x","region":"eu-west-1","credential":{"secret":"bedrock-api-key-x"}}`, "not served in eu-west-1"},
		{"region, later", admin, "PATCH", "/models/own", `{"region":"eu-west-1"}`, "not served in eu-west-1"},
		{"no region", admin, "PATCH", "/models/own", `{"region":"nowhere"}`, "not a valid name"},
		{"skill", admin, "POST", "/agents", `{"id":"x","skills":["gone"]}`, "skills[0]: "},
		{"tool", admin, "POST", "/agents", `{"id":"x","tools":["calculator","nosuch_*"]}`, "calculator, clock, delete_file, list_files, read_file, skill, write_file"},
		{"tool, later", admin, "PATCH", "/agents/good", `{"tools":["nosuch"]}`, "no tool fits"},
		{"model of an agent", admin, "POST", "/agents", `{"id":"x","model":"nosuch"}`, "model: there is no model"},
		{"default model", admin, "PATCH", "", `{"default_model":"anthropic:claude-sonnet-5-5"}`, "default_model: there is no model"},
		{"default agent", admin, "PATCH", "", `{"default_agent":"nosuch"}`, "the agents are good"},
		{"sub-agent", admin, "POST", "/agents", `{"id":"x","sub_agents":{"y":{"agent":"nosuch"}}}`, "sub_agents.y.agent: "},
		{"tool of a sub-agent", admin, "POST", "/agents", `{"id":"x","tools":[],"sub_agents":{"y":{"instructions":"z","tools":["nosuch"]}}}`, "sub_agents.y.tools[0]: no tool fits"},
	} {
		status, answer := s.ask(c.token, c.method, at+c.path, c.body)
		if status != 422 || !strings.Contains(answer, "REFERENCE_UNKNOWN") || !strings.Contains(answer, c.says) || strings.Contains(answer, "UNSET") {
			t.Errorf("%s: %d, want 422 with %q: %s", c.why, status, c.says, answer)
		}
		if c.method == "POST" {
			if status, _ := s.ask("", "GET", at+c.path+"/x", ""); status != 404 {
				t.Errorf("%s: it is kept: %d", c.why, status)
			}
		}
	}
	status, answer := s.ask("", "POST", "/v1/admin/tenants", `{"id":"x","default_agent":"good"}`)
	if status != 422 || !strings.Contains(answer, "default_agent: ") {
		t.Errorf("default agent of a new tenant: %d %s", status, answer)
	}
	// In the tenant default a provider's own model names are valid, and unknown names are not.
	s.must("", "PATCH", "/v1/admin/tenants/default", `{"default_model":"anthropic:claude-sonnet-5-5"}`)
	if status, answer := s.ask("", "PATCH", "/v1/admin/tenants/default", `{"default_model":"nosuch:x"}`); status != 422 || !strings.Contains(answer, "REFERENCE_UNKNOWN") {
		t.Errorf("the default tenant's model: %d %s", status, answer)
	}
	// An entry that others refer to is removed only by force.
	s.must(admin, "POST", at+"/agents", `{"id":"user","model":"own"}`)
	for _, how := range []string{"", "?force=false"} {
		if status, answer := s.ask(admin, "DELETE", at+"/models/own"+how, ""); status != 409 || !strings.Contains(answer, "MODEL_IN_USE") || !strings.Contains(answer, "agent user") {
			t.Errorf("a model in use: %d %s", status, answer)
		}
	}
	if status, answer := s.ask(admin, "DELETE", at+"/models/own?force=true", ""); status != 204 {
		t.Errorf("a model in use, by force: %d %s", status, answer)
	}
	// An entry with a reference that no longer exists can still be changed otherwise.
	s.must(admin, "PATCH", at+"/agents/good", `{"status":"inactive"}`)
}
