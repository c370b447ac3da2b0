// Package mcpauthtest has an MCP server whose users sign in, with its authorization server, on loopback, for tests. The
// authorization server refuses what the specification refuses: a missing challenge or resource, a code or a refresh token
// that was used before, another redirect address.
package mcpauthtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/internal/loopback"
)

// Site is a protected MCP server with its authorization server. Change its fields before the first request, or with
// [Site.Set].
type Site struct {
	// URL is the address of the MCP server, Issuer that of the authorization server.
	URL, Issuer string
	// Client reaches both.
	Client *http.Client
	// MCP has the tools "whoami" and "write"; the latter needs the scope "write".
	MCP *mcp.Server

	rules Rules
	mu    sync.Mutex
	codes map[string]*granted
	live  map[string]*granted // by access token
	fresh map[string]*granted // by refresh token
	spent map[string]*granted // refresh tokens that were used
	calls []string
	n     int
	// verifiers were sent with codes.
	verifiers []string
}

// Rules are how a site behaves.
type Rules struct {
	// ExpiresIn is how long access tokens live, in seconds; 0 means that the answer says nothing.
	ExpiresIn int
	// NoRefresh gives no refresh tokens.
	NoRefresh bool
	// Documents supports Client ID Metadata Documents.
	Documents bool
	// Registers registers clients.
	Registers bool
	// NamesIssuer adds iss to answers; Says is what it says there, "" is the issuer.
	NamesIssuer bool
	Says        string
	// ClaimsIssuer is the issuer of the metadata; "" is the right one.
	ClaimsIssuer string
	// Only, if set, is the only client id; Secret is its secret.
	Only, Secret string
	// Methods are the ways in which clients may authenticate, and the only ones that are taken; nil takes all.
	Methods []string
	// Meta answers requests for metadata instead.
	Meta http.HandlerFunc
	// Token answers requests for tokens instead.
	Token http.HandlerFunc
	// Before is called before each request to the MCP server; true means that it has answered.
	Before func(w http.ResponseWriter, r *http.Request) bool
}

// granted is what a code or a token stands for.
type granted struct {
	user, client, redirect, challenge, resource string
	scopes                                      []string
	revoked                                     bool
}

// Start starts a site that ends with the test.
func Start(tb testing.TB, rules Rules) *Site {
	tb.Helper()
	s := &Site{rules: rules, codes: map[string]*granted{}, live: map[string]*granted{}, fresh: map[string]*granted{}, spent: map[string]*granted{}}
	s.MCP = mcp.NewServer(&mcp.Implementation{Name: "protected", Version: "1"}, nil)
	empty := json.RawMessage(`{"type":"object"}`)
	whoami := &mcp.Tool{Name: "whoami", Description: "Says who is signed in.", InputSchema: empty}
	s.MCP.AddTool(whoami, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		g := s.holder(r.Extra.Header.Get("Authorization"))
		if g == nil {
			g = &granted{user: "nobody"}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you are " + g.user}}}, nil
	})
	write := &mcp.Tool{Name: "write", Description: "Writes.", InputSchema: empty}
	s.MCP.AddTool(write, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "written"}}}, nil
	})
	server := loopback.Start(http.HandlerFunc(s.Serve))
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL, s.Issuer, s.Client = server.URL+"/mcp", server.URL+"/as", server.Client()
	return s
}

// Set changes the rules.
func (s *Site) Set(change func(r *Rules)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.rules)
}

// Calls lists the requests to the authorization server since the last time, such as "POST /as/token refresh_token".
func (s *Site) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.calls = nil }()
	return s.calls
}

// Tokens lists the tokens and codes that the site has given out, and the PKCE verifiers that it was sent: none may appear anywhere.
func (s *Site) Tokens() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range []map[string]*granted{s.codes, s.live, s.fresh, s.spent} {
		for token := range m {
			list = append(list, token)
		}
	}
	return append(list, s.verifiers...)
}

// Revoke ends all access tokens, and all refresh tokens if refresh is set.
func (s *Site) Revoke(refresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token := range s.live {
		s.live[token] = &granted{revoked: true}
	}
	for token := range s.fresh {
		if refresh {
			s.fresh[token] = &granted{revoked: true}
		}
	}
}

// Live counts the access tokens that the site takes.
func (s *Site) Live() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.live {
		if !g.revoked {
			n++
		}
	}
	return n
}

// Approve does what a user does who opens the link and says yes, and returns the address to which the browser is sent back.
func (s *Site) Approve(tb testing.TB, link, user string) string {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, link+"&login_hint="+url.QueryEscape(user), http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	client := *s.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusFound {
		tb.Fatalf("the authorization server says %d %s", resp.StatusCode, body)
	}
	return resp.Header.Get("Location")
}

func (s *Site) holder(header string) *granted {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.live[strings.TrimPrefix(header, "Bearer ")]
	if g == nil || g.revoked {
		return nil
	}
	return g
}

func (s *Site) rule() Rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules
}

// Serve answers a request to either server. The form of a token request may have been read.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) {
	rules := s.rule()
	if r.URL.Path != "/mcp" {
		note := r.Method + " " + r.URL.Path
		if r.Method == http.MethodPost && r.ParseForm() == nil && r.PostForm.Get("grant_type") != "" {
			note += " " + r.PostForm.Get("grant_type")
		}
		s.mu.Lock()
		s.calls = append(s.calls, note)
		s.mu.Unlock()
	}
	switch {
	case r.URL.Path == "/mcp":
		s.protected(w, r, &rules)
	case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
		reply(w, http.StatusOK, map[string]any{
			"resource": s.URL, "authorization_servers": []string{s.Issuer}, "scopes_supported": []string{"read"},
		})
	case strings.HasPrefix(r.URL.Path, "/.well-known/"):
		if rules.Meta != nil {
			rules.Meta(w, r)
			return
		}
		s.metadata(w, &rules)
	case r.URL.Path == "/as/authorize":
		s.authorize(w, r, &rules)
	case r.URL.Path == "/as/token":
		if rules.Token != nil {
			rules.Token(w, r)
			return
		}
		s.token(w, r, &rules)
	case r.URL.Path == "/as/register" && rules.Registers:
		s.register(w, r)
	case r.URL.Path == "/as/revoke":
		s.revoke(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Site) protected(w http.ResponseWriter, r *http.Request, rules *Rules) {
	if rules.Before != nil && rules.Before(w, r) {
		return
	}
	g := s.holder(r.Header.Get("Authorization"))
	challenge := `Bearer resource_metadata="` + strings.TrimSuffix(s.URL, "/mcp") + `/.well-known/oauth-protected-resource/mcp"`
	if g == nil || g.resource != s.URL {
		w.Header().Set("WWW-Authenticate", challenge+`, scope="read"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if strings.Contains(string(body), `"name":"write"`) && !slices.Contains(g.scopes, "write") {
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope", scope="write"`)
		http.Error(w, "you may not write", http.StatusForbidden)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.MCP }, &mcp.StreamableHTTPOptions{Stateless: true}).ServeHTTP(w, r)
}

func (s *Site) metadata(w http.ResponseWriter, rules *Rules) {
	m := map[string]any{
		"issuer": s.Issuer, "authorization_endpoint": s.Issuer + "/authorize", "token_endpoint": s.Issuer + "/token",
		"revocation_endpoint": s.Issuer + "/revoke", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"read", "write", "offline_access"},
		"client_id_metadata_document_supported":          rules.Documents,
		"authorization_response_iss_parameter_supported": rules.NamesIssuer,
	}
	if rules.Methods != nil {
		m["token_endpoint_auth_methods_supported"] = rules.Methods
	}
	if rules.ClaimsIssuer != "" {
		m["issuer"] = rules.ClaimsIssuer
	}
	if rules.Registers {
		m["registration_endpoint"] = s.Issuer + "/register"
	}
	reply(w, http.StatusOK, m)
}

func (s *Site) authorize(w http.ResponseWriter, r *http.Request, rules *Rules) {
	q := r.URL.Query()
	for _, name := range []string{"client_id", "redirect_uri", "code_challenge", "resource", "state"} {
		if len(q[name]) != 1 || q.Get(name) == "" {
			http.Error(w, name+" is missing or doubled", http.StatusBadRequest)
			return
		}
	}
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || rules.Only != "" && q.Get("client_id") != rules.Only {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if q.Get("login_hint") == "nobody" {
		back.Set("error", "access_denied")
	} else {
		code := "code-" + rand.Text()
		s.mu.Lock()
		s.codes[code] = &granted{
			user: q.Get("login_hint"), client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"),
			resource: q.Get("resource"), scopes: strings.Fields(q.Get("scope")),
		}
		s.mu.Unlock()
		back.Set("code", code)
	}
	if rules.NamesIssuer || rules.Says != "" {
		back.Set("iss", s.Issuer)
		if rules.Says != "" {
			back.Set("iss", rules.Says)
		}
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound) //nolint:gosec // it is registered
}

func (s *Site) token(w http.ResponseWriter, r *http.Request, rules *Rules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := r.PostForm
	if v := f.Get("code_verifier"); v != "" {
		s.verifiers = append(s.verifiers, v)
	}
	var g *granted
	refuse := func(code string) {
		// A careless server repeats what it was sent.
		reply(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": "refused: " + f.Encode()})
	}
	client, key, basic := r.BasicAuth()
	if basic { // RFC 6749, 2.3.1
		client, _ = url.QueryUnescape(client)
		key, _ = url.QueryUnescape(key)
	} else {
		client, key = f.Get("client_id"), f.Get("client_secret")
	}
	if rules.Only != "" && (client != rules.Only || key != rules.Secret) {
		refuse("invalid_client")
		return
	}
	method := map[bool]string{true: "client_secret_basic", false: "client_secret_post"}[basic]
	if key != "" && rules.Methods != nil && !slices.Contains(rules.Methods, method) || basic && f.Get("client_secret") != "" {
		refuse("invalid_client")
		return
	}
	switch f.Get("grant_type") {
	case "authorization_code":
		g = s.codes[f.Get("code")]
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if g == nil || g.revoked || g.client != client || g.redirect != f.Get("redirect_uri") ||
			g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse("invalid_grant")
			return
		}
		s.codes[f.Get("code")] = &granted{revoked: true}
	case "refresh_token":
		old := f.Get("refresh_token")
		g = s.fresh[old]
		if s.spent[old] != nil { // used twice: the whole grant ends
			for token, one := range s.fresh {
				if one.user == s.spent[old].user {
					delete(s.fresh, token)
				}
			}
		}
		if g == nil || g.revoked {
			refuse("invalid_grant")
			return
		}
		delete(s.fresh, old)
		s.spent[old] = g
	default:
		refuse("unsupported_grant_type")
		return
	}
	if f.Get("resource") != g.resource {
		refuse("invalid_target")
		return
	}
	s.n++
	access := "access-" + rand.Text()
	s.live[access] = g
	answer := map[string]any{"access_token": access, "token_type": "bearer", "scope": strings.Join(g.scopes, " ")}
	if rules.ExpiresIn != 0 {
		answer["expires_in"] = rules.ExpiresIn
	}
	if !rules.NoRefresh {
		refresh := "refresh-" + rand.Text()
		s.fresh[refresh], answer["refresh_token"] = g, refresh
	}
	reply(w, http.StatusOK, answer)
}

func (s *Site) register(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&in); err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	in["client_id"] = "registered-" + rand.Text()
	reply(w, http.StatusCreated, in)
}

func (s *Site) revoke(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token := r.PostFormValue("token")
	g := s.fresh[token]
	if g == nil {
		g = s.live[token]
	}
	if g != nil {
		g.revoked = true
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // the client has gone
}
