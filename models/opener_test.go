package models

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/pricing"
)

func opener(t *testing.T, o Options) *Opener {
	t.Helper()
	if o.Env == nil {
		o.Env = none
	}
	opener, err := NewOpener(o)
	if err != nil {
		t.Fatal(err)
	}
	return opener
}

var million = event.Usage{Input: 1_000_000}

// Every opened model knows its cost, or that it is not known, by where it is served.
func TestOpenedModelsKnowTheirCost(t *testing.T) {
	t.Parallel()
	keys := []string{"ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k", "GEMINI_API_KEY", "k", "AWS_BEARER_TOKEN_BEDROCK", "k", "AWS_REGION", "us-west-2", "OTHER_KEY", "k"}
	for ref, want := range map[string]int64{ // -1: not known
		"anthropic:claude-haiku-4-5-20251001": 1e9, "anthropic:claude-nobody": -1, "openai:gpt-5.4-mini": 750_000_000,
		"openai:gpt-5.4-mini?base=https://api.openai.com/v1": 750_000_000, "openai:gpt-5.4-mini?base=http://127.0.0.1:8000/v1": -1,
		"openai:gpt-5.4-mini?base=https://eu.api.openai.com/v1&key=OTHER_KEY": -1, "ollama:gpt-5.4-mini": -1,
		"gemini:gemini-2.5-flash": 300_000_000, "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0": 1_100_000_000,
		"bedrock:global.anthropic.claude-haiku-4-5-20251001-v1:0": 1e9, "bedrock:amazon.nova-pro-v1:0": 800_000_000,
		"bedrock:amazon.nova-pro-v1:0?region=eu-west-1": -1, "bedrock:anthropic.claude-haiku-4-5-20251001-v1:0?api=converse": 1_100_000_000,
	} {
		m, err := opener(t, Options{Env: env(keys...)}).Open(ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		nano, known := m.Info().Cost(million)
		if known != (want >= 0) || known && nano != want || (PriceOf(m) != nil) != known {
			t.Errorf("%s costs %d, %v; want %d", ref, nano, known, want)
		}
		if w, ok := m.(interface{ Unwrap() model.Model }); !ok || w.Unwrap().Info().Name != m.Info().Name {
			t.Errorf("%s: what is inside is not found", ref)
		}
	}
	m, err := opener(t, Options{}).Open("demo")
	if err != nil || PriceOf(m) != nil {
		t.Errorf("a simulated model has a price: %v", err)
	}
	if PriceOf(nil) != nil || PriceOf(answers("a:x", 0, nil)) != nil {
		t.Error("a price from nowhere")
	}
}

func TestPricesOfOnesOwn(t *testing.T) {
	t.Parallel()
	own, err := pricing.Parse([]byte("prices: [{model: 'openai:Qwen/Qwen3-8B', input: 0.05, output: 0.10}]"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := opener(t, Options{Prices: pricing.Default().With(own)}).Open("openai:Qwen/Qwen3-8B?base=http://127.0.0.1:8000/v1")
	if err != nil {
		t.Fatal(err)
	}
	if nano, known := m.Info().Cost(million); !known || nano != 50_000_000 {
		t.Errorf("%d, %v", nano, known)
	}
}

// One limiter for each key and place, whatever the model.
func TestLimitsBelongToAKey(t *testing.T) {
	t.Parallel()
	o := opener(t, Options{Limits: Limits{Concurrency: 1}, Env: env(
		"ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k", "OTHER_KEY", "k", "AWS_BEARER_TOKEN_BEDROCK", "k")})
	limiterOf := func(ref string) *Limiter {
		m, err := o.Open(ref)
		if err != nil {
			t.Fatal(err)
		}
		for {
			if l, ok := m.(*limited); ok {
				return l.limiter
			}
			w, ok := m.(interface{ Unwrap() model.Model })
			if !ok {
				return nil
			}
			m = w.Unwrap()
		}
	}
	one := limiterOf("anthropic:claude-haiku-4-5")
	if one == nil || limiterOf("anthropic:claude-opus-5-5?stall=1m") != one {
		t.Error("two models of a key do not share their limits")
	}
	seen := map[*Limiter]string{}
	for _, ref := range []string{
		"anthropic", "anthropic:claude-haiku-4-5?base=http://127.0.0.1:1&key=OTHER_KEY", "anthropic:claude-haiku-4-5?key=OTHER_KEY", "openai",
		"openai:gpt-4o?base=http://127.0.0.1:8000", "openai:gpt-4o?base=http://127.0.0.1:8001", "bedrock:us.amazon.nova-pro-v1:0", "bedrock:eu.amazon.nova-pro-v1:0",
	} {
		l := limiterOf(ref)
		if l == nil || seen[l] != "" {
			t.Errorf("%s has no limits, or those of %s", ref, seen[l])
		}
		seen[l] = ref
	}
	if limiterOf("demo") != nil {
		t.Error("a simulated model is limited")
	}
	if _, err := NewOpener(Options{Limits: Limits{Tokens: -1}}); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("limits that cannot be: %v", err)
	}
}

// A user of the program names a model, and nothing else.
func TestUsersNameNoFilesAndNoAddresses(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(script, []byte("rules: [{reply: Hello.}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := opener(t, Options{Env: env("OPENAI_API_KEY", "k", "BRAID_MODEL", "demo:tour", "OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")})
	for _, ref := range []string{
		"demo:" + script, "demo:x.yaml", "demo?speed=1", "openai:gpt-4o?base=http://evil.example", "openai:gpt-4o?", "openai?key=HOME", "",
		"openai:" + strings.Repeat("a/", 120), "nobody:x",
	} {
		if m, err := o.OpenNamed(ref); m != nil || !errors.Is(err, event.ErrModelNotFound) {
			t.Errorf("%s: %v, %v", ref, m, err)
		}
	}
	for _, ref := range []string{"demo", "demo:tour", "openai:gpt-4o", "openai:Qwen/Qwen3-8B"} {
		if _, err := o.OpenNamed(ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// listener keeps what it was asked, and refuses it.
type listener struct {
	mu   sync.Mutex
	seen []*http.Request
	body []string
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	l.seen, l.body = append(l.seen, r), append(l.body, string(body))
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, `{"message":"You don't have access to the model with the specified model ID.","error":{"code":403,"status":"PERMISSION_DENIED","type":"permission_error","message":"no access"}}`)
}

func listen(t *testing.T) (*listener, string) {
	t.Helper()
	l := &listener{}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	return l, s.URL
}

var hello = &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hi."}}}}}

// A key goes to the address that it is for, and to no other; without permission,
// each provider says so and what to do.
func TestKeysGoWhereTheyBelong(t *testing.T) {
	t.Parallel()
	const usual, other = "usual-key-of-the-vendor", "key-of-another-server"
	for _, tc := range []struct {
		name, ref string
		env       []string
		sent      string // what is found in the headers; "" is no key at all
	}{
		{"anthropic, a gateway", "anthropic:claude-haiku-4-5", []string{"ANTHROPIC_API_KEY", usual, "ANTHROPIC_BASE_URL", "URL"}, usual},
		{"anthropic, named", "anthropic:claude-haiku-4-5?base=URL&key=MY_KEY", []string{"ANTHROPIC_API_KEY", usual, "MY_KEY", other}, other},
		{"openai, a server", "openai:gpt-4o", []string{"OPENAI_API_KEY", usual, "OPENAI_BASE_URL", "URL/v1"}, usual},
		{"openai, named without a key", "openai:qwen3?base=URL/v1", []string{"OPENAI_API_KEY", usual}, ""},
		{"openai, named with one", "openai:qwen3?base=URL/v1&key=MY_KEY", []string{"OPENAI_API_KEY", usual, "MY_KEY", other}, other},
		{"ollama elsewhere", "ollama:qwen3?base=URL/v1", []string{"OPENAI_API_KEY", usual}, ""},
		{"gemini, a gateway", "gemini", []string{"GEMINI_API_KEY", usual, "GOOGLE_API_KEY", other, "GOOGLE_GEMINI_BASE_URL", "URL"}, usual},
		{"gemini, the other variable", "gemini", []string{"GOOGLE_API_KEY", other, "GOOGLE_GEMINI_BASE_URL", "URL"}, other},
		{"gemini, named", "gemini:gemini-2.5-pro?base=URL&key=MY_KEY", []string{"GEMINI_API_KEY", usual, "MY_KEY", other}, other},
		{"bedrock, a key of its own", "bedrock:us.amazon.nova-pro-v1:0", []string{"AWS_BEARER_TOKEN_BEDROCK", usual, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "URL"}, "Bearer " + usual},
		{"bedrock, Claude", "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0", []string{"AWS_BEARER_TOKEN_BEDROCK", usual, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "URL"}, "Bearer " + usual},
		{"bedrock, signed", "bedrock:us.amazon.nova-pro-v1:0?region=us-west-2", []string{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY", usual, "AWS_SESSION_TOKEN", "sess", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "URL"}, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"},
		{"bedrock, Claude signed", "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0", []string{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY", usual, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "URL"}, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, url := listen(t)
			pairs := append([]string{"AWS_CONFIG_FILE", os.DevNull, "AWS_SHARED_CREDENTIALS_FILE", os.DevNull}, tc.env...)
			for i := range pairs {
				pairs[i] = strings.Replace(pairs[i], "URL", url, strings.Count(pairs[i], "URL")*(i%2))
			}
			m, err := opener(t, Options{Env: env(pairs...)}).Open(strings.ReplaceAll(tc.ref, "URL", url))
			if err != nil {
				t.Fatal(err)
			}
			err = ask(t.Context(), m, hello)
			var e *event.Error
			if !errors.As(err, &e) || e.Kind != event.ErrModelAuth || e.Message == "" || e.Hint == "" {
				t.Errorf("%v (%v)", err, event.KindOf(err))
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.seen) != 1 {
				t.Fatalf("%d requests", len(l.seen))
			}
			sent := ""
			for name, values := range l.seen[0].Header {
				if name == "Authorization" || strings.HasSuffix(name, "-Api-Key") {
					sent += strings.Join(values, " ")
				}
			}
			sent = strings.TrimPrefix(strings.TrimPrefix(sent, "Bearer "), tc.name[:0])
			if want := strings.TrimPrefix(tc.sent, "Bearer "); !strings.HasPrefix(sent, want) || want == "" && strings.Contains(sent, "key") {
				t.Errorf("%q is sent, want %q", sent, tc.sent)
			}
			if strings.Contains(err.Error(), usual) || strings.Contains(err.Error(), other) {
				t.Errorf("the key is shown: %v", err)
			}
		})
	}
}

func TestWhereBedrockIsAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte("[default]\nregion = eu-north-1\n[profile far]\nregion = ap-northeast-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []string{"AWS_CONFIG_FILE", file, "AWS_SHARED_CREDENTIALS_FILE", os.DevNull, "AWS_BEARER_TOKEN_BEDROCK", "k"}
	bare := []string{"AWS_CONFIG_FILE", os.DevNull, "AWS_SHARED_CREDENTIALS_FILE", os.DevNull, "AWS_BEARER_TOKEN_BEDROCK", "k"}
	const arn = "arn:aws:bedrock:ap-south-1:123456789012:application-inference-profile/abc"
	for _, tc := range []struct {
		ref    string
		env    []string
		region string
		kind   event.ErrorKind
		hint   string
	}{
		{ref: "bedrock:amazon.nova-pro-v1:0?region=us-west-2", env: append([]string{"AWS_REGION", "us-east-1"}, files...), region: "us-west-2"},
		{ref: "bedrock:amazon.nova-pro-v1:0", env: append([]string{"AWS_REGION", "us-east-1", "AWS_DEFAULT_REGION", "us-west-2"}, files...), region: "us-east-1"},
		{ref: "bedrock:amazon.nova-pro-v1:0", env: append([]string{"AWS_DEFAULT_REGION", "us-west-2"}, files...), region: "us-west-2"},
		{ref: "bedrock:amazon.nova-pro-v1:0", env: files, region: "eu-north-1"},
		{ref: "bedrock:amazon.nova-pro-v1:0", env: append([]string{"AWS_PROFILE", "far"}, files...), region: "ap-northeast-1"},
		{ref: "bedrock:amazon.nova-pro-v1:0?profile=far", env: append([]string{"AWS_PROFILE", "default"}, files...), region: "ap-northeast-1"},
		{ref: "bedrock:us.amazon.nova-pro-v1:0", env: bare, region: "us-east-1"},
		{ref: "bedrock:eu.amazon.nova-pro-v1:0", env: bare, region: "eu-west-1"},
		{ref: "bedrock:us.amazon.nova-pro-v1:0", env: append([]string{"AWS_REGION", "ca-central-1"}, bare...), region: "ca-central-1"},
		{ref: "bedrock:global.anthropic.claude-sonnet-5-5", env: append([]string{"AWS_REGION", "sa-east-1"}, bare...), region: "sa-east-1"},
		{ref: "bedrock:" + arn, env: append([]string{"AWS_REGION", "us-east-1"}, bare...), region: "ap-south-1"},
		{ref: "bedrock:" + arn + "?region=us-east-1", env: bare, kind: event.ErrInvalid, hint: "leave region out"},
		{ref: "bedrock:amazon.nova-pro-v1:0", env: bare, kind: event.ErrInvalid, hint: "set AWS_REGION"},
		{ref: "bedrock:global.anthropic.claude-sonnet-5-5", env: bare, kind: event.ErrInvalid, hint: "set AWS_REGION"},
		{ref: "bedrock:us.amazon.nova-pro-v1:0", env: append([]string{"AWS_REGION", "eu-west-1"}, bare...), kind: event.ErrModelNotFound, hint: "such as eu., or a region of its own: ?region=us-east-1"},
		{ref: "bedrock:us.amazon.nova-pro-v1:0", env: append([]string{"AWS_REGION", "us-gov-west-1"}, bare...), kind: event.ErrModelNotFound, hint: "us-gov."},
		{ref: "bedrock:jp.anthropic.claude-sonnet-5", env: append([]string{"AWS_REGION", "us-east-1"}, bare...), kind: event.ErrModelNotFound, hint: "us."},
		{ref: "bedrock:amazon.nova-pro-v1:0", env: append([]string{"AWS_REGION", "Frankfurt"}, bare...), kind: event.ErrInvalid, hint: "such as us-east-1"},
		{ref: "bedrock:amazon.nova-pro-v1:0?region=Frankfurt", env: bare, kind: event.ErrInvalid, hint: "region=eu-west-1"},
		{ref: "bedrock:amazon.nova-pro-v1:0?profile=gone", env: files, kind: event.ErrInvalid, hint: "AWS_PROFILE"},
		{ref: "bedrock:amazon.nova-pro-v1:0?api=invoke", env: files, kind: event.ErrUnsupported, hint: "leave api out"},
		{ref: "bedrock:amazon.nova-pro-v1:0?key=MY_KEY", env: files, kind: event.ErrModelAuth, hint: "set MY_KEY"},
	} {
		o := opener(t, Options{Env: env(tc.env...), Limits: Limits{Requests: 1}})
		m, err := o.Open(tc.ref)
		if tc.kind != "" {
			var e *event.Error
			if m != nil || !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("%s in %v: %v, want %s: %s", tc.ref, tc.env, err, tc.kind, tc.hint)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s in %v: %v", tc.ref, tc.env, err)
			continue
		}
		if place := m.(*priced).place; place != tc.region {
			t.Errorf("%s in %v is asked for in %s, want %s", tc.ref, tc.env, place, tc.region)
		}
	}
}

// Opening asks nobody over the network, not even the machine's metadata service;
// and a call without credentials says what is missing.
//
//nolint:paralleltest // it sets the environment
func TestOpeningAsksNobody(t *testing.T) {
	l, url := listen(t)
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": url, "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_DEFAULTS_MODE": "auto",
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
	} {
		t.Setenv(name, value)
	}
	for _, name := range []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	start := time.Now()
	for _, ref := range []string{"bedrock", "bedrock:us.amazon.nova-pro-v1:0"} {
		m, err := Open(ref)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(l.seen); n != 0 {
			t.Fatalf("opening %s asked %s", ref, l.seen[0].URL)
		}
		err = ask(t.Context(), m, hello)
		var e *event.Error
		if !errors.As(err, &e) || e.Kind != event.ErrModelAuth || e.Hint == "" {
			t.Errorf("%s: %v (%v)", ref, err, event.KindOf(err))
		}
		l.mu.Lock()
		for _, r := range l.seen {
			if !strings.HasPrefix(r.URL.Path, "/latest/") {
				t.Errorf("%s was called without credentials", r.URL.Path)
			}
		}
		l.seen = nil
		l.mu.Unlock()
	}
	if d := time.Since(start); d > 2*time.Minute {
		t.Errorf("it took %v to say that there are no credentials", d)
	}
}

// Settings reach the model.
func TestSettingsOfProviders(t *testing.T) {
	t.Parallel()
	server := openaitest.Start(openaitest.Text(openaitest.Responses, "Hello."))
	t.Cleanup(server.Close)
	m, err := opener(t, Options{Env: env("MY_KEY", openaitest.Key)}).Open("openai:gpt-5.4?api=responses&effort=xhigh&stall=1m&key=MY_KEY&base=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), m, hello); err != nil {
		t.Fatal(err)
	}
	asked := server.Asked()
	if len(asked) != 1 || asked[0].Path != "/v1/responses" || !strings.Contains(string(asked[0].Body), `"xhigh"`) {
		t.Errorf("%+v", asked)
	}
	claude := anthropictest.Start(anthropictest.Text("Hello."))
	t.Cleanup(claude.Close)
	m, err = opener(t, Options{Env: env("ANTHROPIC_API_KEY", anthropictest.Key, "ANTHROPIC_BASE_URL", claude.URL)}).Open("anthropic:claude-haiku-4-5?cache=off&stall=0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), m, hello); err != nil {
		t.Fatal(err)
	}
	if body := string(claude.Asked()[0].Body); strings.Contains(body, "cache_control") || !json.Valid([]byte(body)) {
		t.Errorf("%s", body)
	}
	for _, ref := range []string{
		"anthropic:x?stall=soon", "anthropic:x?stall=-1s", "anthropic:x?cache=always", "anthropic:x?key=sk-ant-123", "anthropic:x?base=", "anthropic:x?stall=1s&stall=2s",
		"openai:x?api=soap", "openai:x?effort=most", "openai:x?reasons=perhaps", "ollama:x?key=", "gemini:x?stal=1s", "bedrock:amazon.x?cache=often", "openai:x?%zz",
	} {
		_, err := opener(t, Options{Env: env("ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k", "GEMINI_API_KEY", "k", "AWS_REGION", "us-east-1")}).Open(ref)
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), "settings of the model") || strings.Contains(err.Error(), "sk-ant") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	for ref, hint := range map[string]string{
		"anthropic:x?key=MY_KEY": "set MY_KEY", "anthropic:x?base=http://127.0.0.1:1": "&key=ANTHROPIC_API_KEY", "openai:x?key=MY_KEY": "set MY_KEY",
		"gemini:x?base=http://127.0.0.1:1": "&key=GEMINI_API_KEY", "ollama:x?key=MY_KEY": "set MY_KEY",
	} {
		var e *event.Error
		_, err := opener(t, Options{Env: env("ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k", "GEMINI_API_KEY", "k")}).Open(ref)
		if !errors.As(err, &e) || e.Kind != event.ErrModelAuth || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	find := func(list []Standing, provider string) Standing {
		for _, s := range list {
			if s.Provider == provider {
				return s
			}
		}
		t.Fatalf("%s is not there", provider)
		return Standing{}
	}
	bare := []string{"AWS_CONFIG_FILE", os.DevNull, "AWS_SHARED_CREDENTIALS_FILE", os.DevNull}
	list := opener(t, Options{Env: env(bare...)}).Survey(nil)
	for provider, next := range map[string]string{
		"anthropic": "set ANTHROPIC_API_KEY", "openai": "set OPENAI_API_KEY", "gemini": "set GEMINI_API_KEY", "bedrock": "set AWS_REGION", "ollama": "ollama serve",
	} {
		if s := find(list, provider); s.Ready || s.Why == "" || !strings.Contains(s.Next, next) || s.Models != nil {
			t.Errorf("%+v", s)
		}
	}
	if s := find(list, "demo"); !s.Ready || len(s.Models) == 0 || !s.Models[0].Simulated {
		t.Errorf("%+v", s)
	}
	list = opener(t, Options{Env: env(append(bare, "ANTHROPIC_API_KEY", "sk-ant-1", "AWS_REGION", "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK", "k",
		"OPENAI_BASE_URL", "http://127.0.0.1:9/v1")...)}).Survey([]Server{
		{Name: "Ollama", Address: "127.0.0.1:11434", Models: []string{"qwen3:8b and 3 more"}}, {Name: "vLLM", Address: "127.0.0.1:8000", Models: []string{"Qwen/Qwen3-8B"}},
	})
	claude := find(list, "anthropic")
	if !claude.Ready || claude.Why != "ANTHROPIC_API_KEY is set" || claude.Models[0].Ref != "anthropic:claude-sonnet-5-5" || !claude.Models[0].Usual ||
		claude.Models[0].ContextWindow != 1_000_000 || claude.Models[0].Price == nil || len(claude.Models) < 10 || claude.Models[1].Usual {
		t.Errorf("%+v", claude)
	}
	if s := find(list, "bedrock"); !s.Ready || s.Region != "eu-west-1" || s.Models[1].Ref != "bedrock:eu.anthropic.claude-opus-5-5" || s.Models[1].Price == nil {
		t.Errorf("%+v", s)
	}
	if s := find(list, "openai"); !s.Ready || s.Key != "" || !strings.Contains(s.Why, "127.0.0.1:9") || len(s.Models) != 1 || s.Models[0].Price != nil {
		t.Errorf("%+v", s)
	}
	if s := find(list, "ollama"); !s.Ready || s.Models[0].Ref != "ollama:qwen3:8b" {
		t.Errorf("%+v", s)
	}
	found := false
	for _, s := range list {
		for _, m := range s.Models {
			found = found || m.Ref == "openai:Qwen/Qwen3-8B?base=http://127.0.0.1:8000/v1"
			if s.Provider == "ollama" && m.Price != nil {
				t.Errorf("%s has a price", m.Ref)
			}
		}
		if strings.Contains(s.Why+s.Next, "sk-ant") {
			t.Errorf("the key is shown: %+v", s)
		}
	}
	if !found {
		t.Errorf("the other server is not there: %+v", list)
	}
	// Credentials that only a machine's role could give are not counted on.
	list = opener(t, Options{Env: env(append(bare, "AWS_REGION", "eu-west-1")...)}).Survey(nil)
	if s := find(list, "bedrock"); s.Ready || !strings.Contains(s.Next, "AWS_BEARER_TOKEN_BEDROCK") {
		t.Errorf("%+v", s)
	}
}

// What is listed of Bedrock has a price where it is served.
func TestModelsOfBedrockHavePrices(t *testing.T) {
	t.Parallel()
	for _, id := range bedrockKnown {
		if _, ok := pricing.Default().Find("bedrock:us."+id, "us-east-1", time.Now()); !ok {
			t.Errorf("%s has no price", id)
		}
	}
}

// What is not known of a model is said once, and hinders nobody.
func TestWhatIsNotKnownIsSaid(t *testing.T) {
	t.Parallel()
	table, err := pricing.Parse([]byte("prices:\n- {model: 'openai:gpt-4o', input: 1, output: 2, until: 2026-01-31}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	said := map[string]string{}
	o := opener(t, Options{
		Env:    env("OPENAI_API_KEY", openaitest.Key, "ANTHROPIC_API_KEY", "k"),
		Prices: pricing.Default().With(table),
		Warn: func(w Warning) {
			mu.Lock()
			defer mu.Unlock()
			if said[w.Model] != "" || w.Next == "" {
				t.Errorf("said again, or without a next step: %+v", w)
			}
			said[w.Model] = w.Text
		},
	})
	usage := event.Usage{Input: 1_000_000}
	for ref, want := range map[string]struct {
		text string
		nano int64 // -1: not known
	}{
		"openai:gpt-4o":                          {"promised until 2026-01-31", 1e9},
		"anthropic:claude-haiku-4-5":             {"", 1e9},
		"openai:gpt-9-sol":                       {"Nothing is known of openai:gpt-9-sol", -1},
		"anthropic:claude-opus-5-9":              {"The price of anthropic:claude-opus-5-9 is not known", -1},
		"openai:mine?base=http://127.0.0.1:9/v1": {"", -1},
		"demo:assistant":                         {"", 0},
	} {
		for range 2 {
			m, err := o.Open(ref)
			if err != nil {
				t.Fatalf("%s: %v", ref, err)
			}
			info := m.Info()
			if want.text == "" && said[info.Name] != "" || !strings.Contains(said[info.Name], want.text) {
				t.Errorf("%s: %q", ref, said[info.Name])
			}
			if info.Cost == nil {
				continue
			}
			if nano, known := info.Cost(usage); known != (want.nano >= 0) || known && nano != want.nano {
				t.Errorf("%s costs %d, %v", ref, nano, known)
			}
		}
	}
	before := len(said)
	if _, err := o.OpenNamed("openai:gpt-8-luna"); err != nil || len(said) != before {
		t.Errorf("a user's name for a model fills the operator's log: %v, %v", err, said)
	}
}
