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
	kind     byte // 'k' API key, 'b' bearer, 'p' basic, 'o' OAuth client credentials
	in, name string
	// token is the key, the bearer token, the password or the client's secret.
	token template
	// user is the user or the client's id.
	user     template
	tokenURL string
	scopes   []string
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
		switch c := l.options.Credentials[name]; {
		case l.options.OtherSchemes:
		case s.kind != 'p' && c.User != "":
			return invalid(fmt.Sprintf("the security scheme %.50q takes no user", name), "Leave it out.", nil)
		case s.kind != 'o' && (c.ClientID != "" || c.TokenURL != "" || len(c.Scopes) > 0):
			return invalid(fmt.Sprintf("the security scheme %.50q takes no client, token URL and scopes", name), "Leave them out.", nil)
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
	s = &scheme{in: "header", name: "Authorization", scopes: c.Scopes}
	value, missing, user := c.Token, "Token", ""
	switch {
	case w.Type == "apiKey":
		s.kind, s.in, s.name = 'k', w.In, w.Name
		if s.in != "header" && s.in != "query" && s.in != "cookie" || s.name == "" || s.in == "cookie" && !legalHeader(s.name) ||
			s.in == "header" && !settable(s.name) && !strings.EqualFold(s.name, "Authorization") {
			return nil, fmt.Errorf("the scheme's place %.20q or name is not supported", s.in)
		}
	case w.Type == "http" && strings.EqualFold(w.Scheme, "basic"):
		s.kind, value, missing, user = 'p', c.Password, "User and Password", c.User
	case c.ClientID != "" && (w.Type == "oauth2" || w.Type == "openIdConnect"):
		s.kind, value, missing, user = 'o', c.ClientSecret, "ClientSecret", c.ClientID
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
	case w.Type == "http" && strings.EqualFold(w.Scheme, "bearer"), w.Type == "oauth2", w.Type == "openIdConnect":
		s.kind = 'b'
	default:
		return nil, fmt.Errorf("the scheme's type %.20q is not supported", w.Type)
	}
	if value.Empty() {
		return nil, fmt.Errorf("%s is missing", missing)
	}
	if s.token, err = newTemplate(value); err == nil {
		s.user, err = newTemplate(secret.New(user))
	}
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
	// tokens are the keys of the tokens that were requested for it.
	tokens [][sha256.Size]byte
}

// apply adds a credential to a request.
func (s *scheme) apply(ctx context.Context, a *API, out *outgoing) error {
	text, used, err := s.token.fill(ctx, a.options.Fill)
	if err != nil {
		return err
	}
	user, inserted, err := s.user.fill(ctx, a.options.Fill)
	if err != nil {
		return err
	}
	if out.secrets = append(out.secrets, used...); len(inserted) > 1 {
		out.secrets = append(out.secrets, inserted...)
	}
	switch s.kind {
	case 'b':
		text = "Bearer " + text
	case 'p':
		if strings.Contains(user, ":") { // RFC 7617: the rest would be part of the password
			return &event.Error{
				Op: op, Kind: event.ErrInvalid, Message: "the user of a credential contains a colon", Hint: "Pass another user.",
			}
		}
		text = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+text))
		out.secrets = append(out.secrets, secret.New(text[len("Basic "):]))
	case 'o':
		token, key, err := a.tokens.get(ctx, a, s, user, text)
		if err != nil {
			return err
		}
		out.tokens = append(out.tokens, key)
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
	list map[[sha256.Size]byte]*oauth2.Token
}

// mostTokens bounds the tokens that are kept: runs may have credentials of their own.
const mostTokens = 1000

// get returns the token of a client, and the key under which it is kept.
func (t *tokens) get(ctx context.Context, a *API, s *scheme, client, clientSecret string) (token string, key [sha256.Size]byte, err error) {
	raw, err := json.Marshal([]any{s.tokenURL, client, clientSecret, s.scopes})
	if err != nil {
		return "", key, err
	}
	key = sha256.Sum256(raw)
	t.mu.Lock()
	have := t.list[key]
	t.mu.Unlock()
	if have != nil && (have.Expiry.IsZero() || time.Until(have.Expiry) > 30*time.Second) {
		return have.AccessToken, key, nil
	}
	c := clientcredentials.Config{ClientID: client, ClientSecret: clientSecret, TokenURL: s.tokenURL, Scopes: s.scopes}
	have, err = c.Token(context.WithValue(ctx, oauth2.HTTPClient, a.client))
	if err != nil {
		if ctx.Err() != nil {
			return "", key, ctx.Err()
		}
		// The cause may repeat what was sent.
		return "", key, &event.Error{
			Op: op, Kind: event.ErrUnauthenticated, Message: "the API's token server gave no token",
			Hint: "Check the client's id, secret and scopes.",
		}
	}
	if !printable(have.AccessToken) {
		return "", key, &event.Error{Op: op, Kind: event.ErrInvalid, Message: "the API's token server gave a token with control characters"}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil || len(t.list) >= mostTokens {
		t.list = map[[sha256.Size]byte]*oauth2.Token{}
	}
	t.list[key] = have
	return have.AccessToken, key, nil
}

// forget drops the tokens of a request that was refused.
func (t *tokens) forget(keys [][sha256.Size]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		delete(t.list, key)
	}
}
