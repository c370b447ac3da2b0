package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

// clientSecret is the secret of the tenant's client. It goes to the authorization server and is nowhere else.
const clientSecret = "canary-client-9sK3vX7bQ2mW"

// A user signs in to a server before any run, with the tenant's own client; the next run asks nothing. Nothing of the client's
// secret, the tokens, the codes and the verifiers is anywhere, also where the server and the authorization server repeat them.
func TestUsersSignInBesideRuns(t *testing.T) {
	t.Parallel()
	eachDatabase(t, "sign_in_beside", signInBesideRuns)
}

func signInBesideRuns(t *testing.T, store serve.Store, dump func() string) {
	t.Helper()
	docs := mcpauthtest.Start(t, mcpauthtest.Rules{Only: "ours", Secret: clientSecret, Methods: []string{"client_secret_basic"}})
	docs.MCP.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := fmt.Sprint(r.Extra.Header, clientSecret)
		raw, _ := json.Marshal(map[string]string{"h": text})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: json.RawMessage(raw)}, nil
	})
	u, err := url.Parse(docs.URL)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyset.Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := toolservers.New(toolservers.Options{
		AllowHosts: []string{u.Host}, SignIns: toolservers.SignIns{Redirect: "http://127.0.0.1:1" + server.CallbackPath},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	f, err := agents.New(t.Context(), agents.Options{Model: obedient{}, TenantServers: pool})
	if err != nil {
		t.Fatal(err)
	}
	log := &buffer{}
	s := &signInSite{docs: docs, log: log, site: open(t, serve.Options{
		Agents: f, Store: store, Tenants: &directory.Options{Keys: keys}, API: server.Options{PublicURL: "https://braid.example"},
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})}
	key := map[string]string{}
	for _, tenant := range []string{"acme", "umbrella"} {
		s.must("", "POST", "/v1/admin/tenants", `{"id":"`+tenant+`"}`, "id")
		for _, user := range []string{"ann", "bob"} {
			key[tenant+"/"+user] = s.must("", "POST", "/v1/admin/tenants/"+tenant+"/keys", `{"user":"`+user+`","scopes":["read","write"]}`, "token")
		}
	}
	ann, bob, theirs := key["acme/ann"], key["acme/bob"], key["umbrella/ann"]
	const servers, own, admin = "/v1/admin/tenants/acme/mcp-servers", "/v1/mcp-grants/docs", "/v1/admin/tenants/acme/mcp-servers/docs/grants"
	entry := func(issuer string) string {
		return `{"id":"docs","type":"http","url":"` + docs.URL + `","oauth":{"client_id":"ours","issuer":"` + issuer + `"},"secret_credentials":{"client_secret":"` + clientSecret + `"}}`
	}
	if status, answer := s.get("", "POST", servers, strings.Replace(entry(docs.Issuer), `,"issuer":"`+docs.Issuer+`"`, "", 1)); status != 400 && status != 422 {
		t.Errorf("a secret for any issuer: %d %s", status, answer)
	}
	if _, answer := s.get("", "POST", servers, entry(docs.Issuer)); !strings.Contains(answer, `"client_secret":{"ends_in":"Q2mW"`) && !strings.Contains(answer, `"ends_in":"Q2mW"`) {
		t.Fatalf("%s", answer)
	}
	s.must("", "POST", servers, `{"id":"plain","type":"http","url":"`+docs.URL+`"}`, "id")
	s.must("", "POST", servers, `{"id":"asleep","type":"http","url":"`+docs.URL+`","oauth":{},"status":"inactive"}`, "id")

	// What is refused.
	for name, c := range map[string]struct {
		token, path, body string
		status            int
		code              string
	}{
		"no such server":                 {ann, "/v1/mcp-grants/none", "", 404, "MCP_SERVER_NOT_FOUND"},
		"a server of another tenant":     {theirs, own, "", 404, "MCP_SERVER_NOT_FOUND"},
		"a server without oauth":         {ann, "/v1/mcp-grants/plain", "", 422, "UNSUPPORTED"},
		"an inactive server":             {ann, "/v1/mcp-grants/asleep", "", 409, "MCP_SERVER_INACTIVE"},
		"a user as administrator":        {ann, admin, `{"user":"bob"}`, 403, ""},
		"a user with control characters": {"", admin, `{"user":"b\u0000b"}`, 422, ""},
		"a very long user":               {"", admin, `{"user":"` + strings.Repeat("b", 5000) + `"}`, 422, ""},
		"an unknown field":               {"", admin, `{"person":"bob"}`, 400, ""},
	} {
		if status, answer := s.get(c.token, "POST", c.path, c.body); status != c.status && (c.status != 422 || status != 400) || !strings.Contains(answer, c.code) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}

	// Two requests at once have one link. A sign-in that the authorization server cuts off leaves nothing behind.
	begin := func(token, path, body string) string {
		t.Helper()
		link := s.must(token, "POST", path, body, "url")
		if !strings.HasPrefix(link, docs.Issuer) || !strings.Contains(link, "code_challenge_method=S256") || strings.Contains(link, clientSecret) {
			t.Fatalf("the link is %q", link)
		}
		return link
	}
	var wait sync.WaitGroup
	links := make([]string, 4)
	for i := range links {
		wait.Go(func() { links[i] = begin(ann, own, "") })
	}
	wait.Wait()
	for _, link := range links {
		if link != links[0] {
			t.Errorf("there are several links: %q", links)
		}
	}
	docs.Set(func(r *mcpauthtest.Rules) { r.Secret = "another" })
	if status, page := s.comesBack(docs.Approve(t, links[0], "ann")); status != 400 || !strings.Contains(page, "invalid_client") {
		t.Errorf("%d %s", status, page)
	}
	docs.Set(func(r *mcpauthtest.Rules) { r.Secret = clientSecret })

	// Ann signs in by herself, and an administrator hands bob his link.
	if status, page := s.comesBack(docs.Approve(t, begin(ann, own, ""), "ann")); status != 200 {
		t.Fatalf("%d %s", status, page)
	}
	if status, page := s.comesBack(docs.Approve(t, begin("", admin, `{"user":"bob"}`), "bob")); status != 200 {
		t.Fatalf("%d %s", status, page)
	}
	for name, token := range map[string]string{"ann": ann, "bob": bob} {
		c := s.must(token, "POST", "/v1/conversations", "{}", "id")
		if events := s.runs(token, c, "docs___whoami {}"); !strings.Contains(events, "you are "+name) || strings.Contains(events, `"kind":"asked"`) {
			t.Errorf("%s is asked, or is somebody else: %s", name, events)
		}
		// The server repeats what it was sent.
		if events := s.runs(token, c, "docs___echo {}"); !strings.Contains(events, "[redacted]") {
			t.Errorf("nothing is masked: %s", events)
		}
	}
	s.get("", "PATCH", servers+"/docs", `{"oauth":{"issuer":"https://evil.example"}}`)
	if _, answer := s.get("", "GET", servers+"/docs", ""); strings.Contains(answer, "evil") {
		t.Errorf("the secret would go elsewhere: %s", answer)
	}
	s.get("", "GET", servers+"/docs/versions", "")
	s.get("", "GET", admin, "")
	s.get(ann, "GET", "/v1/mcp-grants", "")
	_, audit := s.get("", "GET", "/v1/admin/tenants/acme/audit?limit=100", "")
	for _, want := range []string{"mcp-grant.begin", "mcp-grant.sign-in", "mcp-grant.failed"} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit lacks %s: %s", want, audit)
		}
	}
	_, metrics := s.get("", "GET", "/metrics", "")
	secrets := append(docs.Tokens(), clientSecret)
	if len(secrets) < 10 {
		t.Fatalf("there were %d secrets", len(secrets))
	}
	for where, text := range map[string]string{"the answers": s.answers.String(), "the metrics": metrics, "the log": log.String(), "the rows": dump()} {
		if len(text) < 200 {
			t.Errorf("%s: there is nothing to look through: %q", where, text)
		}
		for _, secret := range secrets {
			// The page that asks whether to continue has the code, which the browser just brought.
			if i := strings.Index(text, secret); i >= 0 && (where != "the answers" || !strings.HasPrefix(secret, "code-")) {
				t.Errorf("%q is in %s: …%q…", secret, where, text[max(0, i-200):min(len(text), i+60)])
			}
		}
	}
}
