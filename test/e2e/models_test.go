package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/openai/openaitest"
)

// outcome is the last line of --json.
type outcome struct {
	Kind  string      `json:"kind"`
	Text  string      `json:"text"`
	Usage event.Usage `json:"usage"`
	Cost  *int64      `json:"cost_nano_usd"`
}

func lastLine(t *testing.T, out string) outcome {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var o outcome
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &o); err != nil || o.Kind != "result" {
		t.Fatalf("no result (%v) in\n%s", err, out)
	}
	return o
}

// says is an answer of a text with a usage.
func says(words string, u event.Usage) anthropictest.Answer {
	return anthropictest.Stream([]model.Chunk{{Kind: model.ChunkText, Text: words}}, "end_turn", u)
}

// The first provider is too busy, the second answers; the cost is that of its price.
func TestTheNextModelAnswers(t *testing.T) {
	t.Parallel()
	busy := openaitest.Start(openaitest.Error(503, "server_error", "server_is_overloaded", "The server is overloaded."))
	t.Cleanup(busy.Close)
	claude := anthropictest.Start(says("Hello from Claude.", event.Usage{Input: 1000, Output: 10, CacheRead: 100}))
	t.Cleanup(claude.Close)
	env := environment(t, "BUSY_KEY="+openaitest.Key, "ANTHROPIC_API_KEY="+anthropictest.Key, "ANTHROPIC_BASE_URL="+claude.URL)
	out, errs, code := shell(t, env, t.TempDir(), "run", "--json", "-m", "openai:gpt-5.4?api=chat&base="+busy.URL+"&key=BUSY_KEY",
		"--fallback", "anthropic:claude-haiku-4-5", "--model-concurrency", "1", "Hi.")
	if code != 0 {
		t.Fatalf("%d: %s\n%s", code, errs, out)
	}
	o := lastLine(t, out)
	if o.Text != "Hello from Claude." {
		t.Errorf("%+v", o)
	}
	// What the call that was lost cost nobody knows, so the whole is not known.
	if len(busy.Asked()) != 1 || len(claude.Asked()) != 1 {
		t.Errorf("%d and %d requests", len(busy.Asked()), len(claude.Asked()))
	}
	if !strings.Contains(out, `"fallback":"anthropic:claude-haiku-4-5"`) {
		t.Errorf("the events do not tell of it:\n%s", out)
	}
}

// One string chooses the provider, and nothing else changes: each is asked on its own
// wire, by who its own variables say.
func TestOneStringForEveryProvider(t *testing.T) {
	t.Parallel()
	signed := []string{"AWS_ACCESS_KEY_ID=" + bedrocktest.KeyID, "AWS_SECRET_ACCESS_KEY=" + bedrocktest.Secret, "AWS_SESSION_TOKEN=" + bedrocktest.Token}
	for _, tc := range []struct {
		model string
		start func() (url string, close func())
		env   []string
		base  string // the variable with the address
	}{
		{"anthropic:claude-sonnet-5-5", func() (string, func()) {
			s := anthropictest.Start(anthropictest.Text("Hello."))
			return s.URL, s.Close
		}, []string{"ANTHROPIC_API_KEY=" + anthropictest.Key}, "ANTHROPIC_BASE_URL"},
		{"openai:gpt-5.4", func() (string, func()) {
			s := openaitest.Start(openaitest.Text(openaitest.Chat, "Hello."))
			return s.URL, s.Close
		}, []string{"OPENAI_API_KEY=" + openaitest.Key}, "OPENAI_BASE_URL"},
		{"openai:gpt-5.4?api=responses", func() (string, func()) {
			s := openaitest.Start(openaitest.Text(openaitest.Responses, "Hello."))
			return s.URL, s.Close
		}, []string{"OPENAI_API_KEY=" + openaitest.Key}, "OPENAI_BASE_URL"},
		{"gemini:gemini-2.5-flash", func() (string, func()) {
			s := geminitest.Start(geminitest.Text("Hello."))
			return s.URL, s.Close
		}, []string{"GOOGLE_API_KEY=" + geminitest.Key}, "GOOGLE_GEMINI_BASE_URL"},
		{"bedrock:us.amazon.nova-pro-v1:0", func() (string, func()) {
			s := bedrocktest.Start(bedrocktest.Text("Hello."))
			return s.URL, s.Close
		}, []string{"AWS_BEARER_TOKEN_BEDROCK=" + bedrocktest.Key}, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
		{"bedrock:us.amazon.nova-pro-v1:0?region=us-east-1", func() (string, func()) {
			s := bedrocktest.Start(bedrocktest.Text("Hello."))
			return s.URL, s.Close
		}, signed, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
		{"bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", func() (string, func()) {
			s := anthropictest.StartBedrock(anthropictest.BedrockText("Hello."))
			return s.URL, s.Close
		}, []string{"AWS_BEARER_TOKEN_BEDROCK=" + anthropictest.BedrockKey}, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
		{"bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0?region=us-east-1", func() (string, func()) {
			s := anthropictest.StartBedrock(anthropictest.BedrockText("Hello."))
			return s.URL, s.Close
		}, signedByClaude(t), "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
		{"bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0?api=converse", func() (string, func()) {
			s := bedrocktest.Start(bedrocktest.Text("Hello."))
			return s.URL, s.Close
		}, []string{"AWS_BEARER_TOKEN_BEDROCK=" + bedrocktest.Key}, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"},
	} {
		for _, path := range []string{"", "/gate/way", "/gate/way/"} {
			t.Run(tc.model+path, func(t *testing.T) {
				t.Parallel()
				address, end := tc.start()
				defer end()
				if path != "" {
					address = gateway(t, address, strings.TrimSuffix(path, "/"), tc.env) + path
				}
				env := environment(t, append([]string{tc.base + "=" + address}, tc.env...)...)
				out, errs, code := shell(t, env, t.TempDir(), "run", "-q", "-m", tc.model, "Hi.")
				if code != 0 || out != "Hello.\n" || errs != "" {
					t.Errorf("%d: %q, %s", code, out, errs)
				}
			})
		}
	}
}

// signedByClaude are the variables with which the stand-in of Claude on Bedrock takes signatures.
func signedByClaude(t *testing.T) []string {
	t.Helper()
	s := anthropictest.StartBedrock()
	defer s.Close()
	keys, err := s.Signed().Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return []string{"AWS_ACCESS_KEY_ID=" + keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + keys.SecretAccessKey, "AWS_SESSION_TOKEN=" + keys.SessionToken}
}

// gateway stands before a provider, below a path. It verifies signatures of AWS, which are of the whole path, and asks with a key of
// its own.
func gateway(t *testing.T, provider, path string, env []string) string {
	t.Helper()
	var keys sigv4.Keys
	for _, pair := range env {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "AWS_ACCESS_KEY_ID":
			keys.ID = value
		case "AWS_SECRET_ACCESS_KEY":
			keys.Secret = value
		case "AWS_SESSION_TOKEN":
			keys.Token = value
		}
	}
	to, err := url.Parse(provider)
	if err != nil {
		t.Fatal(err)
	}
	pass := http.StripPrefix(path, httputil.NewSingleHostReverseProxy(to))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-") {
			if code, message := sigv4.Check(r, body, keys, bedrocktest.Region, "bedrock", time.Now()); code != "" {
				http.Error(w, code+": "+message, http.StatusForbidden)
				return
			}
			key := bedrocktest.Key
			if strings.Contains(r.URL.Path, "/invoke") {
				key = anthropictest.BedrockKey
			}
			r.Header.Set("Authorization", "Bearer "+key)
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A cost is a whole number of nano-dollars, from the table or from one's own.
func TestCostsOfTheCommand(t *testing.T) {
	t.Parallel()
	claude := anthropictest.Start(says("One.", event.Usage{Input: 1000, Output: 10, CacheRead: 100}), says("Two.", event.Usage{Input: 1000, Output: 10, CacheRead: 100}))
	t.Cleanup(claude.Close)
	env := environment(t, "ANTHROPIC_API_KEY="+anthropictest.Key, "ANTHROPIC_BASE_URL="+claude.URL)
	for _, tc := range []struct {
		model string
		nano  int64
	}{{"anthropic:claude-haiku-4-5", 1000*1000 + 10*5000 + 100*100}, {"anthropic:claude-of-nobody", -1}} {
		out, errs, code := shell(t, env, t.TempDir(), "run", "--json", "-m", tc.model, "Hi.")
		if code != 0 {
			t.Fatalf("%d: %s", code, errs)
		}
		if o := lastLine(t, out); (o.Cost != nil) != (tc.nano >= 0) || o.Cost != nil && *o.Cost != tc.nano {
			t.Errorf("%s: %+v, want %d", tc.model, o, tc.nano)
		}
	}
}

// The limits of a key hold for the command: after a call that took more than a
// minute has, the next one waits, and stops waiting when its time is over.
func TestLimitsOfTheCommand(t *testing.T) {
	t.Parallel()
	call := anthropictest.Stream([]model.Chunk{
		{Kind: model.ChunkCall, ID: "toolu_1", Text: "calculator"}, {Kind: model.ChunkCallInput, Text: `{"expression":"6*7"}`},
	}, "tool_use", event.Usage{Input: 5000, Output: 10})
	claude := anthropictest.Start(call, anthropictest.Text("42"), call, anthropictest.Text("42"))
	t.Cleanup(claude.Close)
	env := environment(t, "ANTHROPIC_API_KEY="+anthropictest.Key, "ANTHROPIC_BASE_URL="+claude.URL)
	args := []string{"run", "-q", "--tools", "calculator", "--timeout", "15s", "-m", "anthropic:claude-haiku-4-5", "What is 6*7?"}
	out, errs, code := shell(t, env, t.TempDir(), args...)
	if code != 0 || out != "42\n" {
		t.Fatalf("without limits: %d, %q: %s", code, out, errs)
	}
	out, errs, code = shell(t, append(env, "BRAID_MODEL_TOKENS=2000"), t.TempDir(), args...)
	if code == 0 || !strings.Contains(errs, "time") || len(claude.Asked()) != 3 {
		t.Errorf("%d, %q, %d requests: %s", code, out, len(claude.Asked()), errs)
	}
}

// A run names its model to a server that has a key for it, and is told where there
// is none; where the server's own fails, the next one answers.
func TestModelsOfTheServer(t *testing.T) {
	t.Parallel()
	claude := anthropictest.Start(anthropictest.Text("Hello from the one that was named."), anthropictest.Text("Hello from the second."))
	t.Cleanup(claude.Close)
	busy := openaitest.Start(openaitest.Error(503, "server_error", "server_is_overloaded", "The server is overloaded."))
	t.Cleanup(busy.Close)
	s := startServerIn(t, environment(t, "BUSY_KEY="+openaitest.Key, "ANTHROPIC_API_KEY="+anthropictest.Key, "ANTHROPIC_BASE_URL="+claude.URL), t.TempDir(),
		"--model", "openai:gpt-5.4?api=chat&key=BUSY_KEY&base="+busy.URL, "--fallback", "anthropic:claude-haiku-4-5", "--titles", "words")
	list := s.ask(http.MethodGet, "/v1/models", "")
	body, _ := io.ReadAll(list.Body)
	list.Body.Close()
	for _, want := range []string{`"anthropic:claude-sonnet-5-5"`, `"gemini:gemini-3.6-flash"`, `there is no key for Gemini`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	say := func(model string) (status int, text string) {
		t.Helper()
		conv := s.ask(http.MethodPost, "/v1/conversations", "")
		var c struct {
			ID string `json:"id"`
		}
		err := json.NewDecoder(conv.Body).Decode(&c)
		conv.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]any{"user_input": "Hi."}
		if model != "" {
			in["model"] = model
		}
		data, _ := json.Marshal(in)
		res := s.ask(http.MethodPost, "/v1/conversations/"+c.ID+"/runs", string(data), "Accept", "text/event-stream")
		defer res.Body.Close()
		answer, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(answer)
	}
	if status, text := say("anthropic:claude-opus-5-5"); status >= 300 || !strings.Contains(text, "the one that was named") {
		t.Errorf("%d: %s", status, text)
	}
	if status, text := say(""); status >= 300 || !strings.Contains(text, "the second") {
		t.Errorf("%d: %s", status, text)
	}
	for _, model := range []string{"gemini:gemini-2.5-pro", "openai:gpt-5.4?base=http://127.0.0.1:1", "demo:/etc/passwd", "nobody:x"} {
		if status, text := say(model); status < 400 || !strings.Contains(text, "model") {
			t.Errorf("%s: %d: %s", model, status, text)
		}
	}
}
