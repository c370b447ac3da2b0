package agentcore_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// lines collects a log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// What AgentCore's doors refuse for want of authority is counted for the audit, with whose credential it was, and
// the log says whose request each was.
func TestRefusedInvocations(t *testing.T) {
	t.Parallel()
	key, log := &oneKey{}, &lines{}
	entry := door.New(secret.New(token), "default", key)
	s := open(t, func(_ *service.Options, o *agentcore.Options) {
		o.Token, o.Door, o.Log = secret.Secret{}, entry, slog.New(slog.NewJSONHandler(log, nil))
	})
	const good = "Bearer key:read,write"
	s.say("hello", "Authorization", good, aUser, "ann").has(t, 200)
	at := "/runtimes/" + encoded(arn) + "/invocations"
	door := "POST /runtimes/{arn}/invocations"
	for _, c := range []struct {
		name    string
		ask     func()
		counted directory.Refused
	}{
		{
			"garbage", func() { s.say("hello", "Authorization", "Bearer garbage").has(t, 401) },
			directory.Refused{Status: 401, Code: "AccessDeniedException", Route: "POST /invocations", Path: "/invocations"},
		},
		{
			"a scope too few", func() { s.say("hello", "Authorization", "Bearer key:read").has(t, 403) },
			directory.Refused{
				By: directory.By{Tenant: "acme", Key: "one"}, Status: 403, Code: "SCOPE_MISSING", Route: "POST /invocations", Path: "/invocations",
			},
		},
		{
			"another user's session", func() { s.say("hello", "Authorization", good, aUser, "bob").has(t, 404) },
			directory.Refused{
				By:     directory.By{Tenant: "acme", Key: "one", User: "bob"},
				Status: 404, Code: "NOT_FOUND", Route: "POST /invocations", Path: "/invocations",
			},
		},
		{
			"another user's session, over a WebSocket", func() {
				conn, _, err := s.dial("/ws", &websocket.DialOptions{
					HTTPHeader: http.Header{"Authorization": {good}, aUser: {"bob"}, sessionHeader: {session}},
				})
				if err != nil {
					t.Fatal(err)
				}
				talk(t, conn, promptBody("hello"), "there is no such session")
			},
			directory.Refused{By: directory.By{Tenant: "acme", Key: "one", User: "bob"}, Status: 404, Code: "NOT_FOUND", Route: "GET /ws", Path: "/ws"},
		},
		{
			"no signature", func() { s.ask(http.MethodPost, at, promptBody("hello"), "Authorization", "").has(t, 403) },
			directory.Refused{Status: 403, Code: "MissingAuthenticationTokenException", Route: door},
		},
	} {
		key.mu.Lock()
		before := len(key.refused)
		key.mu.Unlock()
		c.ask()
		key.mu.Lock()
		got := key.refused[before:]
		key.mu.Unlock()
		if len(got) != 1 {
			t.Errorf("%s is counted as %+v", c.name, got)
			continue
		}
		r := got[0]
		if c.counted.Path == "" {
			r.Path = ""
		}
		if r.Request == "" || r.Status != c.counted.Status || r.Code != c.counted.Code || r.Route != c.counted.Route || r.Path != c.counted.Path ||
			r.By.Tenant != c.counted.By.Tenant || r.By.Key != c.counted.By.Key || r.By.User != c.counted.By.User {
			t.Errorf("%s is counted as %+v, want %+v", c.name, r, c.counted)
		}
		if r.Route == "GET /ws" {
			continue // its line comes when it is closed
		}
		var line map[string]any
		for text := range strings.SplitSeq(log.String(), "\n") {
			if strings.Contains(text, r.Request) && strings.Contains(text, `"msg":"request"`) {
				if err := json.Unmarshal([]byte(text), &line); err != nil {
					t.Fatal(err)
				}
			}
		}
		for name, want := range map[string]string{"tenant": r.By.Tenant, "key": r.By.Key, "user": r.By.User, "code": r.Code} {
			if got, _ := line[name].(string); got != want {
				t.Errorf("%s: the line's %s is %q, want %q, in %v", c.name, name, got, want, line)
			}
		}
	}
	if text := log.String(); strings.Contains(text, "key:read") || !strings.Contains(text, `"conversation":"conv_`) || !strings.Contains(text, `"run":"run_`) {
		t.Errorf("the log is %s", text)
	}
}
