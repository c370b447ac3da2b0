package mcpauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// mostFor bounds the labels of a sign-in.
const mostFor = 16

// Begin begins to sign the user in, or returns the sign-in that is under way if it asks for enough. The user opens its URL.
// label names what waits for the sign-in, for [Login.For]; "" adds none.
func (c *Client) Begin(ctx context.Context, label string) (*Login, error) {
	c.mu.Lock()
	d := c.need
	c.mu.Unlock()
	var open *Login
	reuse := func(e *Entry) error {
		open = nil
		l := e.Login
		if l == nil || l.redirect != c.o.Redirect || !c.o.Now().Before(l.Expires) || d != nil && !covers(l.Scopes, d.scopes) {
			return errNone
		}
		open = l
		if label == "" || slices.Contains(l.For, label) || len(l.For) >= mostFor {
			return errKeep
		}
		l.For = append(slices.Clip(l.For), label)
		return nil
	}
	if err := c.change(ctx, reuse); !errors.Is(err, errNone) {
		return open, err
	}
	f, err := c.discover(ctx, d)
	if err != nil {
		return nil, err
	}
	e, _, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	at, err := c.identify(ctx, e, f.server)
	if err != nil {
		return nil, err
	}
	clients := e.Clients
	l, err := c.newLogin(e, f, d, at)
	if err != nil {
		return nil, err
	}
	if label != "" {
		l.For = []string{label}
	}
	err = c.change(ctx, func(e *Entry) error {
		if err := reuse(e); !errors.Is(err, errNone) {
			return err // another one has begun meanwhile
		}
		e.Login, e.Clients, open = l, clients, l
		return nil
	})
	return open, err
}

var errNone = errors.New("there is no sign-in that can be used")

// newLogin makes a sign-in and its link.
func (c *Client) newLogin(e *Entry, f *found, d *demand, at endpoints) (*Login, error) {
	state, err := c.o.NewState()
	if err != nil {
		return nil, err
	}
	l := &Login{
		ID: rand.Text(), url: c.o.URL, Expires: c.o.Now().Add(c.o.Patience), Resource: f.resource, Issuer: f.server.Issuer,
		Scopes: c.scopes(e, f, d), redirect: c.o.Redirect, state: secret.New(state), verifier: secret.New(oauth2.GenerateVerifier()),
		namesIssuer: f.server.AuthorizationResponseIssParameterSupported, endpoints: at,
	}
	config := at.config()
	config.Endpoint.AuthURL, config.RedirectURL, config.Scopes = f.server.AuthorizationEndpoint, c.o.Redirect, l.Scopes
	l.URL = config.AuthCodeURL(state, oauth2.S256ChallengeOption(l.verifier.Reveal()), oauth2.SetAuthURLParam("resource", f.resource))
	return l, nil
}

// scopes returns what to ask for: what the server wants, together with what was granted before.
func (c *Client) scopes(e *Entry, f *found, d *demand) []string {
	var list []string
	switch {
	case d != nil && len(d.scopes) > 0:
		list = slices.Clone(d.scopes)
	case c.o.Scopes != nil:
		list = slices.Clone(c.o.Scopes)
	default:
		list = slices.Clone(f.scopes)
	}
	if slices.Contains(f.server.ScopesSupported, "offline_access") {
		list = append(list, "offline_access")
	}
	if g := e.Grant; g != nil && g.Issuer == f.server.Issuer && g.Resource == f.resource {
		list = append(list, g.Scopes...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Answer is what an authorization server sent the user back with.
type Answer struct {
	Code, State, Issuer, Error string
}

// ParseAnswer reads the address that the user was sent back to, or its query.
func ParseAnswer(address string) (Answer, error) {
	address = strings.TrimSpace(address)
	if _, query, ok := strings.Cut(address, "?"); ok {
		address = query
	}
	address, _, _ = strings.Cut(address, "#")
	q, err := url.ParseQuery(address)
	if err != nil || len(address) > longestToken || len(q["code"]) > 1 || len(q["state"]) > 1 || len(q["iss"]) > 1 || !q.Has("state") {
		return Answer{}, &event.Error{
			Op: "mcp sign-in", Kind: event.ErrInvalid, Message: "this is not the address that the browser was sent back to",
			Hint: "copy the whole address from the browser, with code and state",
		}
	}
	return Answer{q.Get("code"), q.Get("state"), q.Get("iss"), q.Get("error")}, nil
}

// Complete ends the sign-in with the authorization server's answer and stores the grant. It returns the sign-in that it
// ended. An answer counts once. The errors are
//
//   - [event.ErrNotFound] if no sign-in with this state is under way
//   - [event.ErrPermission] if the user, or the authorization server, has refused
//   - [event.ErrUnauthenticated] if another authorization server has answered
//   - [event.ErrUnavailable] if the authorization server gave no token
func (c *Client) Complete(ctx context.Context, a Answer) (*Login, error) {
	var l *Login
	err := c.change(ctx, func(e *Entry) error {
		l = e.Login
		if !c.answers(l, a) {
			return c.unknown()
		}
		e.Login = nil // before the code is used, so that a second answer finds nothing
		return nil
	})
	if err != nil {
		return nil, err
	}
	if a.Issuer != l.Issuer && (l.namesIssuer || a.Issuer != "") {
		return l, c.fault(event.ErrUnauthenticated, "was not signed in to: another authorization server has answered",
			"sign in again, and check whether the server can be trusted", nil)
	}
	if a.Error != "" || a.Code == "" {
		return l, c.fault(event.ErrPermission, withCode("was not signed in to: its authorization server refused", plainCode(a.Error)),
			"sign in again to try once more", nil)
	}
	t, err := c.exchange(ctx, &l.endpoints, a.Code, url.Values{
		"redirect_uri": {l.redirect}, "resource": {l.Resource}, "code_verifier": {l.verifier.Reveal()},
	})
	if err != nil {
		if ctx.Err() != nil {
			return l, ctx.Err()
		}
		return l, c.fault(event.ErrUnavailable, withCode("was not signed in to: its authorization server gave no token", codeOf(err)),
			"sign in again", nil)
	}
	g := &Grant{url: c.o.URL, Resource: l.Resource, Issuer: l.Issuer, Scopes: l.Scopes, Asked: l.Scopes, At: c.o.Now(), endpoints: l.endpoints}
	g.take(t, c.o.Now())
	if err := c.change(ctx, func(e *Entry) error { e.Grant, e.Renewing = g, time.Time{}; return nil }); err != nil {
		return l, err
	}
	c.use(g)
	return l, nil
}

// Peek returns the error of [Client.Complete] for an answer to no sign-in, and changes nothing.
func (c *Client) Peek(ctx context.Context, a Answer) error {
	e, _, err := c.load(ctx)
	if err == nil && !c.answers(e.Login, a) {
		err = c.unknown()
	}
	return err
}

// answers reports whether an answer belongs to a sign-in that is under way.
func (c *Client) answers(l *Login, a Answer) bool {
	return l != nil && subtle.ConstantTimeCompare([]byte(l.state.Reveal()), []byte(a.State)) == 1 && c.o.Now().Before(l.Expires)
}

func (c *Client) unknown() error {
	return c.fault(event.ErrNotFound, "has no such sign-in: it has ended, or was answered before", "begin again", nil)
}
