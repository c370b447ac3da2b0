package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/service"
)

// What a tenant's runs used and did is told to who administers it, and that it was read is noted.
func TestLogsOfATenant(t *testing.T) {
	t.Parallel()
	dir, with := withTenants(t, "acme", "beta")
	s := open(t, with)
	token, _ := keyOf(t, dir, "acme", service.Scopes()...)
	acme := []string{"Authorization", "Bearer " + token}
	here := tenants + "/acme"
	conv := s.json(201, "POST", "/v1/conversations", "", acme...)["id"].(string)
	for range 2 {
		s.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"use clock","executor":"web"}`, append(acme, "Accept", "application/json")...)
	}
	usage := s.json(200, "GET", here+"/usage?limit=3", "", acme...)
	rows := usage["data"].([]any)
	first := rows[0].(map[string]any)
	if len(rows) != 3 || first["input_tokens"] != 7.0 || first["cost_usd"] != nil || first["executor"] != "web" || first["conversation_id"] != conv || first["turn"] != 2.0 {
		t.Errorf("the usage is %v", rows)
	}
	rest := s.json(200, "GET", here+"/usage?limit=3&cursor="+usage["next_cursor"].(string), "", acme...)
	if len(rest["data"].([]any)) != 1 || rest["next_cursor"] != nil {
		t.Errorf("the rest of it is %v", rest)
	}
	sums := s.json(200, "GET", here+"/usage/sums?by=run", "", acme...)["data"].([]any)
	if len(sums) != 2 || sums[0].(map[string]any)["calls"] != 2.0 || sums[0].(map[string]any)["unpriced_calls"] != 2.0 {
		t.Errorf("the sums are %v", sums)
	}
	calls := s.json(200, "GET", here+"/tools?tool=clock", "", acme...)["data"].([]any)
	if len(calls) != 2 || calls[0].(map[string]any)["status"] != "done" || calls[0].(map[string]any)["tool_name"] != "clock" {
		t.Errorf("the calls are %v", calls)
	}
	messages := s.json(200, "GET", here+"/conversations/"+conv+"/messages", "", acme...)["data"].([]any)
	if raw, _ := json.Marshal(messages); len(messages) < 8 || !strings.Contains(string(raw), "it is noon") {
		t.Errorf("the messages are %s", raw)
	}
	// Another tenant has none of it.
	for _, path := range []string{"/usage", "/usage/sums", "/tools", "/usage?conversation=" + conv, "/tools?conversation=" + conv} {
		if list := s.json(200, "GET", tenants+"/beta"+path, "")["data"].([]any); len(list) != 0 {
			t.Errorf("%s of another tenant: %v", path, list)
		}
	}
	s.json(404, "GET", tenants+"/beta/conversations/"+conv+"/messages", "")
}

// Whoever reads what people said, or what their tools were given, stands in the tenant's audit with
// each page, however it is asked for; who reads what things cost, or how they are set up, does not.
func TestReadingIsNoted(t *testing.T) {
	t.Parallel()
	dir, with := withTenants(t, "acme")
	s := open(t, with)
	token, id := keyOf(t, dir, "acme", service.Scopes()...)
	acme := []string{"Authorization", "Bearer " + token}
	here := tenants + "/acme"
	conv := s.json(201, "POST", "/v1/conversations", "", acme...)["id"].(string)
	for range 2 {
		s.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"use clock"}`, append(acme, "Accept", "application/json")...)
	}
	s.json(201, "POST", "/v1/conversations", "", acme...)
	newest := func() map[string]any {
		list := s.json(200, "GET", here+"/audit?limit=1", "", acme...)["data"].([]any)
		return list[0].(map[string]any)
	}
	noted := 0
	for _, c := range []struct{ path, action, object, narrowed string }{
		{"/conversations", "conversations.read", "tenant/acme", ""},
		{"/tools", "tools.read", "tenant/acme", ""},
		{"/tools?tool=clock&conversation=" + conv, "tools.read", "tenant/acme", conv},
		{"/conversations/" + conv + "/messages", "messages.read", "conversation/" + conv, ""},
	} {
		path, mark := here+c.path, "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		first := s.json(200, "GET", path+mark+"limit=1", "", acme...)
		next, ok := first["next_cursor"].(string)
		if !ok {
			t.Fatalf("%s has one page: %v", path, first)
		}
		for _, page := range []struct {
			query string
			next  bool
		}{{"", false}, {"limit=1", false}, {"cursor=&limit=1", false}, {"limit=1&cursor=" + next, true}, {"cursor=" + next, true}} {
			before := newest()["seq"].(float64)
			rows := len(s.json(200, "GET", path+mark+page.query, "")["data"].([]any))
			e := newest()
			detail, by := e["detail"].(map[string]any), e["by"].(map[string]any)
			if e["seq"] != before+1 || e["action"] != c.action || e["object"] != c.object || by["operator"] != true || detail["rows"] != float64(rows) || (detail["next"] == true) != page.next {
				t.Errorf("%s%s%s, of %d rows: the audit has %v", path, mark, page.query, rows, e)
			}
			if narrowed, _ := detail["conversation"].(string); narrowed != c.narrowed {
				t.Errorf("%s: it was narrowed to %q", path, narrowed)
			}
			noted++
		}
		s.json(200, "GET", path, "", acme...)
		if by := newest()["by"].(map[string]any); by["key"] != id || by["tenant"] != "acme" {
			t.Errorf("%s: it was read by %v", path, by)
		}
	}
	if noted != 20 {
		t.Errorf("%d reads were looked at", noted)
	}
	before := newest()
	for _, path := range []string{"", "/agents", "/models", "/keys", "/keys/" + id, "/usage", "/usage/sums", "/audit", "/audit/verify"} {
		s.json(200, "GET", here+path, "")
	}
	for _, path := range []string{"/tools?limit=x", "/tools?cursor=x", "/conversations/conv_none/messages"} { // nothing was told
		if res := s.ask("GET", here+path, ""); res.StatusCode < 400 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	for _, path := range []string{"", "/events", "/export", "/runs"} { // their own people's
		if res := s.ask("GET", "/v1/conversations/"+conv+path, "", acme...); res.StatusCode != 200 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if diff := cmp.Diff(before, newest()); diff != "" {
		t.Errorf("the audit has more:\n%s", diff)
	}
}

// Whatever is wrong in an address or a body is refused in the one form, and never the server's fault.
func TestBadAdministration(t *testing.T) {
	t.Parallel()
	_, with := withTenants(t, "acme", "default")
	s := open(t, with)
	here := tenants + "/acme"
	for _, path := range []string{"/agents", "/models", "/keys"} {
		for _, query := range []string{
			"limit=0x", "limit=-1", "limit=101", "limit=9999999999999999999", "limit=1&limit=2", "sort=name", "sort=id;drop", "sort=created_at%20desc",
			"status=deleted", "cursor=x", "cursor=%00", "cursor=" + strings.Repeat("A", 4000), "color=red", "cursor=AAAAAAAAAAAAAAAA", "%zz",
		} {
			s.json(400, "GET", here+path+"?"+query, "")
		}
	}
	for _, path := range []string{"/usage", "/usage/sums", "/tools"} {
		for _, query := range []string{
			"limit=101", "from=yesterday", "to=2026-13-01", "from=2026-11-22&to=2026-11-21", "from=99999-01-01", "cursor=x", "sort=id", "tenant=beta", "by=tenant&model=",
		} {
			s.json(400, "GET", here+path+"?"+query, "")
		}
	}
	for _, query := range []string{"limit=101", "cursor=x", "action=a&action=b", "by=x"} {
		s.json(400, "GET", here+"/audit?"+query, "")
	}
	s.json(400, "GET", here+"/audit/verify?deep=true", "")
	long := strings.Repeat("x", 70)
	for path, bodies := range map[string][]string{
		tenants: {
			``, `[]`, `null`, `"x"`, `{"id":1}`, `{"id":""}`, `{"id":"A"}`, `{"id":"-a"}`, `{"id":"a/b"}`, `{"id":"` + long + `"}`, `{"id":"a","id":"b"}`,
			`{"id":"a","limits":[]}`, `{"id":"a","limits":{"max_turns":1.5}}`, `{"id":"a","limits":{"max_turns":99999999999999999999}}`,
			`{"id":"a","limits":{"max_cost_usd":1}}`, `{"id":"a","limits":{"max_cost_usd":"-1"}}`, `{"id":"a","limits":{"max_cost_usd":"1e9"}}`,
			`{"id":"a","retention":{"conversations_days":-1}}`, `{"id":"a","retention":{"conversations_days":1000000}}`, `{"id":"a","status":"gone"}`,
			`{"id":"a","policy":{"models":"all"}}`, `{"id":"a","policy":{"permissions":{"deny":["["]}}}`, `{"id":"a","name":"` + strings.Repeat("n", 300) + `"}`,
			`{"id":"a","revision":7}`, `{"id":"a","created_at":"2026-11-21T00:00:00Z"}`, `{"id":"a","name":"\u0000"}`, `{"id":"a"} {}`, `{`, "\xff",
			strings.Repeat(`{"policy":`, 200) + `1` + strings.Repeat(`}`, 200),
		},
		here + "/agents": {
			`{"id":"a","version":2}`, `{"id":"a","tenant":"beta"}`, `{"id":"a","tools":[1]}`, `{"id":"a","tools":[""]}`, `{"id":"a","sub_agents":[]}`,
			`{"id":"a","sub_agents":{"x y":{"instructions":"z"}}}`, `{"id":"a","permissions":{"allow":"x"}}`,
		},
		here + "/models": {
			`{"id":"a"}`, `{"id":"a","provider":"demo"}`, `{"id":"a","provider":"D","name":"x"}`, `{"id":"a","provider":"demo","name":"x","aliases":["A"]}`,
			`{"id":"a","provider":"demo","name":"x","prices":{"input":"free"}}`, `{"id":"a","provider":"demo","name":"x","prices":{"input":"-1"}}`,
			`{"id":"a","provider":"demo","name":"x","prices":{"tokens":"1"}}`, `{"id":"a","provider":"demo","name":"x","credential":{"ends_in":"abcd"}}`,
			`{"id":"a","provider":"demo","name":"x","credential":{"env":"A","secret":"b"}}`, `{"id":"a","provider":"demo","name":"x","credential":{"env":"A B"}}`,
			`{"id":"a","provider":"demo","name":"x","credential":"sk-x"}`,
		},
		here + "/keys": {
			`{}`, `{"scopes":"read"}`, `{"scopes":["READ"]}`, `{"scopes":["read"],"token":"brk_x"}`, `{"scopes":["read"],"id":"x"}`,
			`{"scopes":["read"],"expires_at":1}`, `{"scopes":["read"],"expires_at":"0001-01-01T00:00:00Z"}`, `{"scopes":["read"],"user":"` + strings.Repeat("u", 300) + `"}`,
		},
	} {
		for _, body := range bodies {
			res := s.ask("POST", path, body, "Content-Type", "application/json")
			raw, err := io.ReadAll(res.Body)
			var e struct {
				Error struct{ Code, Message, Hint string }
			}
			if err != nil || res.StatusCode != 400 || json.Unmarshal(raw, &e) != nil || e.Error.Code == "" || e.Error.Message == "" || e.Error.Hint == "" {
				t.Errorf("POST %s %.100q: %d %s", path, body, res.StatusCode, raw)
			}
		}
	}
	e := s.json(422, "POST", here+"/agents", `{"id":"a","sub_agents":{"x":{"agent":"a"}}}`)["error"].(map[string]any)
	if e["code"] != "SUB_AGENTS_INVALID" || !strings.Contains(e["message"].(string), "a > x (a)") {
		t.Errorf("an agent below itself: %v", e)
	}
	s.json(201, "POST", here+"/agents", `{"id":"helper"}`)
	for _, match := range []string{"1", `"0"`, `"-1"`, `"x"`, `W/"1"`, `"1", "2"`, `""`} {
		s.json(400, "PATCH", here+"/agents/helper", `{}`, "If-Match", match)
	}
	for _, body := range []string{`[]`, `null`, `{"id":"other"}`, `{"version":9}`, `{"instructions":[]}`, `{"status":"gone"}`, `{"limits":{"max_turns":null,"other":1}}`} {
		if res := s.ask("PATCH", here+"/agents/helper", body); res.StatusCode != 400 {
			t.Errorf("PATCH %s: %d", body, res.StatusCode)
		}
	}
	s.json(415, "POST", here+"/agents", `{"id":"x"}`, "Content-Type", "text/plain")
	for _, id := range []string{"Helper", "helper%00", "helper%2F..", "%E3%81%82", strings.Repeat("a", 500), "0"} {
		for _, what := range []string{"agents", "models", "keys"} {
			s.json(404, "GET", here+"/"+what+"/"+id, "")
		}
		s.json(404, "GET", tenants+"/"+id, "")
	}
	for _, version := range []string{"0", "-1", "2", "x", "9999999999999999999"} {
		s.json(404, "GET", here+"/agents/helper/versions/"+version, "")
	}
}

// Usage can be told apart by the users whose runs it was.
func TestUsageOfUsers(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "acme", "default")
	s := open(t, with)
	for _, user := range []string{"ann", "bob", "ann", ""} {
		key := []string{"Authorization", "Bearer " + userKey(t, dir, "acme", user), "Accept", "application/json"}
		conv := s.json(201, "POST", "/v1/conversations", "", key...)["id"].(string)
		s.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"use clock"}`, key...)
	}
	at := tenants + "/acme/usage"
	for query, want := range map[string]string{
		"": "- - ann ann bob bob ann ann", "?user=ann": "ann ann ann ann", "?user=bob": "bob bob", "?user=nobody": "", "?user=": "- - ann ann bob bob ann ann",
	} {
		var got []string
		for _, row := range s.json(200, "GET", at+query, "")["data"].([]any) {
			user, _ := row.(map[string]any)["user"].(string)
			if user == "" {
				user = "-"
			}
			got = append(got, user)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("usage%s is of %q, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"?by=user": ":2 ann:4 bob:2", "?by=user&user=bob": "bob:2", "?by=kind&user=ann": "model:4",
	} {
		var got []string
		for _, sum := range s.json(200, "GET", at+"/sums"+query, "")["data"].([]any) {
			m := sum.(map[string]any)
			got = append(got, fmt.Sprint(m["key"], ":", m["calls"]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("sums%s are %q, want %q", query, got, want)
		}
	}
}
