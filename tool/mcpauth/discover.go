package mcpauth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/braidrun/braid/event"
)

// found is what a server and its authorization server say about themselves.
type found struct {
	resource string
	scopes   []string
	server   *oauthex.AuthServerMeta
}

// discover finds the authorization server.
func (c *Client) discover(ctx context.Context, d *demand) (*found, error) {
	f, issuer, described, err := c.resource(ctx, d)
	if err != nil {
		return nil, err
	}
	if f.server, err = auth.GetAuthServerMetadata(ctx, issuer, c.http); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.fault(event.ErrUnavailable, "cannot be signed in to: its authorization server's metadata cannot be used",
			"tell its operator", err)
	}
	if f.server == nil {
		if described {
			return nil, c.fault(event.ErrUnavailable, "cannot be signed in to: its authorization server has no metadata", "tell its operator", nil)
		}
		// The revision of 2025-03-26 has default endpoints.
		f.server = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token",
			RegistrationEndpoint: issuer + "/register",
		}
	}
	return f, c.checkEndpoints(f.server)
}

// resource reads the metadata of the resource. described is false if the server has none: then it is its own
// authorization server, as in the revision of 2025-03-26.
func (c *Client) resource(ctx context.Context, d *demand) (f *found, issuer string, described bool, err error) {
	u, err := url.Parse(c.o.URL)
	if err != nil {
		return nil, "", false, invalid(c.o.Server, "its address cannot be read", "correct it")
	}
	for _, at := range metadataOf(d, u) {
		m, err := oauthex.GetProtectedResourceMetadata(ctx, at.url, at.resource, c.http)
		if ctx.Err() != nil {
			return nil, "", false, ctx.Err()
		}
		if refused, ok := errors.AsType[*event.Error](err); ok {
			return nil, "", false, c.fault(refused.Kind, "cannot be signed in to: "+refused.Message, refused.Hint, nil)
		}
		if err != nil && at.named {
			return nil, "", false, c.fault(event.ErrUnavailable, "cannot be signed in to: its metadata cannot be used", "tell its operator", err)
		}
		if err != nil || m == nil {
			continue
		}
		if len(m.AuthorizationServers) == 0 {
			return nil, "", false, c.fault(event.ErrUnavailable, "cannot be signed in to: it names no authorization server", "tell its operator", nil)
		}
		return &found{resource: m.Resource, scopes: scopesIn(strings.Join(m.ScopesSupported, " "))}, m.AuthorizationServers[0], true, nil
	}
	root := &url.URL{Scheme: u.Scheme, Host: u.Host}
	return &found{resource: c.o.URL}, root.String(), false, nil
}

// place is where metadata may be, and the resource that it has to describe.
type place struct {
	url, resource string
	// named says that the server named the place.
	named bool
}

// metadataOf lists where the metadata of a resource may be, in the order of the specification.
func metadataOf(d *demand, u *url.URL) (list []place) {
	resource := u.String()
	if d != nil && d.metadata != "" {
		list = append(list, place{d.metadata, resource, true})
	}
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	at := root
	if p := strings.TrimPrefix(u.Path, "/"); p != "" {
		at.Path = "/.well-known/oauth-protected-resource/" + p
		list = append(list, place{url: at.String(), resource: resource})
	}
	at.Path = "/.well-known/oauth-protected-resource"
	return append(list, place{url: at.String(), resource: root.String()})
}

// checkEndpoints refuses endpoints that cannot be meant. The SDK has checked their schemes.
func (c *Client) checkEndpoints(m *oauthex.AuthServerMeta) error {
	u, err := url.Parse(m.AuthorizationEndpoint)
	if err != nil || !isHTTP(m.AuthorizationEndpoint) || !isHTTP(m.TokenEndpoint) {
		return c.fault(event.ErrUnavailable, "cannot be signed in to: its authorization server lacks an endpoint", "tell its operator", nil)
	}
	q, err := url.ParseQuery(u.RawQuery)
	for _, ours := range []string{
		"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method", "resource",
	} {
		if err != nil || q.Has(ours) {
			return c.fault(event.ErrUnavailable, "cannot be signed in to: the address of its authorization server sets parameters of the request",
				"tell its operator", nil)
		}
	}
	if len(m.CodeChallengeMethodsSupported) > 0 && !slices.Contains(m.CodeChallengeMethodsSupported, "S256") {
		return c.fault(event.ErrUnsupported, "cannot be signed in to: its authorization server does not support PKCE with S256",
			"tell its operator", nil)
	}
	return nil
}
