package models

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/secret"
)

// tokens is Google's server of tokens. It takes assertions and refresh tokens.
type tokens struct {
	*httptest.Server
	asked   atomic.Int32
	expires int
}

func tokenServer(t *testing.T) *tokens {
	t.Helper()
	s := &tokens{expires: 3600}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.ParseForm() != nil, r.URL.Path == "/redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case r.URL.Path != "/token":
			fmt.Fprintf(w, `{"access_token":"ya29.elsewhere","expires_in":3600}`)
		case r.Form.Get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" && strings.Count(r.Form.Get("assertion"), ".") == 2,
			r.Form.Get("grant_type") == "refresh_token" && r.Form.Get("refresh_token") == "1//refresh":
			fmt.Fprintf(w, `{"access_token":%q,"expires_in":%d,"token_type":"Bearer"}`, geminitest.Token, s.expires)
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

var accountKey = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err.Error()
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err.Error()
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

// credentialFile writes a file of credentials.
func credentialFile(t *testing.T, members map[string]any) string {
	t.Helper()
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// account is a file of a service account.
func account(t *testing.T, tokenURL string) string {
	t.Helper()
	return credentialFile(t, map[string]any{
		"type": "service_account", "client_email": "a@p.iam.gserviceaccount.com", "private_key": accountKey(), "private_key_id": "1",
		"token_uri": tokenURL, "project_id": "of-the-file",
	})
}

// vertexGateway is Vertex AI for both of its publishers. It takes the token of tokenServer.
func vertexGateway(t *testing.T, asked *[]*http.Request) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a body that breaks off is the client's
		mu.Lock()
		*asked = append(*asked, r)
		mu.Unlock()
		express := r.Header.Get("X-Goog-Api-Key") == "express"
		switch {
		case r.Header.Get("Authorization") != "Bearer "+geminitest.Token && !express:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `[{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}]`)
		case strings.HasSuffix(r.URL.Path, "/publishers/google/models/gemini-3.6-flash:streamGenerateContent"):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, geminitest.Text("Yes.").Body)
		case strings.HasSuffix(r.URL.Path, "/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict"):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-5-5\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"+
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"+
				"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Yes.\"}}\n\n"+
				"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"+
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n"+
				"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
		default:
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Gemini and Claude are asked on Vertex AI with a service account's token, which is
// fetched once and kept.
func TestVertex(t *testing.T) {
	t.Parallel()
	tokens := tokenServer(t)
	var asked []*http.Request
	gateway := vertexGateway(t, &asked)
	for ref, want := range map[string]struct{ path, name string }{
		"vertex":                         {"/v1beta1/projects/of-the-file/locations/global/publishers/google/models/gemini-3.6-flash:streamGenerateContent", "vertex:gemini-3.6-flash"},
		"vertex:google/gemini-3.6-flash": {"/v1beta1/projects/of-the-file/locations/global/publishers/google/models/gemini-3.6-flash:streamGenerateContent", "vertex:google/gemini-3.6-flash"},
		"vertex:gemini-3.6-flash?project=mine&location=europe-west4&effort=low&level=high&thoughts=no&top_p=0.5&seed=1": {"/v1beta1/projects/mine/locations/europe-west4/publishers/google/models/gemini-3.6-flash:streamGenerateContent", "vertex:gemini-3.6-flash"},
		"vertex:claude-sonnet-5-5?location=eu":        {"/v1/projects/of-the-file/locations/eu/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict", ""},
		"vertex:anthropic/claude-sonnet-5-5?stall=1m": {"/v1/projects/of-the-file/locations/global/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict", ""},
	} {
		asked = nil
		before := tokens.asked.Load()
		vars := env(googleFile, account(t, tokens.URL+"/token"), "GOOGLE_VERTEX_BASE_URL", gateway.URL, googleQuota, "payer")
		m, err := openIn(vars, ref)
		if err != nil {
			t.Fatal(ref, err)
		}
		if tokens.asked.Load() != before || len(asked) != 0 {
			t.Errorf("%s: opening it asks the network", ref)
		}
		if name := m.Info().Name; want.name != "" && name != want.name {
			t.Errorf("%s is called %s", ref, name)
		}
		for range 3 {
			if err := ask(t.Context(), m, hello); err != nil {
				t.Fatal(ref, err)
			}
		}
		if n := tokens.asked.Load() - before; n != 1 || len(asked) != 3 || asked[0].URL.Path != want.path || asked[0].Header.Get("X-Goog-User-Project") != "payer" {
			t.Errorf("%s: %d tokens, %d calls, %s", ref, n, len(asked), asked[0].URL.Path)
		}
	}
}

// A token that is about to end is fetched anew, and many calls at once fetch one.
func TestVertexTokensAreKept(t *testing.T) {
	t.Parallel()
	for expires, want := range map[int]int32{3600: 1, 30: 8} {
		server := tokenServer(t)
		server.expires = expires
		c := &googleCredentials{env: env(googleFile, account(t, server.URL+"/token"))}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if token, err := c.token(t.Context()); err != nil || token != geminitest.Token {
					t.Errorf("%q, %v", token, err)
				}
			})
		}
		all.Wait()
		if n := server.asked.Load(); n != want {
			t.Errorf("%d requests for tokens of %d seconds", n, expires)
		}
	}
}

// In the express mode a key is sent, and no token asked for.
func TestVertexExpress(t *testing.T) {
	t.Parallel()
	var asked []*http.Request
	gateway := vertexGateway(t, &asked)
	for ref, path := range map[string]string{
		"vertex:gemini-3.6-flash?key=MINE":                             "/v1beta1/publishers/google/models/gemini-3.6-flash:streamGenerateContent",
		"vertex:gemini-3.6-flash":                                      "/v1beta1/publishers/google/models/gemini-3.6-flash:streamGenerateContent",
		"vertex:gemini-3.6-flash?key=MINE&project=p&location=us-east5": "/v1beta1/projects/p/locations/us-east5/publishers/google/models/gemini-3.6-flash:streamGenerateContent",
		"vertex:gemini-3.6-flash?key=MINE&base=" + gateway.URL:         "/v1beta1/publishers/google/models/gemini-3.6-flash:streamGenerateContent",
	} {
		asked = nil
		// The project of the environment is that of other credentials.
		m, err := openIn(env("MINE", "express", googleKey, "express", "GOOGLE_VERTEX_BASE_URL", gateway.URL, googleProject, "other"), ref)
		if err != nil {
			t.Fatal(ref, err)
		}
		if err := ask(t.Context(), m, hello); err != nil || asked[0].URL.Path != path || asked[0].Header.Get("Authorization") != "" {
			t.Errorf("%s: %v, %s", ref, err, asked[0].URL.Path)
		}
	}
}

// What is missing or wrong is told before a call, with the variable.
func TestVertexRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		vars []string
		ref  string
		kind event.ErrorKind
		says string
	}{
		{nil, "vertex", event.ErrInvalid, googleProject},
		{[]string{googleProject, "p"}, "vertex:gemini-3.6-flash?base=https://llm.example.com", event.ErrModelAuth, "GOOGLE_VERTEX_BASE_URL"},
		{[]string{googleProject, "p"}, "vertex:gemini-3.6-flash?base=https://evil-googleapis.com", event.ErrModelAuth, "GOOGLE_VERTEX_BASE_URL"},
		{[]string{googleProject, "p"}, "vertex:gemini-3.6-flash?key=NONE", event.ErrModelAuth, "NONE"},
		{[]string{googleProject, "p"}, "vertex:gemini-3.6-flash?location=eu.evil.com/", event.ErrInvalid, "project"},
		{[]string{googleProject, "p"}, "vertex:gemini-3.6-flash?location=evil.com", event.ErrInvalid, "project"},
		{[]string{googleProject, "a b"}, "vertex", event.ErrInvalid, "project"},
		{[]string{googleProject, "p", "K", "k"}, "vertex:claude-sonnet-5-5?key=K", event.ErrUnsupported, "express"},
		{[]string{googleProject, "p"}, "vertex:claude-sonnet-5-5?level=low", event.ErrInvalid, "there are"},
		{[]string{googleProject, "p"}, "vertex:gemini-3.6-flash?level=deep", event.ErrInvalid, "level"},
		{[]string{googleProject, "p"}, "vertex:gemini-3.8-flash?level=minimal", event.ErrInvalid, "MINIMAL"},
		{[]string{googleProject, "p"}, "vertex:gemini-3.6-flash?thoughts=maybe", event.ErrInvalid, "thoughts"},
		{[]string{googleProject, "p"}, "vertex:gemini-3.6-flash?cached=mine", event.ErrInvalid, "cachedContents"},
		{[]string{googleProject, "p"}, "vertex:meta/llama-5", event.ErrUnsupported, "Claude"},
		{[]string{googleProject, "p"}, "vertex:../x", event.ErrModelNotFound, "vertex:gemini"},
		{[]string{googleProject, "p", "GOOGLE_VERTEX_BASE_URL", "ftp://x"}, "vertex", event.ErrInvalid, "GOOGLE_VERTEX_BASE_URL"},
	} {
		_, err := openIn(env(tc.vars...), tc.ref)
		if e := new(event.Error); !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(err.Error()+e.Hint, tc.says) {
			t.Errorf("%s: %v", tc.ref, err)
		}
	}
}

// Credentials that cannot be used are told, without showing any of them.
func TestVertexCredentialsThatCannotBe(t *testing.T) {
	t.Parallel()
	tokens := tokenServer(t)
	external := func(token, account string) map[string]any {
		return map[string]any{
			"type": "external_account", "audience": "//iam.googleapis.com/x", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": token,
			"service_account_impersonation_url": account, "credential_source": map[string]any{"file": "/nowhere"},
		}
	}
	for name, file := range map[string]string{
		"no file":                       "/nowhere/credentials.json",
		"a file of no type":             credentialFile(t, map[string]any{}),
		"a type that nobody knows":      credentialFile(t, map[string]any{"type": "golden_ticket"}),
		"a redirect":                    account(t, tokens.URL+"/redirect"),
		"a refused assertion":           credentialFile(t, map[string]any{"type": "service_account", "client_email": "a", "private_key": "SECRET", "token_uri": tokens.URL}),
		"tokens elsewhere":              credentialFile(t, external("https://evil.example.com/token", "")),
		"tokens anywhere, unencrypted":  credentialFile(t, external("http://sts.googleapis.com/v1/token", "")),
		"impersonation elsewhere":       credentialFile(t, external("https://sts.googleapis.com/v1/token", "https://evil.example.com/x")),
		"a source elsewhere":            credentialFile(t, map[string]any{"type": "impersonated_service_account", "service_account_impersonation_url": "https://iamcredentials.googleapis.com/x", "source_credentials": external("https://evil.example.com", "")}),
		"a file of another cloud's own": credentialFile(t, external("https://sts.googleapis.com/v1/token", "https://iamcredentials.googleapis.com/x")),
	} {
		var asked []*http.Request
		gateway := vertexGateway(t, &asked)
		for _, ref := range []string{"vertex:gemini-3.6-flash?project=p", "vertex:claude-sonnet-5-5?project=p"} {
			m, err := openIn(env(googleFile, file, "GOOGLE_VERTEX_BASE_URL", gateway.URL), ref)
			if err != nil {
				t.Fatal(name, err)
			}
			err = ask(t.Context(), m, hello)
			if e := new(event.Error); !errors.As(err, &e) || e.Kind != event.ErrModelAuth || !strings.Contains(e.Hint, googleFile) || len(asked) != 0 || strings.Contains(fmt.Sprint(e, e.Err), "SECRET") {
				t.Errorf("%s: %v", name, err)
			}
			if e := new(event.Error); errors.As(err, &e) && strings.Contains(name, "where") != strings.Contains(fmt.Sprint(e.Err), "a server that is not Google's") {
				t.Errorf("%s: %v", name, e.Err)
			}
		}
	}
}

// A call that is cancelled waits for no token.
func TestVertexIsCancelled(t *testing.T) {
	t.Parallel()
	hangs, left := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees that the client leaves once it has read all
		close(hangs)
		<-r.Context().Done()
		close(left)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	m, err := openIn(env(googleFile, account(t, server.URL+"/token")), "vertex")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- ask(ctx, m, hello) }()
	<-hangs
	cancel()
	if err := <-done; !errors.Is(err, event.ErrCancelled) {
		t.Error(err)
	}
	<-left
}

// The survey and the detection say what there is of Google Cloud.
func TestVertexSurvey(t *testing.T) {
	t.Parallel()
	file := account(t, "https://oauth2.googleapis.com/token")
	home := t.TempDir()
	gcloud := filepath.Join(home, ".config", "gcloud")
	if err := errors.Join(os.MkdirAll(gcloud, 0o700), os.WriteFile(filepath.Join(gcloud, "application_default_credentials.json"), []byte(`{"type":"authorized_user"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		vars   []string
		ready  bool
		says   string
		region string
	}{
		{nil, false, "no Google Cloud project is set", ""},
		{[]string{googleProject, "p"}, false, "no credentials of Google Cloud are named here", "global"},
		{[]string{googleFile, file}, true, "GOOGLE_APPLICATION_CREDENTIALS is set, and the location is global", "global"},
		{[]string{googleProject, "p", "HOME", home, googleOtherLocation, "eu"}, true, "gcloud's file names credentials, and the location is eu", "eu"},
		{[]string{googleKey, "k"}, true, "GOOGLE_VERTEX_API_KEY is set", ""},
	} {
		for _, s := range opener(t, Options{Env: env(tc.vars...)}).Survey(nil) {
			if s.Provider == "vertex" && (s.Ready != tc.ready || !strings.Contains(s.Why, tc.says) || s.Region != tc.region || s.Ready && s.Models[0].Ref != "vertex:gemini-3.6-flash") {
				t.Errorf("%v: %+v", tc.vars, s)
			}
		}
	}
	for want, vars := range map[string][]string{
		"vertex:gemini-3.6-flash": {googleFile, file, googleProject, "p"}, "demo": {googleFile, file},
		"gemini:gemini-3.6-flash": {googleKey, "k", "GEMINI_API_KEY", "k"},
	} {
		if d := Detect(env(vars...), ""); d.Model != want {
			t.Errorf("%v: %+v", vars, d)
		}
	}
	// A tenant's own key is asked with in the express mode, at its own place, and no file
	// of the server's is read.
	o := opener(t, Options{Env: env(googleFile, "/nowhere", googleProject, "p", "GOOGLE_VERTEX_BASE_URL", "")})
	if _, err := o.OpenOwn(Own{Ref: "vertex:gemini-3.6-flash", Key: secret.New("of-the-tenant"), Region: "eu"}); err != nil {
		t.Error(err)
	}
	// Claude has no such mode: the server's own credentials must not stand in for the key.
	if _, err := o.OpenOwn(Own{Ref: "vertex:claude-sonnet-5-5", Key: secret.New("of-the-tenant")}); !errors.Is(err, event.ErrUnsupported) {
		t.Errorf("a key for Claude on Vertex is taken: %v", err)
	}
	if m, err := o.OpenOwn(Own{Ref: "vertex:gemini-3.6-flash", Region: "eu"}); err != nil || model.Files(m) == nil {
		t.Error(err)
	}
}

// On a machine of Google Cloud its account is asked, and only by a call.
func TestVertexOnAMachine(t *testing.T) {
	var metadata atomic.Int32
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		metadata.Add(1)
		if r.Header.Get("Metadata-Flavor") != "Google" || !strings.HasPrefix(r.URL.Path, "/computeMetadata/v1/instance/service-accounts/default/token") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600,"token_type":"Bearer"}`, geminitest.Token)
	}))
	t.Cleanup(machine.Close)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(machine.URL, "http://"))
	var asked []*http.Request
	gateway := vertexGateway(t, &asked)
	vars := env(googleProject, "p", "GOOGLE_VERTEX_BASE_URL", gateway.URL)
	m, err := openIn(vars, "vertex")
	if err != nil {
		t.Fatal(err)
	}
	opener(t, Options{Env: vars}).Survey(nil)
	if metadata.Load() != 0 {
		t.Error("opening or listing asks the machine")
	}
	for range 2 {
		if err := ask(t.Context(), m, hello); err != nil {
			t.Fatal(err)
		}
	}
	if metadata.Load() != 1 || len(asked) != 2 {
		t.Errorf("%d questions, %d calls", metadata.Load(), len(asked))
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:forcetypeassert // it is one
}

// Settings of Gemini by string are in each request, and a request's own go before them.
func TestGeminiSettings(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"level=minimal": `"thinkingConfig":{"thinkingLevel":"MINIMAL"}`, "effort=none": `"thinkingLevel":"MINIMAL"`, "effort=max&show=yes": `{"includeThoughts":true,"thinkingLevel":"HIGH"}`,
		"thoughts=yes": `"thinkingConfig":{"includeThoughts":true}`, "thinking=9000&thoughts=no": `"thinkingConfig":{"thinkingLevel":"MEDIUM"}`,
		"top_p=0.5&seed=7": `"topP":0.5,"seed":7`, "tier=flex": `"serviceTier":"flex"`, "cached=cachedContents/a": `{"cachedContent":"cachedContents/a",`,
	} {
		server := geminitest.Start(geminitest.Text("Yes."), geminitest.Text("Yes."))
		m, err := openIn(env("GEMINI_API_KEY", geminitest.Key, "GOOGLE_GEMINI_BASE_URL", server.URL), "gemini:gemini-3.6-flash?"+query)
		if err != nil {
			t.Fatal(query, err)
		}
		own := *hello
		own.Options.Effort = model.EffortLow
		for i, req := range []*model.Request{hello, &own} {
			if err := ask(t.Context(), m, req); err != nil {
				t.Errorf("%s: %v", query, err)
			}
			body := string(server.Asked()[i].Body)
			if i == 0 && !strings.Contains(body, want) || i == 1 && !strings.Contains(body, `"thinkingLevel":"LOW"`) {
				t.Errorf("%s: %s", query, body)
			}
		}
		server.Close()
	}
}
