package openapitool_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/netguard"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/openapitool"
)

const schemes = `"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"},"qkey":{"type":"apiKey","in":"query","name":"k"},
	"ckey":{"type":"apiKey","in":"cookie","name":"sid"},"bearer":{"type":"http","scheme":"bearer"},"basic":{"type":"http","scheme":"Basic"},
	"oauth":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"/token","scopes":{}}}}}`

func secured(requirement string) string {
	return document("3.0.3", `"/x":{"get":{"operationId":"x","security":[`+requirement+`],"parameters":[
		{"name":"X-Key","in":"header","schema":{"type":"string"}},{"name":"f","in":"query","schema":{"type":"object"}}],`+responses+`}}`, schemes)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	fill := func(_ context.Context, name string) secret.Secret {
		return map[string]secret.Secret{"TOKEN": secret.New("tok-12345678"), "EVIL": secret.New("a\r\nX: 1"), "NESTED": secret.New("${TOKEN}")}[name]
	}
	for _, c := range []struct {
		requirement string
		with        map[string]openapitool.Credential
		header      string
		want        string
	}{
		{`{"key":[]}`, map[string]openapitool.Credential{"key": {Token: secret.New("${TOKEN}")}}, "X-Key", "tok-12345678"},
		{`{"ckey":[]}`, map[string]openapitool.Credential{"ckey": {Token: secret.New("${TOKEN}")}}, "Cookie", "sid=tok-12345678"},
		{`{"bearer":[]}`, map[string]openapitool.Credential{"bearer": {Token: secret.New("a-${TOKEN}-b")}}, "Authorization", "Bearer a-tok-12345678-b"},
		{`{"bearer":[]}`, map[string]openapitool.Credential{"bearer": {Token: secret.New("${NESTED}")}}, "Authorization", "Bearer ${TOKEN}"},
		{`{"bearer":[]}`, map[string]openapitool.Credential{"bearer": {Token: secret.New(openapitool.Literal("a${TOKEN}$${b"))}}, "Authorization", "Bearer a${TOKEN}$${b"},
		{`{"basic":[]}`, map[string]openapitool.Credential{"basic": {User: "ann", Password: secret.New("pw")}}, "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:pw"))},
		{`{"basic":[]}`, map[string]openapitool.Credential{"basic": {User: "ann-${NESTED}", Password: secret.New("${TOKEN}")}}, "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("ann-${TOKEN}:tok-12345678"))},
		{`{"oauth":["a"]},{"key":[]}`, map[string]openapitool.Credential{"key": {Token: secret.New("second")}}, "X-Key", "second"},
		{`{"key":[],"bearer":[]},{"bearer":[]}`, map[string]openapitool.Credential{"bearer": {Token: secret.New("alone")}}, "X-Key", ""},
		{`{}`, map[string]openapitool.Credential{"bearer": {Token: secret.New("unused")}}, "Authorization", ""},
	} {
		doc := secured(c.requirement)
		s := serve(t, doc)
		api := load(t, doc, openapitool.Options{Server: s.URL, Credentials: c.with, Fill: fill})
		if _, err := call(t, api, "x", `{}`); err != nil {
			t.Errorf("%s: %v", c.requirement, err)
			continue
		}
		if got := s.request(t).Header.Get(c.header); got != c.want {
			t.Errorf("%s sends %s: %q, want %q", c.requirement, c.header, got, c.want)
		}
	}

	doc := secured(`{"qkey":[]}`)
	s := serve(t, doc)
	api := load(t, doc, openapitool.Options{Server: s.URL, Credentials: map[string]openapitool.Credential{"qkey": {Token: secret.New("${TOKEN}")}}, Fill: fill})
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "you said "+r.URL.Query().Get("k"))
	}
	out, err := call(t, api, "x", `{}`)
	if err != nil || text(out) != "you said [redacted]" {
		t.Errorf("the result is %q, %v", text(out), err)
	}
	if _, err := call(t, api, "x", `{"f":{"k":"mine"}}`); err == nil || !strings.Contains(err.Error(), "cannot be chosen") {
		t.Errorf("an argument replaced the credential: %v", err)
	}

	for value, want := range map[string]event.ErrorKind{"${NONE}": event.ErrUnauthenticated, "${EVIL}": event.ErrInvalid} {
		api := load(t, doc, openapitool.Options{Server: s.URL, Credentials: map[string]openapitool.Credential{"qkey": {Token: secret.New(value)}}, Fill: fill})
		before := s.n
		if _, err := call(t, api, "x", `{}`); !errors.Is(err, want) || s.n != before {
			t.Errorf("%s gives %v after %d requests", value, err, s.n-before)
		}
	}
	for name, with := range map[string]openapitool.Credential{
		"none": {Token: secret.New("x")}, "key": {User: "x", Token: secret.New("x")}, "qkey": {Token: secret.New("x"), Scopes: []string{"a"}},
		"ckey": {Token: secret.New("x"), ClientID: "x"}, "basic": {Token: secret.New("x")}, "bearer": {Token: secret.New("${")},
		"oauth": {ClientID: "x", ClientSecret: secret.New("y")}, // its address is relative to a document of which nobody knows where it is
	} {
		_, err := openapitool.Load([]byte(doc), openapitool.Options{Server: s.URL, Credentials: map[string]openapitool.Credential{name: with}})
		if !errors.Is(err, event.ErrInvalid) {
			t.Errorf("the credential %s gives %v", name, err)
		}
	}
}

// A credential is not an argument, and the header of a credential is not either.
func TestCredentialsAreNoArguments(t *testing.T) {
	t.Parallel()
	api := load(t, secured(`{"key":[]}`), openapitool.Options{
		Server: "https://a.example", Credentials: map[string]openapitool.Credential{"key": {Token: secret.New("${T}")}},
	})
	if s := string(find(t, api, "x").Spec().Schema); strings.Contains(s, "X-Key") {
		t.Error(s)
	}
	if _, err := call(t, api, "x", `{"X-Key":"mine"}`); err == nil {
		t.Error("the model chose the credential")
	}
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/openapi.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, secured(`{"oauth":[]}`)) })
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		id, pw, _ := r.BasicAuth()
		if id != "me" || pw != "sec/ret" && pw != "sec%2Fret" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "a b" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-number-%d","token_type":"bearer","expires_in":3600}`, asked.Add(1))
	})
	mux.HandleFunc("/x", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer token-number-1" && asked.Load() == 1 && r.URL.RawQuery == "" {
			_, _ = io.WriteString(w, "fine")
			return
		}
		if r.Header.Get("Authorization") == "Bearer token-number-2" {
			_, _ = io.WriteString(w, "again")
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	credential := openapitool.Credential{ClientID: "me", ClientSecret: secret.New("${S}"), Scopes: []string{"a", "b"}}
	pw := "sec/ret"
	api, err := openapitool.Open(t.Context(), s.URL+"/openapi.json", openapitool.Options{
		Credentials: map[string]openapitool.Credential{"oauth": credential},
		Fill:        func(context.Context, string) secret.Secret { return secret.New(pw) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close(); http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	for range 3 { // with one token
		if out, err := call(t, api, "x", `{}`); err != nil || text(out) != "fine" {
			t.Fatalf("%q, %v", text(out), err)
		}
	}
	if out, err := call(t, api, "x", `{"f":{"revoked":1}}`); err != nil || !out.IsError {
		t.Errorf("a refused token gives %q, %v", text(out), err)
	}
	if out, err := call(t, api, "x", `{}`); err != nil || text(out) != "again" {
		t.Errorf("after a refused token: %q, %v", text(out), err)
	}
	pw = "wrong-password"
	if _, err := call(t, api, "x", `{}`); !errors.Is(err, event.ErrUnauthenticated) || strings.Contains(err.Error(), pw) {
		t.Errorf("a wrong secret gives %v", err)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	doc := document("3.0.3", `"/":{"get":{"operationId":"get",`+responses+`},"post":{"operationId":"post",`+responses+`}}`, "")
	s := serve(t, doc)
	api := load(t, doc, openapitool.Options{Server: s.URL, MaxText: 40, MaxResponse: 1000})
	for _, c := range []struct {
		status        int
		media, answer string
		isError       bool
		want          string
		kind          event.ErrorKind
	}{
		{200, "application/json", `{"a":1}`, false, `{"a":1}`, ""},
		{204, "", "", false, "without content", ""},
		{200, "text/plain", strings.Repeat("x", 50), false, "[cut: the answer is 50 bytes long", ""},
		{200, "text/plain", strings.Repeat("x", 1001), true, "larger than 1000 bytes", ""},
		{400, "application/json", `{"why":"bad id"}`, true, "400 Bad Request.\n{\"why\":\"bad id\"}", ""},
		{404, "text/plain", "", true, "404 Not Found", ""},
		{302, "", "", true, "points to another address", ""},
		{429, "text/plain", "slow down", false, "slow down", event.ErrThrottled},
		{500, "text/html", "oops", false, "500 Internal Server Error: oops", event.ErrUnavailable},
		{501, "", "", true, "501", ""},
		{503, "", "", false, "503", event.ErrUnavailable},
	} {
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.media)
			w.Header().Set("Location", "https://elsewhere.example/")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.answer)
		}
		out, err := call(t, api, "get", `{}`)
		if c.kind != "" {
			e, _ := errors.AsType[*event.Error](err)
			if e == nil || e.Kind != c.kind || e.RetryAfter != 7*time.Second || !strings.Contains(e.Message, c.want) {
				t.Errorf("%d: %v", c.status, err)
			}
			continue
		}
		if err != nil || out.IsError != c.isError || !strings.Contains(text(out), c.want) {
			t.Errorf("%d: %q, error %v, %v", c.status, text(out), out.IsError, err)
		}
	}
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "\x89PNG\xff")
	}
	out, err := call(t, api, "get", `{}`)
	if _, ok := out.Content[0].(*event.Image); err != nil || !ok {
		t.Errorf("an image is %T, %v", out.Content[0], err)
	}
	s.Close()
	if _, err := call(t, api, "post", `{}`); !errors.Is(err, event.ErrUnavailable) || !strings.Contains(err.Error(), "may have taken effect") || strings.Contains(err.Error(), s.URL) {
		t.Errorf("without a server: %v", err)
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	doc := document("3.0.3", `"/":{"get":{"operationId":"get"},"head":{"operationId":"head"},"put":{"operationId":"put"},"delete":{"operationId":"delete"},
		"post":{"operationId":"post","parameters":[{"name":"idempotency-key","in":"header"}]},"patch":{"operationId":"patch"}}`, "")
	for name, want := range map[string]event.Effect{
		"get": event.EffectPure, "head": event.EffectPure, "put": event.EffectIdempotent, "delete": event.EffectIdempotent,
		"post": event.EffectUnsafe, "patch": event.EffectUnsafe,
	} {
		got := tool.TraitsOf(find(t, load(t, doc, openapitool.Options{Server: "https://a.example"}), name))
		if got.Effect != want || (got.Retry.Attempts == 3) != (want != event.EffectUnsafe) {
			t.Errorf("%s has %+v", name, got)
		}
	}
	s := serve(t, doc)
	api := load(t, doc, openapitool.Options{Server: s.URL, IdempotencyHeader: "Idempotency-Key"})
	post := find(t, api, "post")
	if got := tool.TraitsOf(post); got.Effect != event.EffectIdempotent || strings.Contains(string(post.Spec().Schema), "dempotency") {
		t.Errorf("with a key, post has %+v and %s", got, post.Spec().Schema)
	}
	ctx := tool.NewCall(t.Context(), nil, tool.Call{Conversation: "c", Run: "r", Step: "s"})
	var keys []string
	for range 2 {
		if _, err := post.Call(ctx, json.RawMessage(`{}`)); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, s.request(t).Header.Get("Idempotency-Key"))
	}
	if len(keys[0]) != 32 || keys[0] != keys[1] {
		t.Errorf("the keys are %q", keys)
	}
}

// In an agent, a read is repeated after 503 and a write is not.
func TestAnAgentRepeatsByEffect(t *testing.T) {
	t.Parallel()
	doc := document("3.0.3", `"/":{"get":{"operationId":"read",`+responses+`},"post":{"operationId":"write",`+responses+`}}`, "")
	for name, want := range map[string]int{"read": 3, "write": 1} {
		s := serve(t, doc)
		s.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
		api := load(t, doc, openapitool.Options{Server: s.URL, Retry: tool.Retry{Base: time.Millisecond, Max: time.Millisecond}})
		m, err := demo.New(demo.Replies("helper", []demo.Piece{demo.Call(name, `{}`)}, []demo.Piece{demo.Say("It failed.")}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := braid.New("helper", m, braid.From(api)).Run(t.Context(), "Go."); err != nil {
			t.Error(err)
		}
		if s.n != want {
			t.Errorf("%s was sent %d times", name, s.n)
		}
	}
}

// A model that has more than 50 operations of an API is not shown all of them.
func TestManyOperationsAreSearched(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{50: "op0 op1", 51: "find_tools"} {
		var paths []string
		for i := range n {
			paths = append(paths, fmt.Sprintf(`"/%d":{"get":{"operationId":"op%d",%s}}`, i, i, responses))
		}
		api := load(t, document("3.0.3", strings.Join(paths, ","), ""), openapitool.Options{Server: "http://127.0.0.1:1"})
		m, err := demo.New(demo.Replies("helper", []demo.Piece{demo.Say("Hello.")}))
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		watch := func(_ context.Context, e *hook.BeforeModel) error {
			for _, spec := range e.Request.Tools {
				shown = append(shown, spec.Name)
			}
			return nil
		}
		if _, err := braid.New("helper", m, braid.From(api), braid.On(watch)).Run(t.Context(), "Go."); err != nil {
			t.Error(err)
		}
		if got := strings.Join(shown, " "); !strings.HasPrefix(got+" ", want+" ") {
			t.Errorf("of %d operations the model is shown %.60s", n, got)
		}
	}
}

// Behind a guard, neither document nor server can be of the inside.
func TestBehindAGuard(t *testing.T) {
	t.Parallel()
	doc := document("3.0.3", `"/":{"get":{"operationId":"x",`+responses+`}}`, "")
	s := serve(t, doc)
	guard, err := netguard.New(netguard.Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	o := openapitool.Options{Server: s.URL, Transport: guard}
	if _, err := call(t, load(t, doc, o), "x", `{}`); !errors.Is(err, event.ErrPermission) || s.n != 0 {
		t.Errorf("a call gives %v after %d requests", err, s.n)
	}
	if _, err := openapitool.Open(t.Context(), s.URL, o); !errors.Is(err, event.ErrPermission) {
		t.Errorf("the document gives %v", err)
	}
}
