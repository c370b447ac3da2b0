package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The only client. A real one has a secret that nobody reads here.
const (
	clientID     = "quickstart"
	clientSecret = "only for trying out"
)

// user is who signs in.
const user = "ann"

// site is an MCP server and its authorization server.
type site struct {
	base string

	mu sync.Mutex
	// codes are those that were not used yet; tokens the access tokens, and refresh the refresh tokens.
	codes   map[string]code
	tokens  map[string]time.Time
	refresh map[string]bool
}

// code is what a code was given for.
type code struct{ redirect, challenge string }

// most bounds what is kept of each kind.
const most = 1000

func newSite(base string) http.Handler {
	s := &site{base: base, codes: map[string]code{}, tokens: map[string]time.Time{}, refresh: map[string]bool{}}
	resource, metadata := base+"/mcp", "/.well-known/oauth-protected-resource/mcp"
	mux := http.NewServeMux()
	mux.Handle("/mcp", auth.RequireBearerToken(s.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: base + metadata})(
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, &mcp.StreamableHTTPOptions{Stateless: true})))
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: resource, AuthorizationServers: []string{base},
	}))
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, oauthex.AuthServerMeta{
			Issuer: base, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", ResponseTypesSupported: []string{"code"},
			TokenEndpointAuthMethodsSupported: []string{"client_secret_basic"}, CodeChallengeMethodsSupported: []string{"S256"},
		})
	})
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	return mux
}

// newServer has one tool, which says who is signed in.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "docs", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "whoami", Description: "Says who is signed in."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			text := "you are " + auth.TokenInfoFromContext(ctx).UserID
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	return s
}

// verify implements [auth.TokenVerifier].
func (s *site) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.tokens[token]
	if !ok {
		return nil, fmt.Errorf("%w: unknown token", auth.ErrInvalidToken)
	}
	return &auth.TokenInfo{UserID: user, Expiration: until}, nil
}

// authorize signs the user in. A real server asks for a password and whether the client may have a token.
func (s *site) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case err != nil || back.Scheme != "http" || back.Hostname() != "127.0.0.1" || back.Path != "/oauth/callback":
		http.Error(w, "this redirect_uri is not registered", http.StatusBadRequest)
		return
	case q.Get("client_id") != clientID || q.Get("resource") != s.base+"/mcp" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "":
		http.Error(w, "this request cannot be used", http.StatusBadRequest)
		return
	}
	made := rand.Text()
	s.mu.Lock()
	if len(s.codes) >= most {
		clear(s.codes)
	}
	s.codes[made] = code{back.String(), q.Get("code_challenge")}
	s.mu.Unlock()
	back.RawQuery = url.Values{"code": {made}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound) //nolint:gosec // it was checked
}

// token exchanges a code or a refresh token.
func (s *site) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	id, secret, _ := r.BasicAuth()
	if plain, err := url.QueryUnescape(secret); id != clientID || err != nil || plain != clientSecret {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		one, ok := s.codes[r.PostFormValue("code")]
		delete(s.codes, r.PostFormValue("code")) // a code is good once
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || one.redirect != r.PostFormValue("redirect_uri") || one.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
	case "refresh_token":
		if !s.refresh[r.PostFormValue("refresh_token")] {
			answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		delete(s.refresh, r.PostFormValue("refresh_token")) // refresh tokens rotate
	default:
		answer(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	if len(s.tokens) >= most {
		clear(s.tokens)
		clear(s.refresh)
	}
	access, refresh := rand.Text(), rand.Text()
	s.tokens[access], s.refresh[refresh] = time.Now().Add(time.Hour), true
	answer(w, http.StatusOK, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600})
}

func answer(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "something went wrong", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(strings.TrimSpace(string(raw)) + "\n")) // the client may have gone
}
