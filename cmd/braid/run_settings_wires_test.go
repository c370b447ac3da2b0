package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

// Every wire takes the settings of a run: in AG-UI below forwardedProps.braid, in AgentCore beside the prompt. The same
// policy holds for all, and what a wire does not know of a setting is refused, never ignored.
func TestSettingsOfARequestOnEveryWire(t *testing.T) {
	t.Parallel()
	s, vendor, acme, zeta := claudes(t, 16, "--agui")
	for tenant, token := range map[string]string{"acme": acme, "zeta": zeta} {
		s.must(token, "POST", "/v1/admin/tenants/"+tenant+"/agents", `{"id":"clerk","model":"own","instructions":"You are a clerk.","verbosity":""}`)
		s.must("", "PATCH", "/v1/admin/tenants/"+tenant, `{"default_agent":"clerk"}`)
	}
	n := 0
	wires := map[string]func(token, members string) (int, string){
		"native": func(token, members string) (int, string) {
			return s.ask(token, "POST", "/v1/conversations/"+s.conversation(token)+"/runs", `{"user_input":"Hello.",`+members+`}`)
		},
		"AG-UI": func(token, members string) (int, string) {
			n++
			return s.ask(token, "POST", "/agui", `{"threadId":"t`+strconv.Itoa(n)+`","runId":"r`+strconv.Itoa(n)+`",`+
				`"messages":[{"id":"u","role":"user","content":"Hello."}],"forwardedProps":{"other":[1],"braid":{`+members+`}}}`)
		},
		"AgentCore": func(token, members string) (int, string) {
			return s.ask(token, "POST", "/invocations", `{"prompt":"Hello.","other":[1],`+members+`}`)
		},
	}
	settings := map[string]string{
		"instructions": `"instructions":"Rhyme."`, "model_options": `"model_options":{"effort":"low"}`, "tool_choice": `"tool_choice":{"mode":"none"}`,
	}
	refused := func(token, of string) {
		t.Helper()
		for wire, ask := range wires {
			for field, member := range settings {
				if status, answer := ask(token, member); status != 403 || !strings.Contains(answer, field+": the tenant's policy") {
					t.Errorf("%s, %s of %s: %d %s", wire, field, of, status, answer)
				}
			}
		}
	}
	refused(acme, "a tenant that allows nothing")
	s.must("", "PATCH", "/v1/admin/tenants/acme", `{"policy":{"run_settings":["instructions","tool_choice","model_options"]}}`)
	refused(zeta, "another tenant")
	for wire, ask := range wires {
		for says, bad := range map[string]string{
			"max_turnz":            `"limits":{"max_turnz":1}`,
			"extra":                `"model_options":{"extra":{"x":1}}`,
			"instructions":         `"instructions":["Rhyme."]`,
			"a limit is negative":  `"limits":{"max_turns":-1}`,
			"limits":               `"limits":7`,
			"no such model":        `"model":"no-such-model"`,
			`tool choice \"some\"`: `"tool_choice":{"mode":"some"}`,
		} {
			status, answer := ask(acme, bad)
			if status < 400 || status >= 500 || !strings.Contains(answer, says) {
				t.Errorf("%s, %s: %d %s", wire, bad, status, answer)
			}
		}
	}
	if status, answer := wires["AG-UI"](acme, `"instruction":"Rhyme."`); status != 400 || !strings.Contains(answer, `\"instruction\"`) {
		t.Errorf("an unknown setting: %d %s", status, answer)
	}
	if n := len(vendor.Asked()); n != 0 {
		t.Fatalf("the vendor is asked %d times", n)
	}
	for wire, ask := range wires {
		status, answer := ask(acme, `"model":"old","limits":{"max_turns":3},`+settings["instructions"]+`,`+settings["tool_choice"])
		asked := vendor.Asked()
		if status != 200 || len(asked) == 0 {
			t.Fatalf("%s: %d %s", wire, status, answer)
		}
		body := asked[len(asked)-1].Body
		for _, want := range []string{"You are a clerk.", "Rhyme.", "claude-sonnet-4-5"} {
			if !bytes.Contains(body, []byte(want)) {
				t.Errorf("%s: %s is not in %s", wire, want, body)
			}
		}
		if status, answer := ask(acme, settings["model_options"]); status != 200 {
			t.Errorf("%s: %d %s", wire, status, answer)
		}
		asked = vendor.Asked()
		if body := asked[len(asked)-1].Body; !bytes.Contains(body, []byte(`"effort":"low"`)) || bytes.Contains(body, []byte("Rhyme")) {
			t.Errorf("%s: the next run is asked %s", wire, body)
		}
	}
	for _, props := range []string{`null`, `[]`, `"text"`, `{}`, `{"braid":null}`, `7`} { // the protocol allows any value
		n++
		status, answer := s.ask(zeta, "POST", "/agui", `{"threadId":"t`+strconv.Itoa(n)+`","runId":"r","messages":[{"id":"u","role":"user","content":"Hello."}],"forwardedProps":`+props+`}`)
		if status != 200 {
			t.Errorf("forwardedProps %s: %d %s", props, status, answer)
		}
	}
}
