package serve_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
)

// securedDocument names a token server of its own, which gets nothing.
const securedDocument = `{"openapi":"3.1.0","info":{"title":"Pay","version":"1"},"components":{"securitySchemes":{
	"oauth":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"%s","scopes":{}}}},
	"bearer":{"type":"http","scheme":"bearer"},"basic":{"type":"http","scheme":"basic"},
	"query":{"type":"apiKey","in":"query","name":"k"},"header":{"type":"apiKey","in":"header","name":"X-Pay"},"cookie":{"type":"apiKey","in":"cookie","name":"sid"}}},
	"paths":{` + `"/oauth":{"get":{"operationId":"oauth","security":[{"oauth":[]}],"parameters":[` + idParameter + `],"responses":{"200":{"description":"ok"}}}},
	"/bearer":{"get":{"operationId":"bearer","security":[{"bearer":[]}],"parameters":[` + idParameter + `],"responses":{"200":{"description":"ok"}}}},
	"/basic":{"get":{"operationId":"basic","security":[{"basic":[]}],"parameters":[` + idParameter + `],"responses":{"200":{"description":"ok"}}}},
	"/keys":{"get":{"operationId":"keys","security":[{"query":[],"header":[],"cookie":[]}],"parameters":[` + idParameter + `],"responses":{"200":{"description":"ok"}}}}}}`

const idParameter = `{"name":"id","in":"query","schema":{"type":"string"}}`

// Credentials of all kinds reach their API, from tokens of the run and from stored values, on both databases; and they are left
// nowhere.
func TestAPICredentialsOfTenants(t *testing.T) {
	t.Parallel()
	eachDatabase(t, "tenants_credentials", apiCredentials)
}

func apiCredentials(t *testing.T, store serve.Store, dump func() string) {
	const (
		bearer, client, basic = "canary-bearer-5tG7yH2kL8", "canary-client-9wE3rT6uI1", "canary-basic-4zX8cV1bN7"
		query, header, cookie = "canary-query-2aS6dF9gH3", "canary-header-7jK1lQ5wE8", "canary-cookie-6rT2yU9iO4"
		issued                = "canary-issued-8pA3sD7fG1"
	)
	pay := newRemote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "paid with ", r.Header, r.URL.RawQuery)
	}))
	login := newRemote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, pw, _ := r.BasicAuth(); id != "shop" || pw != client || r.FormValue("scope") != "read" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","expires_in":3600}`, issued)
	}))
	thief := newRemote(t, http.NotFoundHandler())
	var hosts []string
	for _, r := range []*remote{pay, login, thief} {
		u, err := url.Parse(r.URL)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, u.Host)
	}
	pool, err := toolservers.New(toolservers.Options{AllowHosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	f, err := agents.New(t.Context(), agents.Options{Model: caller{}, TenantServers: pool})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyset.Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	log := &buffer{}
	s := open(t, serve.Options{
		Agents: f, Store: store, Tenants: &directory.Options{Keys: keys}, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	var answers strings.Builder
	s.must("", "POST", "/v1/admin/tenants", `{"id":"acme"}`, "id")
	user := s.must("", "POST", "/v1/admin/tenants/acme/keys", `{"scopes":["read","write","admin:read","admin:write"]}`, "token")
	ask := func(method, path, body string) (int, string) {
		status, answer := s.ask(user, method, path, body)
		answers.WriteString(answer)
		return status, answer
	}
	const admin = "/v1/admin/tenants/acme/mcp-servers"
	document := fmt.Sprintf(securedDocument, thief.URL)
	written := func(id, credentials, hidden string) (int, string) {
		return ask("POST", admin, `{"id":"`+id+`","type":"openapi","url":"`+pay.URL+`","document":`+document+`,"credentials":`+credentials+`,"secret_credentials":`+hidden+`}`)
	}
	oauth := `"oauth":{"client_id_template":"${client}","value_template":"${client_secret}","token_url":"` + login.URL + `","scopes":["read"]}`

	// What cannot be meant is refused when it is written, and leaves no row.
	for name, c := range map[string]struct{ credentials, hidden, code, text string }{
		"no such scheme":           {`{"nothing":{"value_template":"${a}"}}`, `{}`, "MCP_SERVER_INVALID", `no security scheme`},
		"no value":                 {`{"bearer":{}}`, `{}`, "INVALID_REQUEST", "has no value"},
		"two values":               {`{"bearer":{"value_template":"${a}"}}`, `{"bearer":"` + bearer + `"}`, "INVALID_REQUEST", "two values"},
		"a readable secret":        {`{"bearer":{"value_template":"` + bearer + `"}}`, `{}`, "INVALID_REQUEST", "everybody could read"},
		"a line break":             {`{"bearer":{"value_template":"${a}\r\nX: y"}}`, `{}`, "INVALID_REQUEST", "control characters"},
		"a stored line break":      {`{}`, `{"bearer":"` + bearer + `\r\nX: y"}`, "INVALID_REQUEST", "one line"},
		"a user of a bearer":       {`{"bearer":{"value_template":"${a}","user_template":"me"}}`, `{}`, "MCP_SERVER_INVALID", "takes no user"},
		"the document's token URL": {`{"oauth":{"client_id_template":"me","value_template":"${a}"}}`, `{}`, "INVALID_REQUEST", "token_url"},
		"an address inside": {
			`{"oauth":{"client_id_template":"me","value_template":"${a}","token_url":"https://169.254.169.254/"}}`, `{}`, "MCP_SERVER_INVALID", "token_url",
		},
		"a token in an address": {`{"oauth":{"client_id_template":"me","value_template":"${a}","token_url":"https://a.example/${a}"}}`, `{}`, "INVALID_REQUEST", "token_url"},
		"a name":                {`{"a\nb":{"value_template":"${a}"}}`, `{}`, "INVALID_REQUEST", "cannot be set"},
	} {
		status, answer := written("refused", c.credentials, c.hidden)
		if want := map[string]int{"INVALID_REQUEST": 400, "MCP_SERVER_INVALID": 422}[c.code]; status != want || !strings.Contains(answer, c.text) || !strings.Contains(answer, c.code) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if _, answer := ask("GET", admin, ""); !strings.Contains(answer, `"data":[]`) {
		t.Errorf("refused servers are there: %s", answer)
	}
	if status, answer := written("pay", `{`+oauth+`,"bearer":{"value_template":"a-${bearer}"},"basic":{"user_template":"${who}"}}`,
		`{"basic":"`+basic+`","query":"`+query+`","header":"`+header+`","cookie":"`+cookie+`"}`); status != 201 {
		t.Fatalf("%d %s", status, answer)
	}
	if _, answer := ask("GET", admin+"/pay", ""); !strings.Contains(answer, `"basic":{"ends_in":"`) {
		t.Errorf("a stored credential is shown as %s", answer)
	}

	runs := "/v1/conversations/" + s.must(user, "POST", "/v1/conversations", "{}", "id") + "/runs"
	for name, c := range map[string]struct{ tokens, code, text string }{
		"one is missing": {`{"client":"shop","client_secret":"` + client + `","who":"ann"}`, "TOKEN_MISSING", `\"bearer\"`},
		"line break":     {`{"client":"shop","client_secret":"` + client + `","who":"ann","bearer":"` + bearer + `\r\nX: y"}`, "TOKEN_INVALID", `\"bearer\"`},
	} {
		if status, answer := ask("POST", runs, `{"user_input":"go","tokens":`+c.tokens+`}`); status != 422 || !strings.Contains(answer, c.code) || !strings.Contains(answer, c.text) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if n := pay.requests() + login.requests(); n != 0 {
		t.Errorf("refused runs have sent %d requests", n)
	}
	tokens := `"tokens":{"client":"shop","client_secret":"` + client + `","who":"ann","bearer":"` + bearer + `"}`
	for range 2 {
		if _, answer := ask("POST", runs, `{"user_input":"go",`+tokens+`}`); strings.Count(answer, "paid with") < 4 || !strings.Contains(answer, "[redacted]") {
			t.Errorf("a run says %s", answer)
		}
	}
	got := pay.got()
	for _, want := range []string{"Bearer a-" + bearer, "Bearer " + issued, base64.StdEncoding.EncodeToString([]byte("ann:" + basic)), header, "sid=" + cookie} {
		if !strings.Contains(got, want) {
			t.Errorf("the API did not get %s: %s", want, got)
		}
	}
	if strings.Contains(got, client) || login.requests() != 1 || strings.Contains(login.got(), bearer) || thief.requests() != 0 {
		t.Errorf("the API got the client's secret, or %d tokens were requested, or the document's address got %d requests", login.requests(), thief.requests())
	}
	// Other credentials get no token of these.
	other := strings.Replace(tokens, client, "canary-wrong-1qW5eR8tY2", 1)
	if _, answer := ask("POST", runs, `{"user_input":"go",`+other+`}`); !strings.Contains(answer, "gave no token") || login.requests() < 2 {
		t.Errorf("with another secret of the client: %d requests, %s", login.requests(), answer)
	}
	// The credentials are removed one by one.
	if status, answer := ask("PATCH", admin+"/pay", `{"credentials":{"oauth":null,"bearer":null,"basic":null},"secret_credentials":{"basic":null,"query":null,"header":null,"cookie":null}}`); status != 200 || strings.Contains(answer, `"credentials":{`) || strings.Contains(answer, `"secret_credentials":{`) {
		t.Errorf("without credentials: %d %s", status, answer)
	}
	for _, path := range []string{admin, admin + "/pay/versions", "/v1/admin/tenants/acme/audit", "/v1/admin/tenants/acme/tools", runs} {
		if status, answer := ask("GET", path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	_, metrics := s.ask("", "GET", "/metrics", "")
	for where, text := range map[string]string{"the answers": answers.String(), "the log": log.String(), "the rows": dump(), "the metrics": metrics} {
		if i := strings.Index(text, "canary"); i >= 0 || len(text) < 200 {
			t.Errorf("a credential is in %s (%d bytes): …%q…", where, len(text), text[max(0, i-100):max(0, min(len(text), i+60))])
		}
	}
}
