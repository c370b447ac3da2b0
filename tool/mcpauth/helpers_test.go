package mcpauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

const redirect = "http://127.0.0.1:7777/callback"

// newClient returns a client for a site, with a store in memory unless change sets another one.
func newClient(t *testing.T, s *mcpauthtest.Site, change func(o *mcpauth.Options)) *mcpauth.Client {
	t.Helper()
	o := mcpauth.Options{Server: "docs", URL: s.URL, Redirect: redirect, Store: mcpauth.Memory(), Transport: s.Client.Transport}
	if change != nil {
		change(&o)
	}
	c, err := mcpauth.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// knock sends a request with the client's token, as the SDK does, and returns its status. A refusal goes to the client, and
// the request is made once more.
func knock(ctx context.Context, s *mcpauthtest.Site, c *mcpauth.Client, body string) (int, error) {
	for again := false; ; again = true {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		from, err := c.TokenSource(ctx)
		if err != nil {
			return 0, err
		}
		token, err := from.Token()
		if err != nil {
			return 0, err
		}
		if token != nil {
			r.Header.Set("Authorization", "Bearer "+token.AccessToken)
		}
		resp, err := s.Client.Do(r)
		if err != nil {
			return 0, err
		}
		if code := resp.StatusCode; again || code != http.StatusUnauthorized && code != http.StatusForbidden {
			return code, resp.Body.Close()
		}
		if err := c.Authorize(ctx, r, resp); err != nil {
			return resp.StatusCode, err
		}
	}
}

const (
	whoami = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`
	write  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{}}}`
)

// signIn signs a user in, and returns the address that the browser was sent back to.
func signIn(t *testing.T, s *mcpauthtest.Site, c *mcpauth.Client, user string) string {
	t.Helper()
	if _, err := knock(t.Context(), s, c, whoami); !mcpauth.Needed(err) {
		t.Fatalf("the server does not ask for a sign-in: %v", err)
	}
	l, err := c.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	back := s.Approve(t, l.URL, user)
	if err := complete(t.Context(), c, back); err != nil {
		t.Fatal(err)
	}
	return back
}

func complete(ctx context.Context, c *mcpauth.Client, back string) error {
	a, err := mcpauth.ParseAnswer(back)
	if err != nil {
		return err
	}
	_, err = c.Complete(ctx, a)
	return err
}

// wantUse checks that the client's requests get this status.
func wantUse(t *testing.T, s *mcpauthtest.Site, c *mcpauth.Client, body string, status int) {
	t.Helper()
	if got, err := knock(t.Context(), s, c, body); err != nil || got != status {
		t.Fatalf("the server answers %d, %v; want %d", got, err, status)
	}
}

// wantQuiet checks that nothing of a site's tokens and codes is in a value, however it is printed.
func wantQuiet(t *testing.T, s *mcpauthtest.Site, values ...any) {
	t.Helper()
	for _, v := range values {
		texts := []string{fmt.Sprintf("%v", v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v)}
		for err, ok := v.(error); ok && err != nil; err = errors.Unwrap(err) {
			texts = append(texts, err.Error())
		}
		for _, token := range s.Tokens() {
			for _, text := range texts {
				if strings.Contains(text, token) || strings.Contains(text, strings.TrimPrefix(token, "refresh-")) {
					t.Errorf("%q is in %q", token, text)
				}
			}
		}
	}
}
