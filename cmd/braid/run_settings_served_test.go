package main

import (
	"bytes"
	"strings"
	"testing"
)

// A request sets instructions, options of the model and a tool choice for its run where the tenant's policy allows it,
// and nothing otherwise. The next run has none of them.
func TestSettingsOfARequest(t *testing.T) {
	t.Parallel()
	s, vendor, acme, zeta := claudes(t, 8)
	s.must(acme, "POST", "/v1/admin/tenants/acme/agents", `{"id":"clerk","model":"own","instructions":"You are a clerk.","verbosity":""}`)
	s.must(zeta, "POST", "/v1/admin/tenants/zeta/agents", `{"id":"clerk","model":"own"}`)
	talk := func(token string) string {
		id, _ := s.must(token, "POST", "/v1/conversations", `{"agent":"clerk"}`)["id"].(string)
		return id
	}
	conv, other := talk(acme), talk(zeta)
	ask := func(token, conv, members string) (int, string) {
		return s.ask(token, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Hello."`+members+`}`)
	}
	settings := map[string]string{
		"instructions": `,"instructions":"Rhyme."`, "model_options": `,"model_options":{"effort":"low"}`, "tool_choice": `,"tool_choice":{"mode":"none"}`,
	}
	refused := func(field string) {
		t.Helper()
		status, answer := ask(acme, conv, settings[field])
		if status != 403 || !strings.Contains(answer, "SETTING_FORBIDDEN") || !strings.Contains(answer, field+": the tenant's policy") {
			t.Errorf("%s: %d %s", field, status, answer)
		}
	}
	for field := range settings {
		refused(field)
	}
	if status, answer := s.ask(acme, "PATCH", "/v1/admin/tenants/acme", `{"policy":{"run_settings":["instructions"]}}`); status != 403 {
		t.Errorf("a tenant changes its policy: %d %s", status, answer)
	}
	for says, bad := range map[string]string{"policy.run_settings[0]: ": `["limits"]`, "policy.run_settings: ": `["instructions","model_options","tool_choice","instructions"]`} {
		if status, answer := s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"policy":{"run_settings":`+bad+`}}`); status != 422 || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %s", bad, status, answer)
		}
	}
	s.must("", "PATCH", "/v1/admin/tenants/acme", `{"policy":{"run_settings":["instructions","tool_choice"]}}`)
	refused("model_options")
	s.must("", "PATCH", "/v1/admin/tenants/acme", `{"policy":{"run_settings":["instructions","tool_choice","model_options"]}}`)
	if status, answer := ask(zeta, other, settings["instructions"]); status != 403 {
		t.Errorf("another tenant's policy counts: %d %s", status, answer)
	}
	if n := len(vendor.Asked()); n != 0 {
		t.Fatalf("the vendor is asked %d times", n)
	}
	if status, answer := ask(acme, conv, settings["instructions"]+settings["model_options"]+settings["tool_choice"]); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	body := vendor.Asked()[0].Body
	for _, want := range []string{"You are a clerk.", `Rhyme.`, `"effort":"low"`} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	for _, list := range []string{"/runs", "/events"} {
		if status, answer := s.ask(acme, "GET", "/v1/conversations/"+conv+list, ""); status != 200 || strings.Contains(answer, "Rhyme") || strings.Contains(answer, "braid.") {
			t.Errorf("%s shows %s", list, answer)
		}
	}
	// Nothing of a run is of the next: the model is told which instructions hold now.
	if status, answer := ask(acme, conv, ""); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	if body = vendor.Asked()[1].Body; !bytes.Contains(body, []byte(`replace the earlier ones:\n\nYou are a clerk."`)) || bytes.Contains(body, []byte(`"effort"`)) {
		t.Errorf("the next run is asked %s", body)
	}
	for want, c := range map[string]struct {
		members string
		status  int
	}{
		"top_p: it is out of bounds":    {`,"model_options":{"top_p":7}`, 422},
		"server_tools[0]: the tenant's": {`,"model":"anthropic:claude-sonnet-5-5","model_options":{"server_tools":[{"kind":"web_search"}]}`, 403},
		`no tool choice \"some\"`:       {`,"tool_choice":{"mode":"some"}`, 422},
		`the tool \"fly\"`:              {`,"tool_choice":{"mode":"one","tool":"fly"}`, 422},
		"the agent has none":            {`,"tool_choice":{"mode":"any"}`, 422},
		"extra":                         {`,"model_options":{"extra":{"x":1}}`, 400},
		"verbosity":                     {`,"model_options":{"verbosity":"low"}`, 422},
		"the instructions are too long": {`,"instructions":"` + strings.Repeat("x", 64<<10+1) + `"`, 400},
		"contain a zero character":      {`,"instructions":"a\u0000b"`, 400},
	} {
		if strings.HasPrefix(want, "server_tools") {
			c.members = strings.Replace(c.members, `,"model":"anthropic:claude-sonnet-5-5"`, "", 1)
			s.must("", "POST", "/v1/admin/models", `{"id":"shared","provider":"anthropic","name":"claude-sonnet-5-5"}`)
			c.members += `,"model":"shared"`
		}
		if status, answer := ask(acme, conv, c.members); status != c.status || !strings.Contains(answer, want) {
			t.Errorf("%.80s: %d, want %d with %q: %s", c.members, status, c.status, want, answer)
		}
	}
	if n := len(vendor.Asked()); n != 2 {
		t.Errorf("the vendor is asked %d times", n)
	}
}
