package mcpauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// These are bounds of this package.
const (
	// early is how long before its end an access token is renewed.
	early = 30 * time.Second
	// renewTime bounds a renewal. After it another process may try.
	renewTime = 40 * time.Second
	// requestTime bounds one request to an authorization server.
	requestTime = 30 * time.Second
	// keepFor is how long a loaded grant is used before the store is asked again.
	keepFor = 5 * time.Second
	// soon is how soon after a renewal a refusal means that renewing again does not help.
	soon = time.Minute
	// saves is how often an entry is changed again because another one was quicker.
	saves = 20
	// quickly is how soon after a sign-in a demand for the same scopes is not asked of the user again.
	quickly = 10 * time.Minute
	// longestToken bounds a token, which has to fit a header.
	longestToken = 16 << 10
)

// Client signs one user in to one server. It is safe for concurrent use. Make it with [New].
//
// It is an [auth.OAuthHandler] of the MCP SDK, and never blocks for a user: a request that needs a sign-in fails with an
// error for which [Needed] reports true.
type Client struct {
	o    Options
	http *http.Client

	mu sync.Mutex
	// need is the server's last demand that no grant has met; nil for none.
	need *demand
	// grant was loaded at the time loaded.
	grant  *Grant
	loaded time.Time
	// refused is the access token that was renewed, at the time renewedAt, because the server had refused the one before it.
	refused   string
	renewedAt time.Time
	// seen are the secrets of the last grants, and uses counts the grants.
	seen []secret.Secret
	uses int64
}

var _ auth.OAuthHandler = (*Client)(nil)

// demand is what a server wants of a user.
type demand struct {
	// metadata is the address of the resource's metadata; "" if the server named none.
	metadata string
	scopes   []string
	// token is the access token that was refused.
	token string
}

// New returns a client. It connects to nothing. It returns [event.ErrInvalid] for options that cannot be used.
func New(o Options) (*Client, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Client{o: o, http: newHTTP(o.Transport)}, nil
}

// newHTTP returns the client for requests to authorization servers. A redirect of a metadata document stays on its host. A
// token request, which holds a code or a token, follows none.
func newHTTP(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, Timeout: requestTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		first := via[0]
		if first.Method == http.MethodGet && len(via) <= 3 && r.URL.Scheme == first.URL.Scheme && r.URL.Host == first.URL.Host {
			return nil
		}
		return http.ErrUseLastResponse
	}}
}

// Needed reports whether the server has refused a request that only a signed-in user, or one who grants more, can make. It
// does not look whether another client has met the demand; [Client.Granted] does.
func (c *Client) Needed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.need != nil
}

// Granted returns the user's grant; nil if there is none.
func (c *Client) Granted(ctx context.Context) (*Grant, error) {
	e, _, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	return e.Grant, nil
}

// TokenSource implements [auth.OAuthHandler].
func (c *Client) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return source{ctx, c}, nil
}

// source is the grant as the SDK asks for it.
type source struct {
	ctx context.Context //nolint:containedctx // the interface has none
	c   *Client
}

// Token returns nil, and no error, where there is no grant: the request goes out without one.
func (s source) Token() (*oauth2.Token, error) {
	g, err := s.c.current(s.ctx)
	if err != nil || g == nil {
		return nil, err
	}
	return &oauth2.Token{AccessToken: g.Access.Reveal(), TokenType: "Bearer", Expiry: g.Expires}, nil
}

// Authorize implements [auth.OAuthHandler]. It renews the grant, or returns an error for which [Needed] reports true.
func (c *Client) Authorize(ctx context.Context, r *http.Request, resp *http.Response) error {
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	d, wants := demandOf(resp)
	sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	e, _, err := c.load(ctx)
	if err != nil {
		return err
	}
	g := e.Grant
	if resp.StatusCode == http.StatusForbidden {
		if wants != "insufficient_scope" || g != nil && covers(g.Asked, d.scopes) && c.o.Now().Sub(g.At) < quickly {
			return nil // the answer counts: signing in again would change nothing
		}
		c.demands(d, sent)
		return c.needed()
	}
	if g != nil && g.Access.Reveal() != sent && g.live(c.o.Now()) {
		c.use(g)
		return nil // it was renewed meanwhile
	}
	if g != nil && !g.Refresh.Empty() && !c.hasRefused(sent) {
		g, err := c.renew(ctx, sent)
		if err != nil {
			return err
		}
		if g != nil {
			c.mu.Lock()
			c.refused, c.renewedAt = g.Access.Reveal(), c.o.Now()
			c.mu.Unlock()
			return nil
		}
	}
	c.demands(d, sent)
	return c.needed()
}

// demands notes what the server wants instead of a token.
func (c *Client) demands(d *demand, token string) {
	d.token = token
	c.mu.Lock()
	c.need = d
	c.mu.Unlock()
}

// hasRefused reports whether the server has just refused a token that was renewed because of a refusal.
func (c *Client) hasRefused(token string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return token != "" && c.refused == token && c.o.Now().Sub(c.renewedAt) < soon
}

// use takes a grant over.
func (c *Client) use(g *Grant) {
	c.mu.Lock()
	c.need = nil
	c.keep(g)
	c.mu.Unlock()
}

// mostSeen bounds the secrets that are remembered.
const mostSeen = 16

// keep makes a grant the one that requests use. The caller holds c.mu.
func (c *Client) keep(g *Grant) {
	if c.grant == nil || c.grant.Access.Reveal() != g.Access.Reveal() || c.grant.Refresh.Reveal() != g.Refresh.Reveal() {
		c.uses++
		c.seen = append(c.seen, g.Access, g.Refresh)
		c.seen = slices.Clone(c.seen[max(0, len(c.seen)-mostSeen):])
	}
	c.grant, c.loaded = g, c.o.Now()
}

// Secrets returns what must not appear in what the server says: the client's secret, and the tokens of the last grants that
// this client has used. While n stays the same, so do they.
func (c *Client) Secrets() (list []secret.Secret, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(slices.Clone(c.seen), c.o.ClientSecret), c.uses
}

// demandOf reads a refusal. What cannot be read counts as nothing.
func demandOf(resp *http.Response) (d *demand, wants string) {
	d = &demand{}
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return d, ""
	}
	for _, one := range challenges {
		if one.Scheme != "bearer" {
			continue
		}
		d.metadata, wants = one.Params["resource_metadata"], one.Params["error"]
		d.scopes = scopesIn(one.Params["scope"])
		break
	}
	return d, wants
}

// scopesIn splits a list of scopes. It drops what is no scope (RFC 6749, 3.3), and what is over 100.
func scopesIn(text string) []string {
	list := slices.DeleteFunc(strings.Fields(text), func(s string) bool {
		return len(s) > 256 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' })
	})
	return slices.Clip(list[:min(len(list), 100)])
}

// load returns the entry without what belongs to another address of the server: a token goes nowhere else.
func (c *Client) load(ctx context.Context) (*Entry, int64, error) {
	e, version, err := c.o.Store.Load(ctx, c.o.Key)
	if err != nil {
		return nil, 0, err
	}
	if e.Grant != nil && e.Grant.url != c.o.URL {
		e.Grant = nil
	}
	if e.Login != nil && e.Login.url != c.o.URL {
		e.Login = nil
	}
	if g := e.Grant; g != nil {
		c.mu.Lock()
		if c.need != nil && c.need.token != g.Access.Reveal() {
			c.need = nil // another client has met it
		}
		c.mu.Unlock()
	}
	return e, version, nil
}

// change loads the entry, has it changed and saves it, again if another one was quicker. do may return errKeep.
func (c *Client) change(ctx context.Context, do func(e *Entry) error) error {
	for range saves {
		e, version, err := c.load(ctx)
		if err != nil {
			return err
		}
		switch err := do(e); {
		case errors.Is(err, errKeep):
			return nil
		case err != nil:
			return err
		}
		if err = c.o.Store.Save(ctx, c.o.Key, e, version); !errors.Is(err, event.ErrConflict) {
			return err
		}
	}
	return conflict()
}

// errKeep is returned by a change that changes nothing.
var errKeep = errors.New("nothing to change")
