package agentcore_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// oneKey is an API key that is good until it is revoked: its token is "key:" and scopes.
type oneKey struct {
	mu      sync.Mutex
	revoked bool
	gone    []func()
}

func (k *oneKey) Authenticate(_ context.Context, token string) (directory.Identity, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	scopes, ok := strings.CutPrefix(token, "key:")
	if !ok || k.revoked {
		return directory.Identity{}, &event.Error{Kind: event.ErrUnauthenticated}
	}
	i := directory.Identity{Tenant: "acme", Key: "one"}
	for s := range strings.SplitSeq(scopes, ",") {
		i.Scopes = append(i.Scopes, service.Scope(s))
	}
	return i, nil
}

func (k *oneKey) Watch(_ directory.Identity, gone func()) (stop func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = append(k.gone, gone)
	return func() {}
}

func (k *oneKey) revoke() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revoked = true
	for _, gone := range k.gone {
		gone()
	}
}

// The doors of AgentCore are the server's one door: the same keys, the same scopes, and
// what is open ends with the key.
func TestTheOneDoor(t *testing.T) {
	t.Parallel()
	key := &oneKey{}
	entry := door.New(secret.New(token), "default", key)
	s := open(t, func(_ *service.Options, o *agentcore.Options) { o.Token, o.Door = secret.Secret{}, entry })
	defer func() {
		close(s.gate) // for the runs, which go on
		s.ends(service.Principal{Tenant: "acme"}, event.RunCompleted)
	}()
	for _, c := range []struct {
		scopes string
		status int
	}{{"read,write", 200}, {"write", 200}, {"read", 403}, {"admin:read,admin:write,operator", 403}} {
		if a := s.say("hello", "Authorization", "Bearer key:"+c.scopes); a.code != c.status {
			t.Errorf("with %s: %d %s", c.scopes, a.code, a.body)
		}
	}
	if a := s.say("hello", "Authorization", "Bearer garbage"); a.code != 401 {
		t.Errorf("with garbage: %d", a.code)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	res, err := s.Client().Do(s.request(ctx, http.MethodPost, "/invocations", promptBody("use wait"), "Authorization", "Bearer key:write"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page := base64.RawURLEncoding.EncodeToString([]byte("key:write"))
	sockets := map[string]*websocket.DialOptions{
		"a program's": {HTTPHeader: http.Header{"Authorization": {"Bearer key:write"}}},
		"a page's":    {Subprotocols: []string{"base64UrlBearerAuthorization." + page, "base64UrlBearerAuthorization"}},
	}
	open := map[string]*websocket.Conn{}
	for name, o := range sockets {
		conn, _, err := s.dial("/ws", o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		open[name] = conn
	}
	talk(t, open["a program's"], promptBody("use wait"), `"toolUse"`)
	key.revoke()
	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(text), "revoked") {
		t.Errorf("the stream ends with %v: %s", err, text)
	}
	talk(t, open["a program's"], "", "revoked")
	for name, conn := range open {
		_, _, err := conn.Read(ctx)
		if e, ok := errors.AsType[websocket.CloseError](err); !ok || e.Code != websocket.StatusPolicyViolation {
			t.Errorf("%s socket ends with %v", name, err)
		}
		if _, _, err := s.dial("/ws", sockets[name]); err == nil {
			t.Errorf("%s socket opens again", name)
		}
	}
}
