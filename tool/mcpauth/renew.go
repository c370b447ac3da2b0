package mcpauth

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// current returns the grant for a request, renewed if it is about to expire; nil if there is none.
func (c *Client) current(ctx context.Context) (*Grant, error) {
	now := c.o.Now()
	c.mu.Lock()
	g, fresh := c.grant, c.grant != nil && now.Sub(c.loaded) < keepFor
	c.mu.Unlock()
	if fresh && !g.due(now) {
		return g, nil
	}
	e, _, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	if e.Grant == nil {
		c.mu.Lock()
		c.grant = nil
		c.mu.Unlock()
		return nil, nil //nolint:nilnil // there is none
	}
	if !e.Grant.due(now) {
		c.mu.Lock()
		c.keep(e.Grant)
		c.mu.Unlock()
		return e.Grant, nil
	}
	g, err = c.renew(ctx, e.Grant.Access.Reveal())
	if err != nil && e.Grant.live(now) {
		return e.Grant, nil
	}
	return g, err
}

// renew replaces the grant with this access token. One process renews; the others wait for it, because a refresh token of
// which a second use is seen may end the whole grant. It returns nil if the authorization server no longer knows the grant.
func (c *Client) renew(ctx context.Context, access string) (*Grant, error) {
	var mine, theirs *Grant
	for {
		wait := false
		mine, theirs = nil, nil
		err := c.change(ctx, func(e *Entry) error {
			now := c.o.Now()
			mine, theirs, wait = nil, nil, false
			switch {
			case e.Grant == nil || e.Grant.Access.Reveal() != access:
				theirs = e.Grant
				return errKeep
			case now.Before(e.Renewing):
				wait = true
				return errKeep
			case e.Grant.Refresh.Empty():
				return errKeep
			}
			e.Renewing, mine = now.Add(renewTime), e.Grant
			return nil
		})
		switch {
		case err != nil:
			return nil, err
		case theirs != nil:
			c.use(theirs)
			return theirs, nil
		case mine != nil:
			return c.renewed(ctx, mine)
		case !wait:
			return nil, nil //nolint:nilnil // the grant is gone
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// renewed asks for new tokens and stores them. Once they have been asked for they are stored, also if the caller leaves.
func (c *Client) renewed(ctx context.Context, old *Grant) (*Grant, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime+5*time.Second)
	defer cancel()
	at := c.endpointsOf(old)
	t, failed := c.exchange(ctx, &at, "", url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh.Reveal()}, "resource": {old.Resource}, "code": nil,
	})
	code := codeOf(failed)
	ended := code == "invalid_grant" || code == "invalid_client" || code == "unauthorized_client"
	var g *Grant
	err := c.change(ctx, func(e *Entry) error {
		e.Renewing = time.Time{}
		if e.Grant == nil || e.Grant.Access.Reveal() != old.Access.Reveal() {
			return errKeep // it was revoked, or the user has signed in again
		}
		switch {
		case failed == nil:
			next := *old
			next.endpoints = at
			next.take(t, c.o.Now())
			e.Grant, g = &next, &next
		case ended:
			e.Grant, g = nil, nil
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case failed != nil && !ended:
		return nil, c.fault(event.ErrUnavailable, withCode("cannot be used: the user's grant could not be renewed", code),
			"try again later", nil)
	}
	if g != nil {
		c.use(g)
	}
	return g, nil
}

// endpointsOf returns the endpoints of a grant, with the secret that this client has now: it may have been changed since the user
// signed in.
func (c *Client) endpointsOf(g *Grant) endpoints {
	at := g.endpoints
	if c.o.ClientID == "" || c.o.ClientID != at.client || c.o.Issuer == "" || !sameIssuer(c.o.Issuer, g.Issuer) {
		return at
	}
	if at.secret.Empty() && !c.o.ClientSecret.Empty() {
		at.style = oauth2.AuthStyleInHeader
	}
	at.secret = c.o.ClientSecret
	return at
}

// take takes the tokens of an answer over. An answer without a refresh token keeps the one that there is.
func (g *Grant) take(t *oauth2.Token, now time.Time) {
	g.Access, g.Expires = secret.New(t.AccessToken), t.Expiry
	if t.ExpiresIn > 0 {
		g.Expires = now.Add(time.Duration(min(t.ExpiresIn, 1<<31)) * time.Second)
	}
	if t.RefreshToken != "" {
		g.Refresh = secret.New(t.RefreshToken)
	}
	if scopes, ok := t.Extra("scope").(string); ok && scopes != "" {
		g.Scopes = scopesIn(scopes)
	}
}

// exchange posts to the token endpoint. form replaces what the library sends; a nil value removes a field.
func (c *Client) exchange(ctx context.Context, e *endpoints, code string, form url.Values) (*oauth2.Token, error) {
	client := *c.http
	client.Transport = former{c.http.Transport, form}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &client)
	t, err := e.config().Exchange(ctx, code)
	switch {
	case err != nil:
		return nil, err
	case !strings.EqualFold(t.Type(), "bearer"), !sendable(t.AccessToken), len(t.RefreshToken) > longestToken:
		return nil, c.fault(event.ErrUnavailable, "cannot be signed in to: its authorization server sent a token that cannot be used",
			"tell its operator", nil)
	}
	return t, nil
}

// sendable reports whether a token can be sent in a header (RFC 6750, 2.1).
func sendable(token string) bool {
	return token != "" && len(token) <= longestToken && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// former changes the form of a token request: package oauth2 sends no resource when it renews a token.
type former struct {
	next http.RoundTripper
	form url.Values
}

// RoundTrip implements [http.RoundTripper].
func (f former) RoundTrip(r *http.Request) (*http.Response, error) {
	next := f.next
	if next == nil {
		next = http.DefaultTransport
	}
	if r.Method != http.MethodPost || r.Body == nil {
		return next.RoundTrip(r)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	for name, values := range f.form {
		form[name] = slices.Clone(values)
		if len(values) == 0 {
			form.Del(name)
		}
	}
	r = r.Clone(r.Context())
	text := form.Encode()
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	return next.RoundTrip(r)
}
