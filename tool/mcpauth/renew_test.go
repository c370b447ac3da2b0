package mcpauth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

// renewals counts the requests that renewed a grant.
func renewals(s *mcpauthtest.Site) (n int) {
	for _, call := range s.Calls() {
		if strings.HasSuffix(call, " refresh_token") {
			n++
		}
	}
	return n
}

// Of many requests in several processes one renews a grant. A second use of a refresh token would end it.
func TestOneRenewal(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true, ExpiresIn: 3600})
	store := mcpauth.Memory()
	var mu sync.Mutex
	now := time.Now()
	o := func(o *mcpauth.Options) {
		o.Store = store
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	}
	clients := []*mcpauth.Client{newClient(t, s, o), newClient(t, s, o), newClient(t, s, o)}
	signIn(t, s, clients[0], "ann")
	for _, c := range clients {
		wantUse(t, s, c, whoami, http.StatusOK)
	}
	for range 3 {
		s.Calls()
		mu.Lock()
		now = now.Add(time.Hour)
		mu.Unlock()
		var wait sync.WaitGroup
		for i := range 24 {
			wait.Go(func() {
				if code, err := knock(t.Context(), s, clients[i%3], whoami); err != nil || code != http.StatusOK {
					t.Errorf("%d, %v", code, err)
				}
			})
		}
		wait.Wait()
		if n := renewals(s); n != 1 {
			t.Errorf("%d renewals", n)
		}
	}
}

// A token that the server no longer takes is renewed once; then the user signs in again.
func TestATokenThatWasRevoked(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	now := time.Now()
	c := newClient(t, s, func(o *mcpauth.Options) { o.Now = func() time.Time { return now } })
	signIn(t, s, c, "ann")
	s.Revoke(false)
	wantUse(t, s, c, whoami, http.StatusOK)
	now = now.Add(2 * time.Minute)
	s.Revoke(true)
	if _, err := knock(t.Context(), s, c, whoami); !mcpauth.Needed(err) {
		t.Fatalf("want a sign-in: %v", err)
	}
	if g, err := c.Granted(t.Context()); g != nil || err != nil {
		t.Errorf("a grant that is gone is kept: %v, %v", g, err)
	}
	signIn(t, s, c, "ann")
	wantUse(t, s, c, whoami, http.StatusOK)
}

// A server that refuses every token is not renewed for ever.
func TestAServerThatRefusesEveryToken(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	c := newClient(t, s, nil)
	signIn(t, s, c, "ann")
	s.Set(func(r *mcpauthtest.Rules) {
		r.Before = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusUnauthorized); return true }
	})
	s.Calls()
	var err error
	for range 5 {
		_, err = knock(t.Context(), s, c, whoami)
	}
	if !mcpauth.Needed(err) {
		t.Errorf("want a sign-in: %v", err)
	}
	if n := renewals(s); n != 1 {
		t.Errorf("%d renewals", n)
	}
}

// While the authorization server is down, a token that is still good is used, and no grant is lost.
func TestAnAuthorizationServerThatIsDown(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true, ExpiresIn: 3600})
	now := time.Now()
	c := newClient(t, s, func(o *mcpauth.Options) { o.Now = func() time.Time { return now } })
	signIn(t, s, c, "ann")
	s.Set(func(r *mcpauthtest.Rules) {
		r.Token = func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "down: "+r.PostForm.Encode(), http.StatusBadGateway)
		}
	})
	now = now.Add(time.Hour - 10*time.Second)
	wantUse(t, s, c, whoami, http.StatusOK)
	now = now.Add(time.Minute)
	_, err := knock(t.Context(), s, c, whoami)
	if !errors.Is(err, event.ErrUnavailable) || mcpauth.Needed(err) {
		t.Fatalf("%v", err)
	}
	wantQuiet(t, s, err)
	s.Set(func(r *mcpauthtest.Rules) { r.Token = nil })
	wantUse(t, s, c, whoami, http.StatusOK)
}

// A caller that leaves in the middle loses no renewed grant.
func TestACallerThatLeaves(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true, ExpiresIn: 3600})
	now := time.Now()
	c := newClient(t, s, func(o *mcpauth.Options) { o.Now = func() time.Time { return now } })
	signIn(t, s, c, "ann")
	now = now.Add(time.Hour)
	ctx, leave := context.WithCancel(t.Context())
	s.Set(func(r *mcpauthtest.Rules) {
		r.Token = func(w http.ResponseWriter, r *http.Request) {
			leave()
			s.Set(func(r *mcpauthtest.Rules) { r.Token = nil })
			r.Body = http.NoBody // its form has been read
			s.Serve(w, r)
		}
	})
	_, _ = knock(ctx, s, c, whoami)
	wantUse(t, s, c, whoami, http.StatusOK)
}

// A revoked grant is gone here and there.
func TestRevoking(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	c := newClient(t, s, nil)
	signIn(t, s, c, "ann")
	told, err := c.Revoke(t.Context())
	if err != nil || !told {
		t.Fatalf("%v, %v", told, err)
	}
	if n := s.Live(); n != 0 {
		t.Errorf("the server still takes %d tokens", n)
	}
	if _, err := knock(t.Context(), s, c, whoami); !mcpauth.Needed(err) {
		t.Errorf("want a sign-in: %v", err)
	}
	if told, err := c.Revoke(t.Context()); told || err != nil {
		t.Errorf("revoking nothing: %v, %v", told, err)
	}
}
