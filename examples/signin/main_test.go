package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcptool"
)

// Braid signs in to the server; what the authorization server has not given is refused.
func TestSigningIn(t *testing.T) {
	t.Parallel()
	var site http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { site.ServeHTTP(w, r) }))
	defer web.Close()
	site = newSite(web.URL)
	s, err := mcptool.Reach(t.Context(), mcptool.Options{SignIn: mcptool.SignInWith(mcpauth.Options{
		Redirect: "http://127.0.0.1:1/oauth/callback", Store: mcpauth.Memory(),
	})}, mcptool.Config{Name: "docs", URL: web.URL + "/mcp", OAuth: &mcptool.OAuth{
		ClientID: clientID, ClientSecret: secret.New(clientSecret), Issuer: web.URL,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := s.BeginSignIn(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]string{
		"another client": strings.Replace(in.URL, clientID, "other", 1), "another place": strings.Replace(in.URL, "127.0.0.1%3A1", "evil.example", 1),
	} {
		if status, _ := follow(t, link); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
	status, back := follow(t, in.URL)
	if status != http.StatusFound {
		t.Fatalf("%d", status)
	}
	if _, err := s.CompleteSignIn(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	s.Refresh(t.Context())
	for _, one := range s.Tools() {
		if one.Spec().Name != "whoami" {
			continue
		}
		if out, err := one.Call(t.Context(), nil); err != nil || event.TextOf(out.Content) != "you are ann" {
			t.Errorf("%+v %v", out, err)
		}
		return
	}
	t.Errorf("there is no tool: %+v", s.Status())
}

// follow opens a link, and returns where it leads.
func follow(t *testing.T, link string) (status int, to string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Location")
}

// It signs everybody in, so it serves this machine only.
func TestLoopbackOnly(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), "0.0.0.0:0"); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := run(ctx, "127.0.0.1:0"); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
