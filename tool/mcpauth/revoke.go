package mcpauth

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Revoke forgets the user's grant and sign-in, and asks the authorization server to end the grant (RFC 7009). The grant is
// forgotten first, so it ends here also if the authorization server does not answer; told reports whether it did.
func (c *Client) Revoke(ctx context.Context) (told bool, err error) {
	var g *Grant
	err = c.change(ctx, func(e *Entry) error {
		g = e.Grant
		if g == nil && e.Login == nil {
			return errKeep
		}
		e.Grant, e.Login, e.Renewing = nil, nil, time.Time{}
		return nil
	})
	c.mu.Lock()
	c.grant, c.refused = nil, ""
	c.mu.Unlock()
	if err != nil || g == nil {
		return false, err
	}
	return c.tell(ctx, g), nil
}

// tell asks the authorization server to end a grant.
func (c *Client) tell(ctx context.Context, g *Grant) bool {
	at := c.endpointsOf(g)
	if at.revoke == "" {
		return false
	}
	form := url.Values{"token": {g.Access.Reveal()}, "token_type_hint": {"access_token"}}
	if !g.Refresh.Empty() {
		form = url.Values{"token": {g.Refresh.Reveal()}, "token_type_hint": {"refresh_token"}}
	}
	if at.style != oauth2.AuthStyleInHeader {
		form.Set("client_id", at.client)
		if !at.secret.Empty() {
			form.Set("client_secret", at.secret.Reveal())
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if at.style == oauth2.AuthStyleInHeader {
		r.SetBasicAuth(url.QueryEscape(at.client), url.QueryEscape(at.secret.Reveal()))
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	return resp.StatusCode == http.StatusOK
}
