package openapitool

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// scheme is a security scheme with the templates of its credential.
type scheme struct {
	kind         byte // 'k' API key, 'b' bearer, 'p' basic, 'o' OAuth client credentials
	in, name     string
	token        template
	user         string
	clientID     string
	clientSecret template
	tokenURL     string
	scopes       []string
}

// requirement lists schemes that are needed together.
type requirement []*scheme

// wireScheme is a security scheme of the document.
//
//nolint:tagliatelle // OpenAPI's names
type wireScheme struct {
	Type   string `json:"type"`
	In     string `json:"in"`
	Name   string `json:"name"`
	Scheme string `json:"scheme"`
	Flows  map[string]struct {
		TokenURL string `json:"tokenUrl"`
	} `json:"flows"`
}

// readSchemes reads the security schemes for which there are credentials.
func (l *loader) readSchemes() error {
	l.schemes = map[string]*scheme{}
	for _, name := range slices.Sorted(maps.Keys(l.options.Credentials)) {
		raw := l.doc.parts["securitySchemes"][name]
		if raw == nil && l.options.OtherSchemes {
			continue
		}
		if raw == nil {
			return invalid(fmt.Sprintf("the document has no security scheme %.50q", name), "Use one of: "+l.schemeNames()+".", nil)
		}
		var w wireScheme
		if err := l.doc.read(raw, &w); err != nil {
			return invalid(fmt.Sprintf("the security scheme %.50q %s", name, err), "Correct the document.", err)
		}
		s, err := newScheme(&w, l.options.Credentials[name], l.doc.base)
		if err != nil {
			return invalid(fmt.Sprintf("the credential for %.50q does not fit: %s", name, err), "Set the fields that its security scheme needs.", err)
		}
		l.schemes[name] = s
	}
	return nil
}

func (l *loader) schemeNames() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(l.doc.parts["securitySchemes"])) {
		if len(names) < 10 {
			names = append(names, line(name, 50))
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func newScheme(w *wireScheme, c Credential, base *url.URL) (s *scheme, err error) {
	s = &scheme{in: "header", name: "Authorization", user: c.User, clientID: c.ClientID, scopes: c.Scopes}
	value, missing := c.Token, "Token"
	switch {
	case w.Type == "apiKey":
		s.kind, s.in, s.name = 'k', w.In, w.Name
		if s.in != "header" && s.in != "query" && s.in != "cookie" || s.in != "query" && !legalHeader(s.name) || s.name == "" {
			return nil, fmt.Errorf("the scheme's place %.20q or name is not supported", s.in)
		}
	case w.Type == "http" && strings.EqualFold(w.Scheme, "basic"):
		s.kind, value, missing = 'p', c.Password, "User and Password"
	case c.ClientID != "" && (w.Type == "oauth2" || w.Type == "openIdConnect"):
		s.kind, missing = 'o', "ClientSecret"
		if s.tokenURL = c.TokenURL; s.tokenURL == "" {
			s.tokenURL = w.Flows["clientCredentials"].TokenURL
		}
		u, err := url.Parse(s.tokenURL)
		if err == nil && base != nil {
			u = base.ResolveReference(u)
		}
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, errors.New("TokenURL is missing")
		}
		s.tokenURL = u.String()
		if s.clientSecret, err = newTemplate(c.ClientSecret); err != nil {
			return nil, err
		}
		value = c.ClientSecret
	case w.Type == "http" && strings.EqualFold(w.Scheme, "bearer"), w.Type == "oauth2", w.Type == "openIdConnect":
		s.kind = 'b'
	default:
		return nil, fmt.Errorf("the scheme's type %.20q is not supported", w.Type)
	}
	if value.Empty() {
		return nil, fmt.Errorf("%s is missing", missing)
	}
	s.token, err = newTemplate(value)
	return s, err
}

// requirements returns the alternatives of an operation's security for which all credentials are there.
func (l *loader) requirements(w *wireOperation) []requirement {
	list := l.security
	if w.hasSecurity {
		list = w.security
	}
	var out []requirement
	for _, alternative := range list {
		r, complete := requirement{}, len(alternative) > 0
		for _, name := range slices.Sorted(maps.Keys(alternative)) {
			s := l.schemes[name]
			if complete = complete && s != nil; s != nil {
				r = append(r, s)
			}
		}
		if complete {
			out = append(out, r)
		}
	}
	return out
}

// outgoing collects what a request has beside its body.
type outgoing struct {
	header  http.Header
	query   []pair
	cookies []pair
	// secrets must not appear in the result.
	secrets []secret.Secret
}

// apply adds a credential to a request.
func (s *scheme) apply(ctx context.Context, a *API, out *outgoing) error {
	text, used, err := s.token.fill(ctx, a.options.Fill)
	if err != nil {
		return err
	}
	out.secrets = append(out.secrets, used...)
	switch s.kind {
	case 'b':
		text = "Bearer " + text
	case 'p':
		text = "Basic " + base64.StdEncoding.EncodeToString([]byte(s.user+":"+text))
		out.secrets = append(out.secrets, secret.New(text[len("Basic "):]))
	case 'o':
		token, err := a.tokens.get(ctx, a, s, text)
		if err != nil {
			return err
		}
		out.secrets = append(out.secrets, secret.New(token))
		text = "Bearer " + token
	}
	switch s.in {
	case "query":
		out.query = append(out.query, pair{escape(s.name), escape(text)})
	case "cookie":
		out.cookies = append(out.cookies, pair{s.name, escape(text)})
	default:
		out.header.Set(s.name, text)
	}
	return nil
}

// tokens keeps the tokens of OAuth clients until they expire.
type tokens struct {
	mu   sync.Mutex
	list map[[32]byte]*oauth2.Token
}

// mostTokens bounds the tokens that are kept: runs may have credentials of their own.
const mostTokens = 1000

func (t *tokens) get(ctx context.Context, a *API, s *scheme, clientSecret string) (string, error) {
	raw, err := json.Marshal([]any{s.tokenURL, s.clientID, clientSecret, s.scopes})
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(raw)
	t.mu.Lock()
	have := t.list[key]
	t.mu.Unlock()
	if have != nil && (have.Expiry.IsZero() || time.Until(have.Expiry) > 30*time.Second) {
		return have.AccessToken, nil
	}
	c := clientcredentials.Config{ClientID: s.clientID, ClientSecret: clientSecret, TokenURL: s.tokenURL, Scopes: s.scopes}
	have, err = c.Token(context.WithValue(ctx, oauth2.HTTPClient, a.client))
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		// The cause may repeat what was sent.
		return "", &event.Error{
			Op: op, Kind: event.ErrUnauthenticated, Message: "the API's token server gave no token",
			Hint: "Check the client's id, secret and scopes.",
		}
	}
	if !printable(have.AccessToken) {
		return "", &event.Error{Op: op, Kind: event.ErrInvalid, Message: "the API's token server gave a token with control characters"}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil || len(t.list) >= mostTokens {
		t.list = map[[32]byte]*oauth2.Token{}
	}
	t.list[key] = have
	return have.AccessToken, nil
}

// forget drops all tokens, after one was refused.
func (t *tokens) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = nil
}
