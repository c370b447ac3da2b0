package mcpauth_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

// ours is a client with a secret that needs escapes.
const ourSecret = "canary secret:+/%&=é"

func confidential(t *testing.T, s *mcpauthtest.Site, store mcpauth.Store, key string) *mcpauth.Client {
	t.Helper()
	return newClient(t, s, func(o *mcpauth.Options) {
		o.ClientID, o.ClientSecret, o.Issuer, o.Store = "ours & yours", secret.New(key), s.Issuer, store
	})
}

// A client with a secret sends it as the authorization server's metadata says, when it signs in and when it renews.
func TestHowASecretIsSent(t *testing.T) {
	t.Parallel()
	for name, methods := range map[string][]string{
		"basic": {"client_secret_basic"}, "post": {"client_secret_post"}, "nothing said": nil,
		"both": {"client_secret_basic", "client_secret_post", "private_key_jwt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mcpauthtest.Start(t, mcpauthtest.Rules{Only: "ours & yours", Secret: ourSecret, Methods: methods})
			c := confidential(t, s, mcpauth.Memory(), ourSecret)
			signIn(t, s, c, "ann")
			s.Revoke(false)
			wantUse(t, s, c, whoami, http.StatusOK) // renewed
			if calls := strings.Join(s.Calls(), ", "); !strings.Contains(calls, "refresh_token") {
				t.Errorf("%s", calls)
			}
		})
	}
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Only: "ours & yours", Secret: ourSecret, Methods: []string{"private_key_jwt"}})
	if _, err := confidential(t, s, mcpauth.Memory(), ourSecret).Begin(t.Context(), ""); event.KindOf(err) != event.ErrUnsupported {
		t.Errorf("%v", err)
	}
}

// A secret that was changed renews the grants of users who signed in before.
func TestASecretThatChanges(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Only: "ours & yours", Secret: ourSecret, Methods: []string{"client_secret_basic"}})
	store := mcpauth.Memory()
	signIn(t, s, confidential(t, s, store, ourSecret), "ann")
	s.Set(func(r *mcpauthtest.Rules) { r.Secret = "canary second" })
	s.Revoke(false)
	c := confidential(t, s, store, "canary second")
	wantUse(t, s, c, whoami, http.StatusOK)
	list, n := c.Secrets()
	if n == 0 || len(list) < 3 {
		t.Errorf("%d %v", n, list)
	}
}
