package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool/demotool"
)

// databases gives a PostgreSQL server where the environment asks for one.
var databases databasetest.Databases

func TestMain(m *testing.M) { os.Exit(databases.Main(m)) }

// guide is an agent that answers what it is told.
func guide(t *testing.T) *braid.Agent {
	t.Helper()
	return braid.New("guide", demo.Answer("guide", func(*model.Request) demo.Rule {
		return demo.Rule{Reply: []demo.Piece{demo.Say("Turn left.")}}
	}))
}

// site is a server that answers on a port of its own.
type site struct {
	*serve.Server

	t   *testing.T
	url string
	// end has it end, and returns what Serve does.
	end func() error
}

func open(t *testing.T, o serve.Options) *site {
	t.Helper()
	if o.Agent == nil && o.Agents == nil {
		o.Agent = guide(t)
	}
	s, err := serve.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	at := &site{Server: s, t: t, url: "http://" + l.Addr().String(), end: func() error {
		stop()
		err := <-done
		done <- err
		return err
	}}
	t.Cleanup(func() {
		if err := at.end(); err != nil {
			t.Error(err)
		}
	})
	return at
}

// ask sends a request and reads the whole answer. An empty token is the operator's; "none" sends none.
func (s *site) ask(token, method, path, body string) (status int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token == "" {
		token = s.Token().Reveal()
	}
	if token != "none" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	raw, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(raw)
}

// must is ask for a request that succeeds. It returns what stands under the name in the answer.
func (s *site) must(token, method, path, body, name string) string {
	s.t.Helper()
	status, answer := s.ask(token, method, path, body)
	var fields map[string]any
	if err := json.Unmarshal([]byte(answer), &fields); status >= 300 || err != nil {
		s.t.Fatalf("%s %s: %d %s (%v)", method, path, status, answer, err)
	}
	text, _ := fields[name].(string)
	return text
}

// One agent answers over the native API, over AgentCore's and to the page, and nobody else than who has the token.
func TestOneAgentOverThreeWires(t *testing.T) {
	t.Parallel()
	s := open(t, serve.Options{})
	conv := s.must("", "POST", "/v1/conversations", "{}", "id")
	if _, answer := s.ask("", "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Where to?"}`); !strings.Contains(answer, "Turn left.") {
		t.Errorf("the native API answers %s", answer)
	}
	if status, answer := s.ask("", "POST", "/invocations", `{"prompt":"Where to?"}`); status != 200 || !strings.Contains(answer, "contentBlockDelta") {
		t.Errorf("AgentCore answers %d %s", status, answer)
	}
	for path, has := range map[string]string{"/": "<html", "/page.js": "invocations", "/readyz": "ready", "/ping": "Healthy"} {
		if status, answer := s.ask("none", "GET", path, ""); status != 200 || !strings.Contains(answer, has) {
			t.Errorf("%s answers %d %.200s", path, status, answer)
		}
	}
	for _, path := range []string{"/v1/conversations", "/invocations"} {
		if status, _ := s.ask("none", "POST", path, "{}"); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", path, status)
		}
	}
	if status, answer := s.ask("", "GET", "/v1/admin/tenants", ""); status < 400 {
		t.Errorf("a server without tenants administers them: %d %s", status, answer)
	}
}

// With tenants each has its own keys and conversations.
func TestTenants(t *testing.T) {
	t.Parallel()
	s := open(t, serve.Options{Tenants: &directory.Options{}, Token: secret.New("operators-token-of-the-test")})
	keys := map[string]string{}
	for _, tenant := range []string{"acme", "umbrella"} {
		s.must("", "POST", "/v1/admin/tenants", `{"id":"`+tenant+`"}`, "id")
		keys[tenant] = s.must("", "POST", "/v1/admin/tenants/"+tenant+"/keys", `{"scopes":["read","write"]}`, "token")
	}
	conv := s.must(keys["acme"], "POST", "/v1/conversations", "{}", "id")
	_, said := s.ask(keys["acme"], "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Where to?"}`)
	if !strings.Contains(said, "Turn left.") {
		t.Errorf("it answers %s", said)
	}
	if status, _ := s.ask(keys["umbrella"], "GET", "/v1/conversations/"+conv, ""); status != http.StatusNotFound {
		t.Errorf("another tenant gets %d", status)
	}
	// The one agent takes no settings of tenants: they are refused, and not ignored.
	s.must("", "PATCH", "/v1/admin/tenants/acme", `{"system_prompt":"You work for Acme."}`, "id")
	status, answer := s.ask(keys["acme"], "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Where to?"}`)
	if status < 400 || !strings.Contains(answer, "settings of tenants") {
		t.Errorf("a tenant with a prompt of its own gets %d %s", status, answer)
	}
}

// A factory makes the agents that tenants describe, and what they refer to is checked against what it has.
func TestAgentsOfTenants(t *testing.T) {
	t.Parallel()
	m := demo.Answer("clerk", func(r *model.Request) demo.Rule {
		return demo.Rule{Reply: []demo.Piece{demo.Say(fmt.Sprintf("I was told %q and have %d tools.", r.Instructions, len(r.Tools)))}}
	})
	f, err := agents.New(t.Context(), agents.Options{Model: m, Tools: []braid.Tool{demotool.Clock(), demotool.Calculator()}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, serve.Options{Agents: f, Tenants: &directory.Options{}})
	s.must("", "POST", "/v1/admin/tenants", `{"id":"acme"}`, "id")
	const path = "/v1/admin/tenants/acme/agents"
	if status, answer := s.ask("", "POST", path, `{"id":"cook","tools":["stove"]}`); status < 400 || !strings.Contains(answer, "stove") {
		t.Errorf("an agent with a tool that there is not: %d %s", status, answer)
	}
	s.must("", "POST", path, `{"id":"clerk","instructions":"Be kind.","tools":["c*r"]}`, "id")
	key := s.must("", "POST", "/v1/admin/tenants/acme/keys", `{"scopes":["read","write"]}`, "token")
	conv := s.must(key, "POST", "/v1/conversations", `{"agent":"clerk"}`, "id")
	_, answer := s.ask(key, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Who are you?"}`)
	if !strings.Contains(answer, `I was told \"Be kind.\" and have 1 tools.`) {
		t.Errorf("the agent says %s", answer)
	}
}

// What is kept in a folder is there when the next server opens it.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, serve.Options{Store: serve.Folder(dir)})
	conv := first.must("", "POST", "/v1/conversations", "{}", "id")
	first.ask("", "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Where to?"}`)
	if _, err := serve.New(t.Context(), serve.Options{Agent: guide(t), Store: serve.Folder(dir)}); !errors.Is(err, event.ErrConflict) {
		t.Errorf("a second server on the same folder: %v", err)
	}
	if err := first.end(); err != nil {
		t.Fatal(err)
	}
	second := open(t, serve.Options{Store: serve.Folder(dir)})
	if _, answer := second.ask("", "GET", "/v1/conversations/"+conv+"/events", ""); !strings.Contains(answer, "Turn left.") {
		t.Errorf("the conversation is gone: %s", answer)
	}
}

// Servers that share a PostgreSQL database serve the same conversations.
func TestPostgres(t *testing.T) {
	t.Parallel()
	at := databases.Server(t)
	owner := at.URL(databasetest.Owner, "postgres")
	err := errors.Join(
		postgres.Migrate(t.Context(), postgres.Options{URL: owner}, databasetest.Guest),
		database.MigratePostgres(t.Context(), database.PostgresOptions{URL: owner}, databasetest.Guest),
	)
	if err != nil {
		t.Fatal(err)
	}
	o := serve.Options{Store: serve.Postgres(at.URL(databasetest.Guest, "postgres"))}
	first, second := open(t, o), open(t, o)
	conv := first.must("", "POST", "/v1/conversations", "{}", "id")
	first.ask("", "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Where to?"}`)
	if _, answer := second.ask("", "GET", "/v1/conversations/"+conv+"/events", ""); !strings.Contains(answer, "Turn left.") {
		t.Errorf("the other server answers %s", answer)
	}
	if _, answer := second.ask("", "GET", "/metrics", ""); !strings.Contains(answer, `pool="journal"`) {
		t.Errorf("the metrics tell nothing of the connections")
	}
}

// A forgotten Start is an error at once, on each wire and without one, and says what to do.
func TestAForgottenStart(t *testing.T) {
	t.Parallel()
	s, err := serve.New(t.Context(), serve.Options{Agent: guide(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://127.0.0.1"+path, bytes.NewReader([]byte(body)))
		r.Header.Set("Authorization", "Bearer "+s.Token().Reveal())
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	var conv struct{ ID string }
	if err := json.Unmarshal(ask("POST", "/v1/conversations", "{}").Body.Bytes(), &conv); err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{
		"/v1/conversations/" + conv.ID + "/runs": `{"user_input":"hi"}`,
		"/invocations":                           `{"prompt":"hi"}`,
	} {
		if w := ask("POST", path, body); w.Code < 500 || !strings.Contains(w.Body.String(), "call Start") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask("GET", "/readyz", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("it says that it is ready: %d", w.Code)
	}
	p := service.Principal{Tenant: service.DefaultTenant, Scopes: service.Scopes()}
	if _, err := s.Service().StartRun(t.Context(), p, conv.ID, service.RunRequest{Input: "hi"}); !errors.Is(err, event.ErrUnavailable) {
		t.Errorf("without HTTP: %v", err)
	}
	if err := s.Service().CancelRun(t.Context(), p, conv.ID, "run_x"); !errors.Is(err, event.ErrUnavailable) {
		t.Errorf("a run is cancelled: %v", err)
	}
	if _, err := s.Service().Answer(t.Context(), p, conv.ID, "q", []byte("true")); !errors.Is(err, event.ErrUnavailable) {
		t.Errorf("a question is answered: %v", err)
	}
}

// What is no server is refused when it is made or started.
func TestWrongServers(t *testing.T) {
	t.Parallel()
	agent := guide(t)
	for name, o := range map[string]serve.Options{
		"no agent":            {},
		"a broken agent":      {Agent: braid.New("", nil)},
		"two kinds of agents": {Agent: agent, Service: service.Options{Agent: service.OneAgent(agent)}},
		"a base path that is none": func() serve.Options {
			o := serve.Options{Agent: agent}
			o.API.Base = "a b"
			return o
		}(),
	} {
		if _, err := serve.New(t.Context(), o); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := serve.New(t.Context(), serve.Options{Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), "address") {
		t.Errorf("without an address: %v", err)
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("a server that is closed starts")
	}
}

// A program with an http.Server of its own starts and closes the server itself.
func TestAsAHandler(t *testing.T) {
	t.Parallel()
	s, err := serve.New(t.Context(), serve.Options{Agent: guide(t), APIOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("started twice: %v", err)
	}
	web := httptest.NewServer(s)
	at := &site{Server: s, t: t, url: web.URL}
	if status, _ := at.ask("", "POST", "/invocations", `{"prompt":"hi"}`); status != http.StatusNotFound {
		t.Errorf("AgentCore answers although it was left out: %d", status)
	}
	conv := at.must("", "POST", "/v1/conversations", "{}", "id")
	if _, answer := at.ask("", "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Where to?"}`); !strings.Contains(answer, "Turn left.") {
		t.Errorf("it answers %s", answer)
	}
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	web.Close()
}
