package agentcore_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const invocations = "/invocations"
	door := "/runtimes/" + encoded(arn) + invocations
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		says                     string
	}{
		{name: "no JSON", body: "hello", code: 400, says: `{"error":"Invalid JSON"`},
		{name: "an empty body", body: "", code: 400, says: `{"error":"Invalid JSON"`},
		{name: "half a body", body: `{"prompt": "he`, code: 400, says: "Invalid JSON"},
		{name: "JSON twice", body: `{"prompt": "a"}{"prompt": "b"}`, code: 400, says: "Invalid JSON"},
		{name: "a name twice", body: `{"prompt": "a", "prompt": "b"}`, code: 400, says: "Invalid JSON"},
		{name: "a deep body", body: strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), code: 400, says: "Invalid JSON"},
		{name: "Latin 1", body: "{\"prompt\": \"caf\xe9\"}", code: 400, says: `{"error":"Invalid encoding"`},
		{name: "UTF-16", body: "\xff\xfe{\x00}\x00", code: 400, says: "Invalid encoding"},
		{name: "half a surrogate pair", body: `{"prompt": "\ud83d"}`, code: 400, says: "Invalid JSON"},
		{name: "a list", body: `[1]`, code: 400, says: "not a JSON object"},
		{name: "a number", body: `1`, code: 400, says: "not a JSON object"},
		{name: "null", body: `null`, code: 400, says: "not a JSON object"},
		{name: "no prompt", body: `{"promt": "a"}`, code: 400, says: `{"error":"the body has no prompt","details":"send {\"prompt\": \"…\"}"}`},
		{name: "a prompt that is null", body: `{"prompt": null}`, code: 400, says: "no prompt"},
		{name: "a prompt that is a number", body: `{"prompt": 1}`, code: 400, says: "no prompt"},
		{name: "an empty prompt", body: `{"prompt": " "}`, code: 400, says: "the prompt is empty"},
		{name: "no blocks", body: `{"prompt": []}`, code: 400, says: "the prompt is empty"},
		{name: "blank blocks", body: `{"prompt": [{"text": " "}]}`, code: 400, says: "the prompt is empty"},
		{name: "an unknown block", body: `{"prompt": [{"video": {}}]}`, code: 400, says: "an unsupported kind"},
		{name: "blocks of another type", body: `{"prompt": ["a"]}`, code: 400, says: "not a list of content blocks"},
		{name: "a broken image", body: `{"prompt": [{"image": {"format": "png", "source": {"bytes": "!"}}}]}`, code: 400, says: "not base64"},
		{name: "an answer to nothing", body: `{"prompt": [{"interruptResponse": {"interruptId": "x", "response": 1}}]}`, code: 400, says: "belong to an open interrupt"},
		{name: "an answer without an id", body: `{"prompt": [{"interruptResponse": {"response": 1}}]}`, code: 400, says: "no interruptId"},
		{
			name: "an answer and more", body: `{"prompt": [{"interruptResponse": {"interruptId": "x"}}, {"text": "and"}]}`,
			code: 400, says: "mixes answers",
		},
		{name: "a model of another type", body: `{"prompt": "a", "model": 1}`, code: 400, says: "the wrong type"},
		{name: "a session that is too short", body: `{"prompt": "a"}`, headers: []string{sessionHeader, strings.Repeat("a", 32)}, code: 400, says: "33 to 256"},
		{name: "a session that is too long", body: `{"prompt": "a"}`, headers: []string{sessionHeader, strings.Repeat("a", 257)}, code: 400, says: "33 to 256"},
		{name: "a session with a path", body: `{"prompt": "a"}`, headers: []string{sessionHeader, strings.Repeat("../", 20)}, code: 400, says: "33 to 256"},
		{name: "a long invocation id", body: `{"prompt": "a"}`, headers: []string{retryHeader, strings.Repeat("a", 300)}, code: 400, says: "too long"},
		{name: "a long user", body: `{"prompt": "a"}`, headers: []string{"X-Amzn-Bedrock-AgentCore-Runtime-User-Id", strings.Repeat("a", 2000)}, code: 400, says: "too long"},
		{name: "no token", body: `{"prompt": "a"}`, headers: []string{"Authorization", ""}, code: 401, says: "no valid token"},
		{name: "another token", body: `{"prompt": "a"}`, headers: []string{"Authorization", "Bearer test-token-5f0d"}, code: 401, says: "no valid token"},
		{name: "a foreign page", body: `{"prompt": "a"}`, headers: []string{"Origin", "https://evil.example"}, code: 403, says: "pages of that site"},
		{name: "GET", method: http.MethodGet, code: 405, says: "does not take that method"},
		{name: "POST of ping", path: "/ping", code: 405, says: "use GET"},
		{name: "another path", path: "/invocation", code: 404, says: "no such path"},
		{name: "a path behind", path: "/invocations/x", code: 404, says: "no such path"},
		{name: "an unknown runtime", path: strings.Replace(door, "guide", "other", 1), body: `{"prompt": "a"}`, code: 404, says: `{"message":"there is no such agent runtime`},
		{name: "no ARN", path: "/runtimes/x/invocations", body: `{"prompt": "a"}`, code: 404, says: "no such agent runtime"},
		{name: "an id without its account", path: "/runtimes/guide-0123456789/invocations", body: `{"prompt": "a"}`, code: 404, says: "no such agent runtime"},
		{name: "another account", path: "/runtimes/guide-0123456789/invocations?accountId=999999999999", body: `{"prompt": "a"}`, code: 404, says: "no such agent runtime"},
		{name: "another qualifier", path: door + "?qualifier=PROD", body: `{"prompt": "a"}`, code: 404, says: "no such agent runtime"},
		{name: "an operation that there is not", path: "/runtimes/" + encoded(arn) + "/commands", body: `{}`, code: 404, says: "no such path"},
		{name: "an unknown runtime without a credential", path: strings.Replace(door, "guide", "other", 1), headers: []string{"Authorization", ""}, code: 403, says: "Missing Authentication Token"},
		{name: "a session that cannot be stopped", path: "/runtimes/" + encoded(arn) + "/stopruntimesession", headers: []string{sessionHeader, ""}, code: 400, says: "names no session"},
		{name: "an action without debugging", body: `{"_agent_core_app_action": "force_busy"}`, code: 400, says: "no prompt"},
	} {
		method, path := c.method, c.path
		if method == "" {
			method = http.MethodPost
		}
		if path == "" {
			path = invocations
		}
		a := s.ask(method, path, c.body, c.headers...)
		if a.code != c.code || !strings.Contains(a.body, c.says) || a.head.Get(errorType) == "" || a.head.Get(requestHeader) == "" {
			t.Errorf("%s: %d %s %s", c.name, a.code, a.head.Get(errorType), a.body)
		}
		for _, secret := range []string{token, "secret-of", "goroutine", "/root", ".go:"} {
			if strings.Contains(a.body, secret) {
				t.Errorf("%s: the answer holds %q: %s", c.name, secret, a.body)
			}
		}
	}
	if s.calls.Load() != 0 {
		t.Error("a request that was refused was answered by the model")
	}
	// The bare id is enough beside the account.
	s.ask(http.MethodPost, "/runtimes/guide-0123456789/invocations?accountId=123456789012", `{"prompt": "a"}`).has(t, 200, `{"result"`)
	s.ask(http.MethodPost, "/runtimes/"+arn+"/invocations", `{"prompt": "a"}`).has(t, 200, `{"result"`) // as curl's users write it
}

// A foreign name that leads to this machine is not answered.
func TestForeignHost(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, path := range []string{"/invocations", "/ping"} {
		r := s.request(t.Context(), http.MethodGet, path, "")
		r.Host = "evil.example"
		s.do(r).has(t, 403, "does not answer under that name")
	}
	trusting := open(t, func(_ *service.Options, o *agentcore.Options) { o.TrustPlatform, o.Token = true, secret.Secret{} })
	r := trusting.request(t.Context(), http.MethodGet, "/ping", "")
	r.Host = "cell01.us-east-1.prod.example"
	trusting.do(r).has(t, 200, "Healthy")
}

// zeros is a body of any length.
type zeros struct{ head, tail string }

func (z zeros) reader(n int) io.Reader {
	return io.MultiReader(strings.NewReader(z.head), io.LimitReader(endless{}, int64(n-len(z.head)-len(z.tail))), strings.NewReader(z.tail))
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

// A hundred megabytes are the platform's bound. Who sends more is refused before it is
// kept, who is not known before anything is.
func TestLargeBodies(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	s := open(t, func(_ *service.Options, o *agentcore.Options) { o.BodyBytes = 0 })
	post := func(n int, said bool, headers ...string) answer {
		r := s.request(t.Context(), http.MethodPost, "/invocations", "", headers...)
		r.Body = io.NopCloser(zeros{`{"prompt": "`, `"}`}.reader(n))
		r.ContentLength = -1
		if said {
			r.ContentLength = int64(n)
		}
		res, err := s.Client().Do(r)
		if err != nil { // the server may hang up on who goes on sending
			return answer{code: 413, body: "the body is longer than"}
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return answer{res.StatusCode, res.Header, string(b)}
	}
	const most = agentcore.DefaultBodyBytes
	before := allocated()
	post(most+1, true).has(t, 413, "the body is longer than 104857600 bytes")
	post(most, true, "Authorization", "").has(t, 401)
	post(most, false, "Authorization", "Bearer no").has(t, 401)
	if used := allocated() - before; used > 64<<20 {
		t.Errorf("bodies that were refused took %d MB", used>>20)
	}
	post(most+1, false).has(t, 413, "the body is longer than")
	if s.calls.Load() != 0 {
		t.Error("the model was asked")
	}
}

// allocated is what has been allocated by everything.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// One body that is as large as it may be is answered.
func TestLargestBody(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a second")
	}
	most := agentcore.DefaultBodyBytes
	if race.On {
		most = 8 << 20 // one goroutine reads it: make test-long sends a hundred megabytes without the race detector
	}
	s := open(t, func(_ *service.Options, o *agentcore.Options) { o.BodyBytes = int64(most) })
	r := s.request(t.Context(), http.MethodPost, "/invocations", "", "Accept", "application/json")
	r.Body = io.NopCloser(zeros{`{"unknown": "`, `", "prompt": "hello"}`}.reader(most))
	r.ContentLength = int64(most)
	s.do(r).has(t, 200, "you said hello")
}

func TestNew(t *testing.T) {
	t.Parallel()
	svc := open(t, nil).service
	for name, o := range map[string]agentcore.Options{
		"no service":      {},
		"token and trust": {Service: svc, TrustPlatform: true, Token: secret.New("x")},
		"no ARN":          {Service: svc, Runtime: "arn:aws:iam::123456789012:role/x"},
	} {
		if _, err := agentcore.New(o); err == nil {
			t.Errorf("%s: it was made", name)
		}
	}
	// The zero options let nobody in.
	s := open(t, func(_ *service.Options, o *agentcore.Options) { *o = agentcore.Options{} })
	s.say("hello").has(t, 401)
	s.say("hello", "Authorization", "Bearer ").has(t, 401)
	s.ask(http.MethodPost, "/runtimes/"+encoded(arn)+"/invocations", promptBody("hello")).has(t, 404)
}
