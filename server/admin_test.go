package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

const tenants = "/v1/admin/tenants"

// From nothing to a tenant's agent, model and key, as the operator does it and then the tenant.
func TestAdministration(t *testing.T) {
	t.Parallel()
	_, with := withTenants(t)
	s := open(t, with)
	made := s.ask("POST", tenants, `{"id":"acme","name":"Acme","limits":{"max_turns":5},"policy":{"permissions":{"deny":["rm_*"]}},"retention":{"conversations_days":30}}`)
	if made.StatusCode != 201 || made.Header.Get("Location") != tenants+"/acme" || made.Header.Get("ETag") != `"1"` {
		t.Fatalf("%d %v", made.StatusCode, made.Header)
	}
	key := s.json(201, "POST", tenants+"/acme/keys", `{"name":"first","user":"ann","scopes":["admin:read","admin:write","read","write"]}`)
	token := key["token"].(string)
	if !strings.HasPrefix(token, "brk_") {
		t.Fatalf("the token is %q", token)
	}
	acme := []string{"Authorization", "Bearer " + token}
	here := tenants + "/acme"
	// Nothing else ever shows the token.
	for _, path := range []string{here + "/keys", here + "/keys/" + key["id"].(string), here + "/audit"} {
		raw, _ := json.Marshal(s.json(200, "GET", path, "", acme...))
		if strings.Contains(string(raw), token[20:]) || strings.Contains(string(raw), "hash\":\"$") {
			t.Errorf("%s shows the key: %s", path, raw)
		}
	}
	agent := s.json(201, "POST", here+"/agents", `{"id":"helper","instructions":"Be brief.","tools":[],"sub_agents":{"look_up":{"instructions":"Look it up."}}}`, acme...)
	if agent["version"] != 1.0 || agent["status"] != "active" || agent["tenant"] != "acme" {
		t.Errorf("the agent is %v", agent)
	}
	agent = s.json(200, "PATCH", here+"/agents/helper", `{"instructions":"Be kind.","sub_agents":null,"limits":{"max_turns":3}}`, append(acme, "If-Match", `"1"`)...)
	if agent["version"] != 2.0 || agent["sub_agents"] != nil || len(agent["tools"].([]any)) != 0 {
		t.Errorf("the agent is %v", agent)
	}
	s.json(409, "PATCH", here+"/agents/helper", `{"instructions":"Be late."}`, append(acme, "If-Match", `"1"`)...)
	s.json(200, "PATCH", here+"/agents/helper", `{"status":"inactive"}`, append(acme, "If-Match", `"2"`)...)
	if list := s.json(200, "GET", here+"/agents/helper/versions", "", acme...)["data"].([]any); len(list) != 2 {
		t.Errorf("the versions are %v", list)
	}
	if first := s.json(200, "GET", here+"/agents/helper/versions/1", "", acme...); first["instructions"] != "Be brief." || first["newest_version"] != 2.0 {
		t.Errorf("the first version is %v", first)
	}
	const planted = "sk-planted-0123456789-wxyz"
	model := s.json(201, "POST", here+"/models", `{"id":"small","provider":"demo","name":"assistant","aliases":["haiku"],"prices":{"input":"0.80","output":"4"},"credential":{"secret":"`+planted+`"}}`, acme...)
	if c := model["credential"].(map[string]any); c["ends_in"] != "wxyz" || c["secret"] != nil {
		t.Errorf("the credential is %v", c)
	}
	if p := model["prices"].(map[string]any); p["input"] != "0.80" && p["input"] != "0.8" || p["cache_read"] != nil {
		t.Errorf("the prices are %v", p)
	}
	// A patch that does not name the credential leaves it, and one of null forgets it.
	model = s.json(200, "PATCH", here+"/models/small", `{"region":"eu-central-1","prices":{"output":null}}`, acme...)
	if c := model["credential"].(map[string]any); c["ends_in"] != "wxyz" || model["prices"].(map[string]any)["output"] != nil {
		t.Errorf("the model is %v", model)
	}
	if model = s.json(200, "PATCH", here+"/models/small", `{"credential":null}`, acme...); model["credential"] != nil {
		t.Errorf("the credential is %v", model["credential"])
	}
	s.json(403, "PATCH", here+"/models/small", `{"credential":{"env":"HOME"}}`, acme...)
	s.json(200, "PATCH", here+"/models/small", `{"credential":{"env":"EXAMPLE_KEY"}}`)
	// What is the operator's a tenant does not change.
	s.json(403, "PATCH", here, `{"limits":{"max_turns":500}}`, acme...)
	s.json(403, "PATCH", here, `{"status":"inactive"}`, acme...)
	s.json(403, "POST", here+"/keys", `{"scopes":["operator"]}`, acme...)
	s.json(403, "GET", tenants, "", acme...)
	s.json(403, "GET", "/v1/admin/models", "", acme...)
	tenant := s.json(200, "PATCH", here, `{"system_prompt":"You are Acme's.","default_agent":"helper"}`, acme...)
	if tenant["name"] != "Acme" || tenant["revision"] != 2.0 || tenant["default_agent"] != "helper" {
		t.Errorf("the tenant is %v", tenant)
	}
	s.json(201, "POST", "/v1/conversations", `{"title":"Ours"}`, acme...)
	if list := s.json(200, "GET", here+"/conversations", "")["data"].([]any); len(list) != 1 {
		t.Errorf("the conversations are %v", list)
	}
	audit := s.json(200, "GET", here+"/audit?action=agent.update", "", acme...)["data"].([]any)
	if len(audit) != 2 || audit[0].(map[string]any)["by"].(map[string]any)["user"] != "ann" {
		t.Errorf("the audit is %v", audit)
	}
	if v := s.json(200, "GET", here+"/audit/verify", "", acme...); v["broken_at"] != nil || v["entries"].(float64) < 8 {
		t.Errorf("the audit is %v", v)
	}
	all, _ := json.Marshal(s.json(200, "GET", here+"/audit?limit=100", ""))
	if strings.Contains(string(all), planted) || strings.Contains(string(all), token[20:]) {
		t.Errorf("the audit holds a secret: %s", all)
	}
	s.json(403, "DELETE", here+"/models/small", "", acme...) // it is asked with the operator's credential
	s.json(204, "DELETE", here+"/models/small", "")
	s.json(404, "GET", here+"/models/small", "", acme...)
	// Revoked by itself: the answer comes, and it is the last one.
	if k := s.json(200, "DELETE", here+"/keys/"+key["id"].(string), "", acme...); k["revoked_at"] == nil {
		t.Errorf("the key is %v", k)
	}
	s.json(401, "GET", here, "", acme...)
	s.json(200, "DELETE", here+"/keys/"+key["id"].(string), "")
}

// What all share is the operator's.
func TestSharedModelsAndOwnKeys(t *testing.T) {
	t.Parallel()
	_, with := withTenants(t, "acme")
	s := open(t, with)
	s.json(201, "POST", "/v1/admin/models", `{"id":"big","provider":"demo","name":"assistant","aliases":["opus"]}`)
	if list := s.json(200, "GET", tenants+"/acme/models", "")["data"].([]any); len(list) != 0 {
		t.Errorf("the tenant has %v", list)
	}
	k := s.json(201, "POST", "/v1/admin/keys", `{"name":"deploy","scopes":["operator"]}`)
	deploy := []string{"Authorization", "Bearer " + k["token"].(string)}
	s.json(200, "GET", tenants+"/acme", "", deploy...)
	if res := s.ask("GET", "/metrics", "", deploy...); res.StatusCode != 200 {
		t.Errorf("the metrics: %d", res.StatusCode)
	}
	s.json(403, "GET", "/v1/conversations", "", deploy...) // it is of no tenant
	s.json(403, "POST", "/v1/conversations", "", deploy...)
	if v := s.json(200, "GET", "/v1/admin/audit/verify", "", deploy...); v["broken_at"] != nil || v["entries"] != 3.0 {
		t.Errorf("the operator's audit is %v", v)
	}
}

// A request that is sent again makes nothing twice.
func TestIdempotentAdministration(t *testing.T) {
	t.Parallel()
	_, with := withTenants(t)
	s := open(t, with)
	for _, c := range []struct{ path, body, other string }{
		{tenants, `{"id":"acme"}`, `{"id":"acme","name":"Other"}`},
		{tenants + "/acme/agents", `{"id":"helper"}`, `{"id":"helper","name":"Other"}`},
		{tenants + "/acme/models", `{"id":"m","provider":"demo","name":"x"}`, `{"id":"m","provider":"demo","name":"y"}`},
		{"/v1/admin/models", `{"id":"m","provider":"demo","name":"x"}`, `{"id":"m","provider":"demo","name":"y"}`},
		{tenants + "/acme/keys", `{"scopes":["read"]}`, `{"scopes":["write"]}`},
	} {
		key := []string{"Idempotency-Key", "once " + c.path}
		first := s.json(201, "POST", c.path, c.body, key...)
		again := s.json(201, "POST", c.path, c.body, key...)
		delete(first, "token") // it is shown once
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("%s: the second time it is another one:\n%s", c.path, diff)
		}
		if e := s.json(422, "POST", c.path, c.other, key...); e["error"].(map[string]any)["code"] != "IDEMPOTENCY_MISMATCH" {
			t.Errorf("%s: %v", c.path, e)
		}
		s.json(400, "POST", c.path, c.body, "Idempotency-Key", strings.Repeat("k", 256))
		if !strings.HasSuffix(c.path, "/keys") {
			s.json(409, "POST", c.path, c.body)
		}
	}
}

// Lists come in pages, each thing once, whichever way they are sorted.
func TestPagesOfTenants(t *testing.T) {
	t.Parallel()
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprint("t", i))
	}
	dir, with := withTenants(t, want...)
	s := open(t, with)
	if err := s.activate(dir, "t3", directory.Inactive); err != nil {
		t.Fatal(err)
	}
	backwards := slices.Clone(want)
	slices.Reverse(backwards)
	for query, want := range map[string][]string{
		"": want, "&sort=id": want, "&sort=created_at": want, "&sort=-created_at": backwards,
		"&status=inactive": {"t3"}, "&status=active": slices.DeleteFunc(slices.Clone(want), func(id string) bool { return id == "t3" }),
	} {
		var got []string
		for cursor := ""; ; {
			page := s.json(200, "GET", tenants+"?limit=2"+query+cursor, "")
			for _, v := range page["data"].([]any) {
				got = append(got, v.(map[string]any)["id"].(string))
			}
			next, ok := page["next_cursor"].(string)
			if !ok {
				break
			}
			cursor = "&cursor=" + next
			// A cursor is good for the list that gave it, and no other.
			s.json(400, "GET", tenants+"?limit=2&status=inactive&sort=id"+cursor, "")
			s.json(400, "GET", tenants+"/t0/agents?limit=2"+cursor, "")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
}

// Whatever is refused leaves nothing behind: the same things are there afterwards, and the
// audit has as many entries.
func TestRefusedRequestsLeaveNothing(t *testing.T) {
	t.Parallel()
	dir, with := withTenants(t, "acme", "beta")
	s := open(t, with)
	token, key := keyOf(t, dir, "acme", service.ScopeAdminRead, service.ScopeAdminWrite)
	acme := []string{"Authorization", "Bearer " + token}
	here := tenants + "/acme"
	s.json(201, "POST", here+"/agents", `{"id":"helper"}`, acme...)
	s.json(201, "POST", here+"/models", `{"id":"m","provider":"demo","name":"x"}`, acme...)
	state := func() map[string]string {
		all := map[string]string{}
		for _, path := range []string{tenants, here, here + "/agents", here + "/models", here + "/keys", here + "/audit", "/v1/admin/models", "/v1/admin/keys", "/v1/admin/audit", tenants + "/beta/audit"} {
			raw, err := io.ReadAll(s.ask("GET", path, "").Body)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(raw)
		}
		return all
	}
	before := state()
	long := strings.Repeat("x", 300<<10)
	refused, most := 0, 1000
	if race.On {
		most = 200
	}
	for i := 0; refused < most; i++ {
		for _, c := range []struct{ method, path, body string }{
			{"POST", tenants, `{"id":"gamma"}`},                                                        // not the operator
			{"POST", "/v1/admin/models", `{"id":"n","provider":"demo","name":"x"}`},                    //
			{"POST", tenants + "/beta/agents", `{"id":"helper"}`},                                      // another tenant's
			{"PATCH", tenants + "/beta", `{"name":"Mine"}`},                                            //
			{"POST", tenants + "/beta/keys", `{"scopes":["read"]}`},                                    //
			{"DELETE", tenants + "/beta/keys/" + key, ""},                                              //
			{"POST", here + "/agents", `{"id":"helper"}`},                                              // there is one
			{"POST", here + "/agents", `{"id":"` + fmt.Sprint("a", i) + `","temperature":1}`},          // unknown
			{"POST", here + "/agents", `{"id":"` + fmt.Sprint("a", i) + `","tools":"clock"}`},          // of another type
			{"POST", here + "/agents", `{"id":"Helper"}`},                                              // no id
			{"POST", here + "/agents", `{"id":"b","instructions":"` + long + `"}`},                     // too long
			{"PATCH", here + "/agents/helper", `{"limits":{"max_turns":-1}}`},                          // less than nothing
			{"PATCH", here + "/agents/helper", `{"limits":{"max_turns":"many"}}`},                      //
			{"PATCH", here + "/agents/nobody", `{}`},                                                   //
			{"POST", here + "/models", `{"id":"n","provider":"demo","name":"x","aliases":["m"]}`},      // a name that is taken
			{"POST", here + "/models", `{"id":"n","provider":"demo","name":"x","prices":{"input":3}}`}, // money is a decimal in a text
			{"POST", here + "/models", `{"id":"n","provider":"demo","name":"x","credential":{"env":"HOME"}}`},
			{"POST", here + "/keys", `{"scopes":[]}`},
			{"POST", here + "/keys", `{"scopes":["everything"]}`},
			{"POST", here + "/keys", `{"scopes":["operator"]}`},
			{"POST", here + "/keys", `{"scopes":["read"],"expires_at":"2020-01-01T00:00:00Z"}`},
			{"POST", here + "/keys", `{"scopes":["read"],"expires_at":"tomorrow"}`},
			{"PATCH", here, `{"id":"other"}`},
			{"PATCH", here, `{"retention":{"conversations_days":-1}}`},
			{"PATCH", here, `{"status":"inactive"}`},
		} {
			res := s.ask(c.method, c.path, c.body, acme...)
			if res.StatusCode < 400 || res.StatusCode >= 500 {
				t.Fatalf("%s %s %.80s: %d", c.method, c.path, c.body, res.StatusCode)
			}
			_ = res.Body.Close() // so that the connection is free
			refused++
		}
	}
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("%d refused requests left something behind:\n%s", refused, diff)
	}
}

// A server without a directory has no administration.
func TestNoDirectory(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, d := range describedOperations(t) {
		if d.admin {
			s.json(http.StatusUnprocessableEntity, d.method, d.at(map[string]string{"tenant": "a", "agent": "a", "model": "a", "server": "a", "skill": "a", "grant": "a", "webhook": "a", "delivery": "a", "key": "a", "version": "1", "id": "conv_a", "run": "run_a"}), d.body)
		}
	}
}
