package mcpauth_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

// A user signs in with each way to be known to an authorization server.
func TestSigningIn(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		rules  mcpauthtest.Rules
		change func(o *mcpauth.Options)
		client string
	}{
		"registration": {mcpauthtest.Rules{Registers: true}, nil, "registered-"},
		"document": {
			mcpauthtest.Rules{Documents: true, Registers: true},
			func(o *mcpauth.Options) { o.ClientMetadataURL = "https://braid.example/client.json" }, "https://braid.example/client.json",
		},
		"registered client": {
			mcpauthtest.Rules{Only: "ours", Secret: "our secret"},
			func(o *mcpauth.Options) { o.ClientID, o.ClientSecret = "ours", secret.New("our secret") }, "ours",
		},
		"with an issuer": {mcpauthtest.Rules{Registers: true, NamesIssuer: true}, nil, "registered-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mcpauthtest.Start(t, one.rules)
			c := newClient(t, s, one.change)
			signIn(t, s, c, "ann")
			wantUse(t, s, c, whoami, http.StatusOK)
			g, err := c.Granted(t.Context())
			if err != nil || g == nil || g.Issuer != s.Issuer || g.Resource != s.URL {
				t.Fatalf("%+v, %v", g, err)
			}
			if c.Needed() {
				t.Error("the user is signed in, and needs to sign in")
			}
		})
	}
}

// Another process completes the sign-in, and a third one uses the grant.
func TestSigningInAcrossProcesses(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	store := mcpauth.Memory()
	with := func(o *mcpauth.Options) { o.Store = store }
	one, two, three := newClient(t, s, with), newClient(t, s, with), newClient(t, s, with)
	if _, err := knock(t.Context(), s, one, whoami); !mcpauth.Needed(err) {
		t.Fatal(err)
	}
	l, err := one.Begin(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	again, err := two.Begin(t.Context(), "b")
	if err != nil || again.URL != l.URL {
		t.Fatalf("a second sign-in begins: %v", err)
	}
	a, err := mcpauth.ParseAnswer(s.Approve(t, l.URL, "ann"))
	if err != nil {
		t.Fatal(err)
	}
	done, err := two.Complete(t.Context(), a)
	if err != nil || !slices.Equal(done.For, []string{"a", "b"}) {
		t.Fatalf("%v, %v", done, err)
	}
	wantUse(t, s, three, whoami, http.StatusOK)
	wantUse(t, s, one, whoami, http.StatusOK)
}

// A server that wants more gets it, and what was granted before stays.
func TestStepUp(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	c := newClient(t, s, nil)
	signIn(t, s, c, "ann")
	if _, err := knock(t.Context(), s, c, write); !mcpauth.Needed(err) {
		t.Fatalf("nobody is asked for more: %v", err)
	}
	l, err := c.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"read", "write", "offline_access"} {
		if !slices.Contains(l.Scopes, scope) {
			t.Errorf("the scope %s is not asked for: %v", scope, l.Scopes)
		}
	}
	if err := complete(t.Context(), c, s.Approve(t, l.URL, "ann")); err != nil {
		t.Fatal(err)
	}
	wantUse(t, s, c, write, http.StatusOK)
}

// A server that always wants more than it got is not asked for again and again.
func TestAServerThatIsNeverContent(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	c := newClient(t, s, nil)
	signIn(t, s, c, "ann")
	s.Set(func(r *mcpauthtest.Rules) {
		r.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="read"`)
			w.WriteHeader(http.StatusForbidden)
			return true
		}
	})
	wantUse(t, s, c, write, http.StatusForbidden)
}

// What authorization servers, MCP servers and other people can send is refused, without a word of it.
func TestAttacks(t *testing.T) {
	t.Parallel()
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"issuer":"`)
		for range 100 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}
	var hops atomic.Int64
	circle := func(w http.ResponseWriter, r *http.Request) {
		hops.Add(1)
		http.Redirect(w, r, r.URL.Path+"?x", http.StatusFound)
	}
	metadata := func(m string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			base := "http://" + r.Host + "/as"
			_, _ = io.WriteString(w, strings.ReplaceAll(m, "BASE", base))
		}
	}
	const rest = `"issuer":"BASE","token_endpoint":"BASE/token","registration_endpoint":"BASE/register","code_challenge_methods_supported":["S256"]`
	for name, one := range map[string]struct {
		rules  mcpauthtest.Rules
		answer func(back string) string
		client func(o *mcpauth.Options)
		kind   event.ErrorKind
	}{
		"metadata of another issuer":  {rules: mcpauthtest.Rules{Registers: true, ClaimsIssuer: "https://good.example"}, kind: event.ErrUnavailable},
		"endless metadata":            {rules: mcpauthtest.Rules{Meta: endless}, kind: event.ErrUnavailable},
		"metadata that goes round":    {rules: mcpauthtest.Rules{Meta: circle}, kind: event.ErrUnavailable},
		"metadata without PKCE":       {rules: mcpauthtest.Rules{Meta: metadata(`{"issuer":"BASE","authorization_endpoint":"BASE/authorize","token_endpoint":"BASE/token"}`)}, kind: event.ErrUnavailable},
		"PKCE with plain only":        {rules: mcpauthtest.Rules{Meta: metadata(`{"issuer":"BASE","authorization_endpoint":"BASE/authorize","token_endpoint":"BASE/token","code_challenge_methods_supported":["plain"]}`)}, kind: event.ErrUnsupported},
		"a link that is a script":     {rules: mcpauthtest.Rules{Meta: metadata(`{"authorization_endpoint":"javascript:alert(1)",` + rest + `}`)}, kind: event.ErrUnavailable},
		"a link without TLS":          {rules: mcpauthtest.Rules{Meta: metadata(`{"authorization_endpoint":"http://good.example/a",` + rest + `}`)}, kind: event.ErrUnavailable},
		"a link with our parameters":  {rules: mcpauthtest.Rules{Meta: metadata(`{"authorization_endpoint":"BASE/authorize?redirect_uri=https://evil.example",` + rest + `}`)}, kind: event.ErrUnavailable},
		"no metadata":                 {rules: mcpauthtest.Rules{Meta: http.NotFound}, kind: event.ErrUnavailable},
		"nobody registers":            {rules: mcpauthtest.Rules{}, kind: event.ErrUnsupported},
		"a client of another issuer":  {client: func(o *mcpauth.Options) { o.ClientID, o.Issuer = "ours", "https://good.example" }, kind: event.ErrPermission},
		"an answer of another issuer": {rules: mcpauthtest.Rules{Registers: true, Says: "https://good.example"}, kind: event.ErrUnauthenticated},
		"an answer without its issuer": {
			rules:  mcpauthtest.Rules{Registers: true, NamesIssuer: true},
			answer: func(back string) string { return without(back, "iss") }, kind: event.ErrUnauthenticated,
		},
		"another state":    {rules: mcpauthtest.Rules{Registers: true}, answer: func(back string) string { return with(back, "state", "guessed") }, kind: event.ErrNotFound},
		"no state":         {rules: mcpauthtest.Rules{Registers: true}, answer: func(back string) string { return without(back, "state") }, kind: event.ErrInvalid},
		"two codes":        {rules: mcpauthtest.Rules{Registers: true}, answer: func(back string) string { return back + "&code=other" }, kind: event.ErrInvalid},
		"another's code":   {rules: mcpauthtest.Rules{Registers: true}, answer: func(back string) string { return with(back, "code", "of-another") }, kind: event.ErrUnavailable},
		"no code":          {rules: mcpauthtest.Rules{Registers: true}, answer: func(back string) string { return without(back, "code") }, kind: event.ErrPermission},
		"an odd error":     {rules: mcpauthtest.Rules{Registers: true}, answer: func(back string) string { return with(back, "error", "<b>CANARY</b>") }, kind: event.ErrPermission},
		"a token in HTML":  {rules: mcpauthtest.Rules{Registers: true, Token: tokens(`{"access_token":"CANARY\u000aX: y","token_type":"bearer"}`)}, kind: event.ErrUnavailable},
		"a bound token":    {rules: mcpauthtest.Rules{Registers: true, Token: tokens(`{"access_token":"CANARY","token_type":"DPoP"}`)}, kind: event.ErrUnavailable},
		"an endless token": {rules: mcpauthtest.Rules{Registers: true, Token: endless}, kind: event.ErrUnavailable},
		"a token elsewhere": {rules: mcpauthtest.Rules{Registers: true, Token: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/CANARY", http.StatusTemporaryRedirect)
		}}, kind: event.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mcpauthtest.Start(t, one.rules)
			c := newClient(t, s, one.client)
			_, err := knock(t.Context(), s, c, whoami)
			if !mcpauth.Needed(err) {
				t.Fatal(err)
			}
			l, err := c.Begin(t.Context(), "")
			if err == nil {
				back := s.Approve(t, l.URL, "ann")
				if one.answer != nil {
					back = one.answer(back)
				}
				err = complete(t.Context(), c, back)
			}
			if !errors.Is(err, one.kind) {
				t.Fatalf("%v, want %v", err, one.kind)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), "CANARY") {
					t.Errorf("%q repeats the server", e.Error())
				}
			}
			wantQuiet(t, s, err)
			if g, err := c.Granted(t.Context()); g != nil || err != nil {
				t.Errorf("there is a grant: %v, %v", g, err)
			}
			t.Log(err)
		})
	}
	t.Cleanup(func() {
		if n := hops.Load(); n > 10 {
			t.Errorf("%d requests went round", n)
		}
	})
}

func tokens(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func with(back, name, value string) string {
	u, _ := url.Parse(back)
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func without(back, name string) string {
	u, _ := url.Parse(back)
	q := u.Query()
	q.Del(name)
	u.RawQuery = q.Encode()
	return u.String()
}

// A grant is for the address at which the user signed in. A server that moves does not get it.
func TestAServerThatMoves(t *testing.T) {
	t.Parallel()
	s, evil := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true}), mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	store := mcpauth.Memory()
	c := newClient(t, s, func(o *mcpauth.Options) { o.Store, o.Key = store, "docs" })
	signIn(t, s, c, "ann")
	var got []string
	evil.Set(func(r *mcpauthtest.Rules) {
		r.Before = func(_ http.ResponseWriter, r *http.Request) bool {
			got = append(got, r.Header.Get("Authorization"))
			return false
		}
	})
	moved := newClient(t, evil, func(o *mcpauth.Options) { o.Store, o.Key = store, "docs" })
	if _, err := knock(t.Context(), evil, moved, whoami); !mcpauth.Needed(err) {
		t.Errorf("want a sign-in: %v", err)
	}
	if strings.Join(got, "") != "" {
		t.Errorf("the other server got %q", got)
	}
}

// An answer counts once, and not for another user, and not after its time.
func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	s := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	store := mcpauth.Memory()
	ann := newClient(t, s, func(o *mcpauth.Options) { o.Store, o.Key = store, "ann" })
	bob := newClient(t, s, func(o *mcpauth.Options) { o.Store, o.Key = store, "bob" })
	for _, c := range []*mcpauth.Client{ann, bob} {
		if _, err := c.Begin(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	l, err := ann.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	back := s.Approve(t, l.URL, "ann")
	if err := complete(t.Context(), bob, back); !errors.Is(err, event.ErrNotFound) {
		t.Fatalf("bob takes ann's answer: %v", err)
	}
	if err := complete(t.Context(), ann, back); err != nil {
		t.Fatal(err)
	}
	if err := complete(t.Context(), ann, back); !errors.Is(err, event.ErrNotFound) {
		t.Fatalf("an answer counts twice: %v", err)
	}
	if g, err := bob.Granted(t.Context()); g != nil || err != nil {
		t.Fatalf("bob has a grant: %v", err)
	}

	now := time.Now()
	late := newClient(t, s, func(o *mcpauth.Options) { o.Now = func() time.Time { return now } })
	if l, err = late.Begin(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	back = s.Approve(t, l.URL, "ann")
	now = now.Add(31 * time.Minute)
	if err := complete(t.Context(), late, back); !errors.Is(err, event.ErrNotFound) {
		t.Fatalf("an answer counts after its time: %v", err)
	}
	if next, err := late.Begin(t.Context(), ""); err != nil || next.URL == l.URL {
		t.Fatalf("a sign-in that has ended goes on: %v", err)
	}
}

// Options that cannot be meant are refused.
func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := mcpauth.Options{Server: "docs", URL: "https://mcp.example/mcp", Redirect: redirect, Store: mcpauth.Memory()}
	for name, change := range map[string]func(o *mcpauth.Options){
		"no address":        func(o *mcpauth.Options) { o.URL = "" },
		"a file":            func(o *mcpauth.Options) { o.URL = "file:///etc/passwd" },
		"no redirect":       func(o *mcpauth.Options) { o.Redirect = "" },
		"a script":          func(o *mcpauth.Options) { o.Redirect = "javascript:alert(1)" },
		"a fragment":        func(o *mcpauth.Options) { o.Redirect += "#x" },
		"no store":          func(o *mcpauth.Options) { o.Store = nil },
		"a root document":   func(o *mcpauth.Options) { o.ClientMetadataURL = "https://braid.example/" },
		"a plain document":  func(o *mcpauth.Options) { o.ClientMetadataURL = "http://braid.example/client.json" },
		"a secret of no id": func(o *mcpauth.Options) { o.ClientSecret = secret.New("x") },
	} {
		o := good
		change(&o)
		if _, err := mcpauth.New(o); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mcpauth.New(good); err != nil {
		t.Error(err)
	}
}
