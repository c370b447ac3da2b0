package agentcore_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/journal"
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
	refused []directory.Refused
}

func (k *oneKey) Refused(r directory.Refused) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refused = append(k.refused, r)
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
	if k.revoked {
		gone()
	}
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

// Whose key ends while the body arrives, or while another run is waited for, begins no run.
func TestAKeyThatEndsOnTheWayIn(t *testing.T) {
	t.Parallel()
	const container, front = "/invocations", "/runtimes/" + "arn%3Aaws%3Abedrock-agentcore%3Aus-east-1%3A123456789012%3Aruntime%2Fguide-0123456789" + "/invocations"
	body := promptBody("hello")
	hash := sigv4.Hash([]byte(body))
	for _, c := range []struct {
		name, path string
		// sign has a request signed with an AWS key; hash is that of the body in a header.
		sign bool
		hash string
		// locked has the request wait for another run, and not the server for its body.
		locked bool
		status int
	}{
		{"a bearer's, while the body arrives", container, false, "", false, 401},
		{"at AWS's door, while the body arrives", front, false, "", false, 403},
		{"a signature's with a hash, while the body arrives", front, true, hash, false, 403},
		{"a signature's, while the body arrives", front, true, "", false, 403},
		{"a bearer's, while another run is waited for", container, false, "", true, 401},
		{"at AWS's door, while another run is waited for", front, false, "", true, 403},
	} {
		for _, ends := range []bool{false, true} {
			t.Run(c.name+map[bool]string{true: ", ends", false: ", does not end"}[ends], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					key, gone := &oneKey{}, atomic.Bool{}
					gate, calls := make(chan struct{}), &atomic.Int64{}
					s := &site{t: t, gate: gate}
					svc, err := service.New(service.Options{
						Journal: &journal.Memory{}, Rows: &service.MemoryRows{}, LockWait: 5 * time.Second,
						Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
							return braid.New("guide", scripted{gate, calls}, s.tools()), nil
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					if err := svc.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					handler, err := agentcore.New(agentcore.Options{
						Service: svc, Runtime: arn, Door: door.New(secret.New(token), "acme", key),
						Keys: func(_ context.Context, id string) (agentcore.Key, bool) { return keys[id], !gone.Load() },
					})
					if err != nil {
						t.Fatal(err)
					}
					ask := func(auth string, body io.Reader) (*httptest.ResponseRecorder, chan struct{}) {
						r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+c.path, body)
						r.Header.Set("Authorization", "Bearer "+auth)
						r.Header.Set("Accept", "application/json")
						r.Header.Set(sessionHeader, session)
						if c.hash != "" {
							r.Header.Set("X-Amz-Content-Sha256", c.hash)
						}
						if c.sign {
							r = s.signed(r, promptBody("hello"), time.Now(), "us-east-1")
						}
						w, done := httptest.NewRecorder(), make(chan struct{})
						go func() {
							defer close(done)
							handler.ServeHTTP(w, r)
						}()
						synctest.Wait()
						return w, done
					}
					var first chan struct{}
					slow, send := io.Pipe()
					if c.locked {
						_, first = ask(token, strings.NewReader(promptBody("use wait")))
						go func() { _, _ = io.WriteString(send, body); _ = send.Close() }()
					}
					w, done := ask("key:write", slow)
					time.Sleep(3 * time.Second)
					if ends {
						gone.Store(true)
						key.revoke()
					}
					if !c.locked {
						if _, err := io.WriteString(send, body); err != nil {
							t.Error(err)
						}
						_ = send.Close()
					}
					synctest.Wait()
					if c.locked {
						gate <- struct{}{}
						<-first
					}
					<-done
					runs, want := 1, c.status
					if !ends {
						want = http.StatusOK
					}
					if ends && !c.locked {
						runs = 0
					} else if !ends && c.locked {
						runs = 2
					}
					s.service = svc
					if got := s.runsOf(service.Principal{Tenant: "acme"}); w.Code != want || got != runs {
						t.Errorf("answered with %d and %d runs, want %d and %d: %s", w.Code, got, want, runs, w.Body)
					}
					if err := errors.Join(svc.Drain(t.Context()), handler.Close(t.Context())); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
