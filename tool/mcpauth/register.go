package mcpauth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// identify returns how this client identifies itself: with a registered id, with its metadata document, or with an id that
// it registers. A registration is kept for later.
func (c *Client) identify(ctx context.Context, e *Entry, m *oauthex.AuthServerMeta) (endpoints, error) {
	at := endpoints{token: m.TokenEndpoint, style: oauth2.AuthStyleInParams}
	if isHTTP(m.RevocationEndpoint) {
		at.revoke = m.RevocationEndpoint
	}
	switch {
	case c.o.ClientID != "":
		if c.o.Issuer != "" && !sameIssuer(c.o.Issuer, m.Issuer) {
			return at, c.fault(event.ErrPermission, "names another authorization server than the one that the client is registered with",
				"check whether the server can be trusted, or correct the issuer", nil)
		}
		at.client, at.secret = c.o.ClientID, c.o.ClientSecret
		if at.secret.Empty() {
			return at, nil
		}
		if methods := m.TokenEndpointAuthMethodsSupported; len(methods) > 0 && preferred(methods) == "" {
			return at, c.fault(event.ErrUnsupported, "needs another authentication of the client than a secret",
				"register a client there with client_secret_basic or client_secret_post", nil)
		}
		at.style = styleOf(m.TokenEndpointAuthMethodsSupported)
		return at, nil
	case c.o.ClientMetadataURL != "" && m.ClientIDMetadataDocumentSupported:
		at.client = c.o.ClientMetadataURL
		return at, nil
	case m.RegistrationEndpoint == "" || c.o.NoRegistration:
		return at, c.fault(event.ErrUnsupported, "needs a client that is registered with its authorization server",
			"register one there, and configure its client id", nil)
	}
	known, ok := e.Clients[m.Issuer]
	if !ok || known.Redirect != c.o.Redirect || !known.Expires.IsZero() && !c.o.Now().Before(known.Expires) {
		var err error
		if known, err = c.register(ctx, m); err != nil {
			return at, err
		}
		if e.Clients == nil || len(e.Clients) >= 8 {
			e.Clients = map[string]Registered{}
		}
		e.Clients[m.Issuer] = known
	}
	at.client, at.secret, at.style = known.ID, known.Secret, known.style
	return at, nil
}

func (c *Client) register(ctx context.Context, m *oauthex.AuthServerMeta) (Registered, error) {
	about := &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{c.o.Redirect}, ClientName: c.o.ClientName, ApplicationType: applicationType(c.o.Redirect),
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
	if methods := m.TokenEndpointAuthMethodsSupported; len(methods) == 0 || slices.Contains(methods, "none") {
		about.TokenEndpointAuthMethod = "none"
	} else {
		about.TokenEndpointAuthMethod = preferred(methods)
	}
	r, err := oauthex.RegisterClient(ctx, m.RegistrationEndpoint, about, c.http)
	if err != nil {
		if ctx.Err() != nil {
			return Registered{}, ctx.Err()
		}
		code := ""
		if refused, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
			code = plainCode(refused.ErrorCode)
		}
		return Registered{}, c.fault(event.ErrUnavailable, withCode("cannot be signed in to: its authorization server registers no client", code),
			"register one there, and configure its client id", nil)
	}
	known := Registered{ID: r.ClientID, Secret: secret.New(r.ClientSecret), Redirect: c.o.Redirect, Expires: r.ClientSecretExpiresAt}
	switch {
	case r.ClientSecret == "":
		known.style = oauth2.AuthStyleInParams
	case r.TokenEndpointAuthMethod == "client_secret_post":
		known.style = oauth2.AuthStyleInParams
	default:
		known.style = oauth2.AuthStyleInHeader // the default of RFC 7591
	}
	if len(known.ID)+len(r.ClientSecret) > longestToken {
		return Registered{}, c.fault(event.ErrUnavailable, "cannot be signed in to: its authorization server sent a client id that is too long",
			"tell its operator", nil)
	}
	return known, nil
}

// preferred returns the method to authenticate with; "" if none of ours is supported.
func preferred(methods []string) string {
	for _, m := range []string{"client_secret_post", "client_secret_basic"} {
		if slices.Contains(methods, m) {
			return m
		}
	}
	return ""
}

// styleOf returns how a secret is sent. The default is that of RFC 8414: in the header.
func styleOf(methods []string) oauth2.AuthStyle {
	if preferred(methods) == "client_secret_post" {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// applicationType returns "native" for a redirect address on this machine, and "web" for others.
func applicationType(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return "web"
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return "native"
	}
	return "web"
}

// sameIssuer compares issuers, one of which may end in a slash.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }
