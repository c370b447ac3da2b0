package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// refusals reads what an audit has counted of refused requests, by code and route.
func refusals(t *testing.T, d *directory.Directory, tenant string) map[string]refusal {
	t.Helper()
	if err := d.WriteRefused(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, next, err := d.Audit(t.Context(), tenant, directory.AuditQuery{Action: "request.refused", Limit: directory.MostPage})
	if err != nil || next != "" {
		t.Fatal(next, err)
	}
	found := map[string]refusal{}
	for _, e := range list {
		r := refusal{By: e.By}
		if err := json.Unmarshal(e.Detail, &r); err != nil {
			t.Fatal(err)
		}
		what := strings.TrimPrefix(e.Object, "refusal/") + " " + r.Route
		if _, newer := found[what]; !newer {
			found[what] = r
		}
	}
	return found
}

type refusal struct {
	By      directory.By `json:"-"`
	Count   int          `json:"count"`
	Status  int          `json:"status"`
	Route   string       `json:"route"`
	Request string       `json:"request_id"`
	Path    string       `json:"path"`
}

// What is refused for want of authority is counted in the audit of the tenant whose credential it was, or in
// the operator's own. What is a mistake is not.
func TestRefusedRequestsAreInTheAudit(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "acme", "evil", "idle", "default")
	s := open(t, with)
	ann, bob := userKey(t, dir, "acme", "ann"), userKey(t, dir, "acme", "bob")
	evil, evilID := keyOf(t, dir, "evil", service.ScopeRead, service.ScopeWrite, service.ScopeAdminRead)
	reader, readerID := keyOf(t, dir, "acme", service.ScopeRead)
	gone, goneID := keyOf(t, dir, "acme", service.ScopeRead)
	if _, err := dir.RevokeKey(t.Context(), operator, "acme", goneID); err != nil {
		t.Fatal(err)
	}
	sleeping, sleepingID := keyOf(t, dir, "idle", service.ScopeRead)
	setTenant(t, dir, "idle", func(t *directory.Tenant) { t.Status = directory.Inactive })
	setTenant(t, dir, "evil", func(t *directory.Tenant) { t.Policy.Models = []string{"own:*"} })
	conv := s.json(201, "POST", "/v1/conversations", "", "Authorization", "Bearer "+ann)["id"].(string)
	evils := s.json(201, "POST", "/v1/conversations", "", "Authorization", "Bearer "+evil)["id"].(string)
	const one, runs = "GET /v1/conversations/{id}", "POST /v1/conversations/{id}/runs"
	for _, c := range []struct {
		name, token, method, path, body string
		status                          int
		tenant, counted, key            string // "" is not counted
	}{
		{"no token", "", "GET", "/v1/conversations", "", 401, "", "UNAUTHENTICATED GET /v1/conversations", ""},
		{"a wrong token", "brk_x", "DELETE", "/v1/conversations/" + conv, "", 401, "", "UNAUTHENTICATED DELETE /v1/conversations/{id}", ""},
		{"a revoked key", gone, "GET", "/v1/conversations/" + conv, "", 401, "acme", "UNAUTHENTICATED " + one, goneID},
		{"an inactive tenant's", sleeping, "GET", "/v1/conversations", "", 403, "idle", "TENANT_INACTIVE GET /v1/conversations", sleepingID},
		{"a scope too few", reader, "POST", "/v1/conversations", "", 403, "acme", "SCOPE_MISSING POST /v1/conversations", readerID},
		{"another tenant's", evil, "GET", "/v1/conversations/" + conv, "", 404, "evil", "CONVERSATION_NOT_FOUND " + one, evilID},
		{
			"another tenant's administration", evil, "GET", "/v1/admin/tenants/acme", "", 404, "evil",
			"TENANT_NOT_FOUND GET /v1/admin/tenants/{tenant}", evilID,
		},
		{"another user's", bob, "POST", "/v1/conversations/" + conv + "/reset", "", 404, "acme", "CONVERSATION_NOT_FOUND POST /v1/conversations/{id}/reset", "bob"},
		{
			"against the policy", evil, "POST", "/v1/conversations/" + evils + "/runs", `{"user_input":"x","model":"test:parrot"}`, 422, "evil",
			"MODEL_NOT_FOUND " + runs, evilID,
		},
		{"a mistake", evil, "POST", "/v1/conversations/" + evils + "/runs", `{"nothing":1}`, 400, "evil", "", ""},
		{"a key in the path", evil, "GET", "/v1/conversations/" + ann, "", 404, "evil", "CONVERSATION_NOT_FOUND " + one, evilID},
		{"no such path", "", "GET", "/v1/nothing", "", 404, "", "", ""},
	} {
		for range 3 {
			res := s.ask(c.method, c.path, c.body, "Authorization", strings.TrimSpace("Bearer "+c.token))
			_, _ = io.Copy(io.Discard, res.Body)
			if res.StatusCode != c.status {
				t.Errorf("%s: %d, want %d", c.name, res.StatusCode, c.status)
			}
		}
		found := refusals(t, dir, c.tenant)
		if c.counted == "" {
			for what := range found {
				if strings.Contains(what, "INVALID_REQUEST") || strings.Contains(what, "nothing") {
					t.Errorf("%s is counted: %s", c.name, what)
				}
			}
			continue
		}
		r, ok := found[c.counted]
		if !ok || r.Count != 3 || r.Status != c.status || r.Path != c.path || !strings.HasPrefix(r.Request, "req_") ||
			r.By.Tenant != c.tenant || c.key != r.By.Key && c.key != r.By.User {
			if c.name == "a key in the path" && ok && r.Count == 3 && r.Path == "" {
				continue
			}
			t.Errorf("%s: the audit of %q has %+v by %+v, in all %v", c.name, c.tenant, r, r.By, found)
		}
	}
	for _, tenant := range []string{"", "acme", "evil", "idle"} {
		if v, err := dir.VerifyAudit(t.Context(), tenant); err != nil || !v.OK() {
			t.Errorf("the audit of %q is %+v, %v", tenant, v, err)
		}
	}
}

// lines collects a log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) of(t *testing.T, request string) map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(l.buf.String(), "\n") {
		var v map[string]any
		if json.Unmarshal([]byte(line), &v) == nil && v["msg"] == "request" && v["request"] == request {
			return v
		}
	}
	return nil
}

// A line of the log says whose request it was, what it was about and why it was refused, under the id that the
// answer has, and never a credential. A caller's own id counts where it can do no harm.
func TestWhatALineOfTheLogSays(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "acme", "evil", "default")
	log := &lines{}
	s := open(t, func(so *service.Options, o *server.Options) {
		with(so, o)
		o.Log = slog.New(slog.NewJSONHandler(log, nil))
	})
	ann := userKey(t, dir, "acme", "ann")
	evil, evilID := keyOf(t, dir, "evil", service.ScopeRead)
	conv := s.json(201, "POST", "/v1/conversations", "", "Authorization", "Bearer "+ann)["id"].(string)
	s.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"hello"}`,
		"Authorization", "Bearer "+ann, "Accept", "application/json", "X-Request-Id", "my-own_1")
	long := strings.Repeat("x", 129)
	for i, c := range []struct {
		token, path, id string
		own             bool
		want            map[string]any
	}{
		{ann, "/v1/conversations/" + conv, "mine-1", true, map[string]any{"tenant": "acme", "user": "ann", "conversation": conv}},
		{evil, "/v1/conversations/" + conv, "", false, map[string]any{"tenant": "evil", "key": evilID, "conversation": conv, "code": "CONVERSATION_NOT_FOUND"}},
		{"garbage", "/v1/conversations/" + conv, "a b", false, map[string]any{"conversation": conv, "code": "UNAUTHENTICATED"}},
		{ann, "/v1/conversations/" + evil, long, false, map[string]any{"tenant": "acme", "code": "CONVERSATION_NOT_FOUND"}},
		{ann, "/v1/conversations/" + conv, `x","key":"forged`, false, map[string]any{"tenant": "acme", "conversation": conv}},
		{ann, "/v1/conversations/" + conv, ann, false, map[string]any{"tenant": "acme", "conversation": conv}},
	} {
		res := s.ask("GET", c.path, "", "Authorization", "Bearer "+c.token, "X-Request-Id", c.id)
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		id := res.Header.Get("X-Request-Id")
		if (id == c.id) != c.own || res.StatusCode >= 400 && !bytes.Contains(body, []byte(`"request_id":"`+id+`"`)) {
			t.Errorf("%d: asked with the id %q, answered with %q: %s", i, c.id, id, body)
		}
		line := log.of(t, id)
		for name, want := range c.want {
			if line[name] != want {
				t.Errorf("%d: %s is %v, want %v, in %v", i, name, line[name], want, line)
			}
		}
		for _, name := range []string{"tenant", "key", "conversation", "code"} {
			if _, ok := c.want[name]; !ok && name != "key" && line[name] != nil {
				t.Errorf("%d: the line has %s %v", i, name, line[name])
			}
		}
	}
	if line := log.of(t, "my-own_1"); line["run"] == nil || line["conversation"] != conv || line["status"] != 200.0 {
		t.Errorf("the line of a run is %v", line)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, secret := range []string{ann, evil, token} {
		if strings.Contains(log.buf.String(), secret) {
			t.Error("the log holds a credential")
		}
	}
}
