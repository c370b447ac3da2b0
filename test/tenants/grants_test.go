package tenants

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

// protected is an MCP server whose users sign in. Its tools repeat the token that they were sent, in answers and in errors, and its
// authorization server repeats requests in its errors.
func (s *story) protected() *mcpauthtest.Site {
	docs := mcpauthtest.Start(s.t, mcpauthtest.Rules{
		Only: "ours", Secret: s.secrets["the secret of an OAuth client"], Methods: []string{"client_secret_post"},
	})
	said := func(r *mcp.CallToolRequest) string {
		v := strings.TrimPrefix(r.Extra.Header.Get("Authorization"), "Bearer ")
		return v + " " + base64.StdEncoding.EncodeToString([]byte(v)) + " " + url.QueryEscape(v) + " " + s.secrets["the secret of an OAuth client"]
	}
	schema := json.RawMessage(`{"type":"object"}`)
	docs.MCP.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content: []mcp.Content{&mcp.TextContent{Text: "I was shown " + said(r)}}, StructuredContent: map[string]any{"shown": said(r)},
		}, nil
	})
	docs.MCP.AddTool(&mcp.Tool{Name: "denied", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("this is not allowed with " + said(r))
	})
	return docs
}

func (s *story) docsHost() string {
	u, err := url.Parse(s.docs.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return u.Host
}

// signIn has the tenant's runs use the server: after a sign-in that fails, one that succeeds, a renewal, and a revocation.
func (s *story) signIn(key, at string, tokens map[string]string) {
	s.t.Helper()
	text := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			s.t.Fatal(err)
		}
		return string(raw)
	}
	s.command(nil, "admin", "mcp-server", "create", "docs", "--server", s.url, "--token-file", s.file("key", key), "--tenant", filepath.Base(at),
		"--type", "http", "--url", s.docs.URL, "--oauth-client-id", "ours", "--oauth-issuer", s.docs.Issuer,
		"--oauth-client-secret-file", s.file("client", s.secrets["the secret of an OAuth client"]))
	s.ask(201, key, "POST", at+"/agents", `{"id":"reader","instructions":"You read.","mcp_servers":["docs"],"tools":["docs___*"]}`)
	conv, _ := s.ask(201, key, "POST", "/v1/conversations", `{"agent":"reader"}`)["id"].(string)
	runs := "/v1/conversations/" + conv + "/runs"
	run := func(tool string) {
		s.ask(200, key, "POST", runs, text(map[string]any{"user_input": "use " + tool, "tokens": tokens}))
	}
	for _, right := range []bool{false, true} {
		s.docs.Set(func(r *mcpauthtest.Rules) {
			if r.Secret = s.secrets["the secret of an OAuth client"]; !right {
				r.Secret = "another"
			}
		})
		link, _ := s.ask(201, key, "POST", "/v1/mcp-grants/docs", "")["url"].(string)
		_, query, _ := strings.Cut(s.docs.Approve(s.t, link, "ann"), "?")
		s.browse("/oauth/callback?" + query) // it has the code, which the browser brought
		status, page := s.browse("/oauth/callback?" + query + "&confirmed=yes")
		s.keep("the page after a sign-in", page)
		if (status == http.StatusOK) != right {
			s.t.Errorf("a sign-in ends with %d %s", status, page)
		}
	}
	for _, tool := range []string{"docs___echo", "docs___denied"} {
		run(tool)
	}
	s.docs.Revoke(false)
	run("docs___echo") // with a renewed grant
	_, log := s.asked(key, "GET", "/v1/conversations/"+conv+"/events?limit=1000", "")
	if !strings.Contains(string(log), "I was shown [redacted]") {
		s.t.Errorf("the server was not asked: %s", log)
	}
	s.ask(200, key, "GET", "/v1/mcp-grants", "")
	s.ask(200, key, "GET", at+"/mcp-servers/docs", "")
	s.ask(200, key, "GET", at+"/audit?limit=100", "")
	s.ask(200, key, "GET", at+"/tools?limit=100", "")
	if filepath.Base(at) == "tenant-a" { // the other one's grant stays in the database
		s.ask(204, key, "DELETE", "/v1/mcp-grants/docs", "")
	}
}

// browse asks for a page without a credential. It records nothing.
func (s *story) browse(path string) (int, []byte) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, page
}

// granted adds what the sign-ins brought to what is searched for: access and refresh tokens, codes and PKCE verifiers.
func (s *story) granted() {
	s.t.Helper()
	list := s.docs.Tokens()
	if len(list) < 12 {
		s.t.Errorf("there were %d tokens", len(list))
	}
	for i, token := range list {
		s.secrets[fmt.Sprint("what a sign-in brought, ", i)] = token
	}
}
