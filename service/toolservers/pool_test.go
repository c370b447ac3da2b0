package toolservers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
	"github.com/braidrun/braid/tool"
)

// sessionOf is the session in which a tool was called.
func sessionOf(t *testing.T, set *toolservers.Set, name string) string {
	t.Helper()
	_, session, _ := strings.Cut(call(t, toolOf(t, set, name), "{}"), "in session ")
	return session
}

// Only runs of one tenant with equal headers share a connection.
func TestRunsWithEqualHeadersShareAConnection(t *testing.T) {
	t.Parallel()
	web := newSite(t, overHTTP(offering(t, nil, &mcp.Tool{Name: "who"})))
	p := newPool(t, nil, web)
	acme, zeta := server("acme", "crm", web.URL, nil), server("zeta", "crm", web.URL, nil)
	first := sessionOf(t, setOf(t, p, nil, resolved(t, acme, "token-of-ann")), "crm___who")
	if again := sessionOf(t, setOf(t, p, nil, resolved(t, acme, "token-of-ann")), "crm___who"); again != first || first == "" {
		t.Errorf("the same token uses session %q and then %q", first, again)
	}
	later := *acme
	later.Version++
	born := *acme
	born.Life = "another"
	seen := []string{first}
	for name, r := range map[string]directory.ResolvedMCPServer{
		"another token": resolved(t, acme, "token-of-bob"), "another tenant": resolved(t, zeta, "token-of-ann"),
		"another version": resolved(t, &later, "token-of-ann"), "another life": resolved(t, &born, "token-of-ann"),
	} {
		session := sessionOf(t, setOf(t, p, nil, r), "crm___who")
		if slices.Contains(seen, session) {
			t.Errorf("%s shares the session %q", name, session)
		}
		seen = append(seen, session)
	}
	if n := p.Open(); n != 5 {
		t.Errorf("%d connections are open", n)
	}
}

// Each server gets its own headers and no other server's, also where many runs are at work.
func TestATokenReachesOnlyItsServer(t *testing.T) {
	t.Parallel()
	one := newSite(t, overHTTP(offering(t, nil, &mcp.Tool{Name: "who"})))
	two := newSite(t, overHTTP(offering(t, nil, &mcp.Tool{Name: "who"})))
	p := newPool(t, nil, one, two)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			tokens := map[string]secret.Secret{"one": secret.New(fmt.Sprint("canary-one-", i%4)), "two": secret.New(fmt.Sprint("canary-two-", i%4))}
			var list []directory.ResolvedMCPServer
			for id, web := range map[string]*site{"one": one, "two": two} {
				r, err := server("acme", id, web.URL, func(s *directory.MCPServer) {
					s.Headers = map[string]string{"Authorization": "Bearer ${" + id + "}", "X-Opaque": "v=${" + id + "};"}
				}).Resolve(tokens)
				if err != nil {
					t.Error(err)
				}
				list = append(list, r)
			}
			set, err := p.For(t.Context(), list, nil, nil, nil)
			if err != nil || len(set.Tools()) != 2 {
				t.Errorf("%v %+v", err, set)
				return
			}
			for _, tool := range set.Tools() {
				out, err := tool.Call(t.Context(), json.RawMessage("{}"))
				// The server repeats the token, and it is masked.
				if text := event.TextOf(out.Content); err != nil || strings.Contains(text, "canary") || !strings.Contains(text, secret.Redacted) {
					t.Errorf("%s says %q, %v", tool.Spec().Name, text, err)
				}
			}
		})
	}
	wait.Wait()
	for name, web := range map[string]*site{"one": one, "two": two} {
		got := web.values("Authorization")
		slices.Sort(got)
		if len(got) != 4 || slices.ContainsFunc(got, func(v string) bool { return !strings.HasPrefix(v, "Bearer canary-"+name) }) {
			t.Errorf("server %s got %q", name, got)
		}
	}
}

// A stored header is sent, and masked where the server repeats it, whatever its name is.
func TestSecretHeaders(t *testing.T) {
	t.Parallel()
	web := newSite(t, overHTTP(offering(t, nil, &mcp.Tool{Name: "who"})))
	p := newPool(t, nil, web)
	m := server("acme", "crm", web.URL, func(s *directory.MCPServer) {
		s.Headers = map[string]string{"X-Plain": "for everybody"}
		s.SecretHeaders = map[string]directory.StoredHeader{"Authorization": {}, "X-Opaque": {}}
	})
	set := setOf(t, p, stored{headers: map[string]secret.Secret{
		"Authorization": secret.New("canary-stored-header"), "X-Opaque": secret.New("canary-opaque"),
	}}, resolved(t, m, "x"))
	if text := call(t, toolOf(t, set, "crm___who"), "{}"); strings.Contains(text, "canary") || !strings.Contains(text, secret.Redacted) {
		t.Errorf("it says %q", text)
	}
	for name, want := range map[string]string{"Authorization": "canary-stored-header", "X-Opaque": "canary-opaque", "X-Plain": "for everybody"} {
		if got := web.values(name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s was sent as %q", name, got)
		}
	}
}

// A server that is down takes no tool away but its own; a required one is an error.
func TestAServerThatIsDown(t *testing.T) {
	t.Parallel()
	up := newSite(t, overHTTP(offering(t, nil, &mcp.Tool{Name: "who"})))
	down := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	locked := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	p := newPool(t, func(o *toolservers.Options) { o.RetryAfter = time.Hour }, up, down, locked)
	servers := []directory.ResolvedMCPServer{
		resolved(t, server("acme", "down", down.URL, nil), "canary-token"), resolved(t, server("acme", "locked", locked.URL, nil), "canary-token"),
		resolved(t, server("acme", "up", up.URL, nil), "canary-token"),
		{Server: directory.MCPServer{ID: "gone"}, Err: &event.Error{Kind: event.ErrUnavailable, Message: "there is no such MCP server"}},
	}
	set := setOf(t, p, nil, servers...)
	if got := namesOf(set); !slices.Equal(got, []string{"up___who"}) {
		t.Errorf("the tools are %v", got)
	}
	for i, want := range []struct{ status, reason string }{
		{"failed", "502"}, {"needs-auth", "credential"}, {"connected", ""}, {"failed", "there is no such MCP server"},
	} {
		got := set.ToolServers()[i]
		if got.Status != want.status || !strings.Contains(got.Reason, want.reason) || (got.Reason == "") != (want.reason == "") {
			t.Errorf("%+v, want %+v", got, want)
		}
		if strings.Contains(got.Reason, "canary") || strings.Contains(got.Reason, "127.0.0.1") {
			t.Errorf("the reason tells too much: %q", got.Reason)
		}
	}
	asked := down.requests()
	setOf(t, p, nil, servers...)
	if now := down.requests(); now != asked {
		t.Errorf("it was tried again at once, with %d requests", now-asked)
	}
	servers[0].Server.Required = true
	_, err := p.For(t.Context(), servers, nil, nil, nil)
	var e *event.Error
	if !errors.As(err, &e) || e.Kind != event.ErrUnavailable || e.Code != "MCP_SERVER_FAILED" || !strings.Contains(e.Message, `"down"`) {
		t.Errorf("a required one: %v", err)
	}
}

// After a while a server that has failed is tried again.
func TestAServerThatComesBack(t *testing.T) {
	t.Parallel()
	web := newSite(t, http.NotFoundHandler())
	p := newPool(t, func(o *toolservers.Options) { o.RetryAfter = time.Nanosecond }, web)
	r := resolved(t, server("acme", "crm", web.URL, nil), "x")
	if set := setOf(t, p, nil, r); len(set.Tools()) != 0 {
		t.Fatalf("the tools are %v", namesOf(set))
	}
	web.become(overHTTP(offering(t, nil, &mcp.Tool{Name: "who"})))
	if set := setOf(t, p, nil, r); len(set.Tools()) != 1 {
		t.Errorf("the tools are %v: %+v", namesOf(set), set.ToolServers())
	}
}

// A connection that was not used is closed; the next call opens it again.
func TestAnIdleConnectionIsClosedAndOpenedAgain(t *testing.T) {
	t.Parallel()
	web := newSite(t, overHTTP(offering(t, nil, &mcp.Tool{Name: "who"})))
	p := newPool(t, func(o *toolservers.Options) { o.Idle = time.Millisecond }, web)
	r := resolved(t, server("acme", "crm", web.URL, nil), "x")
	set := setOf(t, p, nil, r)
	eventually(t, "it is closed", func() bool { return p.Open() == 0 })
	if text := call(t, toolOf(t, set, "crm___who"), "{}"); !strings.HasPrefix(text, "who") {
		t.Errorf("it says %q", text)
	}
	p.Forget("acme")
	if n := p.Open(); n != 0 {
		t.Errorf("%d connections of an erased tenant are open", n)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// Connections are bounded: the one that was not used for the longest time goes first.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	web := newSite(t, overHTTP(offering(t, nil, &mcp.Tool{Name: "who"})))
	p := newPool(t, func(o *toolservers.Options) { o.Most = 2 }, web)
	m := server("acme", "crm", web.URL, nil)
	for i := range 5 {
		if set := setOf(t, p, nil, resolved(t, m, fmt.Sprint("token-", i))); len(set.Tools()) != 1 {
			t.Errorf("run %d has %+v", i, set.ToolServers())
		}
	}
	if n := p.Open(); n != 2 {
		t.Errorf("%d are open", n)
	}
}

// The list is read again after a while, and after a notice.
func TestAListThatChanges(t *testing.T) {
	t.Parallel()
	s := offering(t, nil, &mcp.Tool{Name: "first"})
	web := newSite(t, overHTTP(s))
	p := newPool(t, func(o *toolservers.Options) { o.ListEvery = time.Nanosecond }, web)
	r := resolved(t, server("acme", "crm", web.URL, nil), "x")
	old := setOf(t, p, nil, r)
	add(s, &mcp.Tool{Name: "second"})
	if got := namesOf(setOf(t, p, nil, r)); !slices.Equal(got, []string{"crm___first", "crm___second"}) {
		t.Errorf("the tools are %v", got)
	}
	if got := namesOf(old); !slices.Equal(got, []string{"crm___first"}) {
		t.Errorf("the tools of a run have become %v", got)
	}
}

// Overrides change what repeating a call does, and who may call.
func TestOverrides(t *testing.T) {
	t.Parallel()
	web := newSite(t, overHTTP(offering(t, nil, &mcp.Tool{Name: "get_one"}, &mcp.Tool{Name: "get_secret"}, &mcp.Tool{Name: "put"}, &mcp.Tool{Name: "other"})))
	p := newPool(t, nil, web)
	set := setOf(t, p, nil, resolved(t, server("acme", "crm", web.URL, func(s *directory.MCPServer) {
		s.Tools, s.Seconds = []string{"get_*", "put", "missing"}, 7
		s.Overrides = []directory.ToolOverride{
			{Tool: "get_*", Effect: event.EffectPure, Permission: directory.ToolAllow},
			{Tool: "put", Permission: directory.ToolAsk},
			{Tool: "get_secret", Permission: directory.ToolDeny},
		}
	}), "x"))
	effects := map[string]event.Effect{}
	for _, one := range set.Tools() {
		effects[one.Spec().Name] = tool.TraitsOf(one).Effect
		if d := tool.TraitsOf(one).Timeout; d != 7*time.Second {
			t.Errorf("%s may take %v", one.Spec().Name, d)
		}
	}
	if want := map[string]event.Effect{
		"crm___get_one": event.EffectPure, "crm___get_secret": event.EffectPure, "crm___put": event.EffectUnsafe,
	}; fmt.Sprint(effects) != fmt.Sprint(want) {
		t.Errorf("the effects are %v", effects)
	}
	allow, ask, deny := set.Permissions()
	if got := fmt.Sprint(allow, ask, deny); got != "[crm___get_one] [crm___put] [crm___get_secret]" {
		t.Errorf("the permissions are %s", got)
	}
	if skipped := set.ToolServers()[0].Skipped; len(skipped) != 1 || skipped[0].Tool != "missing" {
		t.Errorf("left out: %+v", skipped)
	}
}
