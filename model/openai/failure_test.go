package openai_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

func hello() *model.Request {
	return &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hello."}}}}}
}

func failed(t *testing.T, r modeltest.Read) *event.Error {
	t.Helper()
	var e *event.Error
	if !errors.As(r.Err, &e) {
		t.Fatalf("no error of ours: %v", r.Err)
	}
	return e
}

// Errors by status, type, code and message: OpenAI's (guides/error-codes,
// guides/rate-limits), and those of other servers as users have published them.
func TestErrors(t *testing.T) {
	t.Parallel()
	body := func(kind, code, message string) string { return openaitest.Error(0, kind, code, message).Body }
	for _, tc := range []struct {
		status int
		body   string
		header map[string]string
		want   event.ErrorKind
		after  time.Duration
		says   string
	}{
		{400, body("invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens."), nil, event.ErrContextOverflow, 0, "8192"},
		{
			400, body("invalid_request_error", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again."),
			nil, event.ErrContextOverflow, 0, "adjust your input",
		},
		{ // vLLM
			400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`,
			nil, event.ErrContextOverflow, 0, "4096",
		},
		{ // llama.cpp
			400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`,
			nil, event.ErrContextOverflow, 0, "available context",
		},
		{ // OpenRouter
			400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens","code":400}}`,
			nil, event.ErrContextOverflow, 0, "32768",
		},
		{ // Ollama
			400, `{"error":{"message":"prompt too long; exceeded max context length by 39604 tokens","type":"invalid_request_error","param":null,"code":null}}`,
			nil, event.ErrContextOverflow, 0, "39604",
		},
		{ // Perplexity
			400, `{"error":{"message":"Number of tokens of the prompt is over the limit","type":"too_many_prompt_tokens","code":400}}`,
			nil, event.ErrContextOverflow, 0, "over the limit",
		},
		{ // xAI
			400, `{"code":"invalid-argument","error":"Incorrect API key provided: xa***00. You can obtain an API key from the console."}`,
			nil, event.ErrModelAuth, 0, "Incorrect API key",
		},
		{ // Mistral
			422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted",` +
				`"input":{"include_usage":true},"url":"https://errors.pydantic.dev/x"}]},"type":"invalid_request_error","param":null,"code":null}`,
			nil, event.ErrInvalid, 0, "body: stream_options: Extra inputs are not permitted",
		},
		{422, `{"detail":[{"loc":["body","n",1],"msg":"field required"}]}`, nil, event.ErrInvalid, 0, "body: n: field required"},
		{400, body("invalid_request_error", "unsupported_parameter", "Unsupported parameter: 'x'"), nil, event.ErrInvalid, 0, "Unsupported"},
		{400, body("invalid_request_error", "", "max_tokens is too large: 999999. This model supports at most 16384"), nil, event.ErrInvalid, 0, "16384"},
		{400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`, nil, event.ErrModelNotFound, 0, "not a valid model"},
		{401, body("invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-proj-abcdefgh."), nil, event.ErrModelAuth, 0, "[redacted]"},
		{401, `{"error":{"message":"No auth credentials found","code":401}}`, nil, event.ErrModelAuth, 0, "credentials"},
		{402, `{"error":{"message":"Insufficient credits","code":402}}`, nil, event.ErrModel, 0, "credits"},
		{403, body("request_forbidden", "unsupported_country_region_territory", "Country not supported"), nil, event.ErrModelAuth, 0, "Country"},
		{404, body("invalid_request_error", "model_not_found", "The model `x` does not exist"), nil, event.ErrModelNotFound, 0, "does not exist"},
		{404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, nil, event.ErrModelNotFound, 0, "try pulling"},
		{404, `{"error":"model 'x' not found"}`, nil, event.ErrModelNotFound, 0, "not found"},
		{404, `{"detail":"Not Found"}`, nil, event.ErrModelNotFound, 0, "Not Found"},
		{404, `404 page not found`, nil, event.ErrModelNotFound, 0, "has no model"},
		{408, body("server_error", "", "Timeout"), nil, event.ErrUnavailable, 0, "Timeout"},
		{409, body("conflict", "", "x"), nil, event.ErrUnavailable, 0, "x"},
		{413, `<html>413 Request Entity Too Large</html>`, nil, event.ErrTooLarge, 0, "too large"},
		{429, body("requests", "rate_limit_exceeded", "Rate limit reached"), nil, event.ErrThrottled, 0, "Rate limit"},
		{429, body("requests", "rate_limit_exceeded", "x"), map[string]string{"Retry-After": "17"}, event.ErrThrottled, 17 * time.Second, "x"},
		{429, body("tokens", "rate_limit_exceeded", "x"), map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}, event.ErrThrottled, 1500 * time.Millisecond, "x"},
		{429, body("tokens", "rate_limit_exceeded", "Limit 30000, Used 29000. Please try again in 6.5s."), nil, event.ErrThrottled, 6500 * time.Millisecond, "6.5s"},
		{429, body("tokens", "rate_limit_exceeded", "Please try again in 20ms."), nil, event.ErrThrottled, 20 * time.Millisecond, "20ms"},
		{429, body("tokens", "rate_limit_exceeded", "try again in 6s"), map[string]string{"Retry-After": "1e300"}, event.ErrThrottled, 24 * time.Hour, "6s"},
		{429, body("x", "", "x"), map[string]string{"Retry-After": "soon"}, event.ErrThrottled, 0, "x"},
		{
			429, body("insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
			map[string]string{"Retry-After": "3"},
			event.ErrModel, 0, "quota",
		},
		{429, `{"error":{"message":"You exceeded your current quota","code":429}}`, nil, event.ErrModel, 0, "quota"},
		{500, body("server_error", "", "The server had an error"), nil, event.ErrUnavailable, 0, "server had an error"},
		{500, `{"error":"llama runner process has terminated"}`, nil, event.ErrUnavailable, 0, "terminated"},
		{502, `<html>Bad Gateway</html>`, nil, event.ErrUnavailable, 0, "failed"},
		{503, body("server_error", "", "That model is currently overloaded with other requests."), nil, event.ErrOverloaded, 0, "overloaded"},
		{503, body("server_error", "slow_down", "Slow down"), map[string]string{"Retry-After": "60"}, event.ErrOverloaded, time.Minute, "Slow down"},
		{503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, nil, event.ErrOverloaded, 0, "busy"},
		{503, body("server_error", "", "x"), nil, event.ErrUnavailable, 0, "x"},
		{418, body("teapot", "", "x"), nil, event.ErrInvalid, 0, "x"},
		{400, body("invalid_request_error", "", "the key "+openaitest.Key+" is wrong\nand\x1b[31m "+strings.Repeat("long ", 200)), nil, event.ErrInvalid, 0, "the key [redacted] is wrong and [31m"},
	} {
		for _, k := range []kind{reasoner, chatting} {
			answer := openaitest.Answer{Status: tc.status, Body: tc.body, Header: map[string]string{"Content-Type": "application/json"}}
			maps.Copy(answer.Header, tc.header)
			m, server := open(t, k, nil, answer)
			e := failed(t, modeltest.Call(t.Context(), m, hello()))
			if e.Kind != tc.want || e.RetryAfter != tc.after || !strings.Contains(e.Message, tc.says) || e.Hint == "" {
				t.Errorf("%d %s: %s after %v: %v", tc.status, tc.body, e.Kind, e.RetryAfter, e)
			}
			all := fmt.Sprintf("%v %+v %v %+v", e, e, e.Err, e.Err)
			if strings.Contains(all, "sk-proj") || strings.Contains(all, "Bearer") || strings.ContainsAny(e.Message, "\n\x1b") || len(e.Message) > 500 {
				t.Errorf("the error shows too much: %s", all)
			}
			if n := len(server.Asked()); n != 1 {
				t.Errorf("%d requests", n)
			}
		}
	}
}

// The same in the middle of a stream, where no status tells.
func TestErrorsInTheStream(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		k     kind
		event string
		want  event.ErrorKind
		code  string
		after time.Duration
	}{
		{reasoner, openaitest.Failed("server_error", "The model failed."), event.ErrUnavailable, "server_error", 0},
		{reasoner, openaitest.Failed("rate_limit_exceeded", "Please try again in 11.054s."), event.ErrThrottled, "rate_limit_exceeded", 11054 * time.Millisecond},
		{reasoner, openaitest.Failed("context_length_exceeded", "Your input exceeds the context window of this model."), event.ErrContextOverflow, "context_length_exceeded", 0},
		{reasoner, openaitest.Failed("server_is_overloaded", "x"), event.ErrOverloaded, "server_is_overloaded", 0},
		{reasoner, openaitest.Failed("invalid_prompt", "x"), event.ErrInvalid, "invalid_prompt", 0},
		{reasoner, openaitest.Failed("bio_policy", "x"), event.ErrModel, "bio_policy", 0},
		{reasoner, "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"x\",\"param\":null}\n\n", event.ErrUnavailable, "server_error", 0},
		{reasoner, openaitest.ErrorEvent(openaitest.Responses, "insufficient_quota", "insufficient_quota", "x"), event.ErrModel, "insufficient_quota", 0},
		{chatting, openaitest.ErrorEvent(openaitest.Chat, "server_error", "", "x"), event.ErrUnavailable, "server_error", 0},
		{local, "data: {\"error\":{\"code\":502,\"message\":\"Provider disconnected\"},\"choices\":[]}\n\n", event.ErrUnavailable, "", 0},
		{local, "data: {\"error\":\"an error was encountered while running the model\"}\n\n", event.ErrModel, "", 0},
		{local, "data: {\"object\":\"error\"}\n\ndata: {\"choices\":{}}\n\n", event.ErrStreamCut, "", 0},
		{local, "data: [\n\n", event.ErrStreamCut, "", 0},
	} {
		begun := openaitest.Begun(tc.k.api, []model.Chunk{{Kind: model.ChunkText, Text: "So"}}, event.StopEndTurn)
		m, _ := open(t, tc.k, nil, openaitest.Answer{Body: begun + tc.event})
		r := modeltest.Call(t.Context(), m, hello())
		if e := failed(t, r); e.Kind != tc.want || e.Code != tc.code || e.RetryAfter != tc.after || r.Pieces != 1 {
			t.Errorf("%s: %s, code %q after %v: %v", tc.event, e.Kind, e.Code, e.RetryAfter, e)
		}
	}
}

// A key goes to the address that was given, or nowhere.
func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	other := openaitest.Start(openaitest.Text(openaitest.Chat, "Hello."))
	t.Cleanup(other.Close)
	server := openaitest.Start(openaitest.Answer{Status: http.StatusTemporaryRedirect, Header: map[string]string{"Location": other.URL + "/chat/completions"}})
	t.Cleanup(server.Close)
	m, err := openai.New("gpt-4o", secret.New(openaitest.Key), openai.BaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModel || len(server.Asked()) != 1 || len(other.Asked()) != 0 {
		t.Errorf("%v, %d requests there", e, len(other.Asked()))
	}
}

func TestWhatIsNoStream(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/html", ""} {
		m, _ := open(t, local, nil, openaitest.Answer{Body: "{}", Header: map[string]string{"Content-Type": kind}})
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModel || !strings.Contains(e.Hint, "OPENAI_BASE_URL") {
			t.Errorf("%q: %v", kind, e)
		}
	}
}

// absent is a network in which a server is not there.
type absent struct{ err error }

func (a absent) RoundTrip(*http.Request) (*http.Response, error) { return nil, a.err }

// A server that is not there is named with its address and with what to do, and the loop can
// tell it from one that failed.
func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	dial := func(op string, err error) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	refused, nowhere := dial("dial", syscall.ECONNREFUSED), &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "nowhere.example", Err: "no such host", IsNotFound: true}}
	busy := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "nowhere.example", Err: "server misbehaving", IsTemporary: true}}
	for name, tc := range map[string]struct {
		opts             []openai.Option
		err              error
		op, code         string
		says, then, lack string
	}{
		"Ollama": {
			[]openai.Option{openai.BaseURL(openai.Ollama), openai.Named("ollama"), openai.Sources("", "base=")},
			refused,
			"model ollama", model.CodeRefused, "Ollama cannot be reached: no server listens at 127.0.0.1:11434", "ollama serve", "OPENAI",
		},
		"a server": {
			[]openai.Option{openai.BaseURL("http://10.0.0.9:8000/v1")},
			refused,
			"model openai", model.CodeRefused, "no server listens at 10.0.0.9:8000", "correct its address, OPENAI_BASE_URL", "ollama",
		},
		"a vendor of a row": {
			[]openai.Option{openai.BaseURL("https://api.groq.com/openai/v1"), openai.Named("groq"), openai.Titled("Groq", "GROQ_API_KEY"), openai.Sources("", "base=")},
			refused, "model groq", model.CodeRefused, "Groq cannot be reached: no server listens at api.groq.com", "check the address, base=", "start",
		},
		"a host that does not exist": {
			[]openai.Option{openai.BaseURL("https://nowhere.example/v1"), openai.Sources("", "base=")},
			nowhere,
			"model openai", model.CodeNoHost, `there is no host "nowhere.example"`, "base=", "OPENAI_BASE_URL",
		},
		"the vendor":                   {nil, refused, "model openai", model.CodeRefused, "no server listens at api.openai.com", "proxy", "start"},
		"a proxy":                      {nil, dial("proxyconnect", syscall.ECONNREFUSED), "model openai", model.CodeRefused, "the proxy refused the connection", "proxy", "start"},
		"a name server that is busy":   {nil, busy, "model openai", model.CodeUnreachable, "cannot be reached at api.openai.com", "network", "start"},
		"a network that does not work": {nil, dial("dial", syscall.ENETUNREACH), "model openai", model.CodeUnreachable, "cannot be reached at api.openai.com", "network", "start"},
	} {
		m, err := openai.New("x", secret.New("k"), append(tc.opts, openai.HTTPClient(&http.Client{Transport: absent{tc.err}}))...)
		if err != nil {
			t.Fatal(err)
		}
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		if e.Kind != event.ErrUnavailable || e.Op != tc.op || e.Code != tc.code || !strings.Contains(e.Message, tc.says) || !strings.Contains(e.Hint, tc.then) ||
			strings.Contains(e.Message+e.Hint, tc.lack) || !model.NoAnswer(e) || model.Unreached(e) != (tc.code != model.CodeUnreachable) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	m, err := openai.New("x", secret.Secret{}, openai.BaseURL("http://127.0.0.1:1/v1"))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Code != model.CodeRefused {
		t.Errorf("nobody there: %+v", e)
	}
}

// slow is a network whose answer comes piece by piece, with a pause before each.
type slow struct {
	pause time.Duration
	body  string
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	go func() {
		for piece := range strings.SplitSeq(s.body, "\n\n") {
			select {
			case <-time.After(s.pause):
			case <-r.Context().Done():
				out.CloseWithError(r.Context().Err())
				return
			}
			if _, err := io.WriteString(out, piece+"\n\n"); err != nil {
				return
			}
		}
		out.Close()
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: in, Request: r}, nil
}

// A stall is a pause that is too long, not an answer that takes long.
func TestOnlyAPauseIsAStall(t *testing.T) {
	t.Parallel()
	for pause, want := range map[time.Duration]event.ErrorKind{time.Minute: "", 6 * time.Minute: event.ErrStreamCut} {
		synctest.Test(t, func(t *testing.T) {
			answer := openaitest.Text(openaitest.Responses, strings.Split(strings.Repeat("word ", 40), "")...)
			m, err := openai.New("gpt-5.4", secret.New("k"), openai.HTTPClient(&http.Client{Transport: slow{pause, answer.Body}}))
			if err != nil {
				t.Fatal(err)
			}
			r := modeltest.Call(t.Context(), m, hello())
			if event.KindOf(r.Err) != want {
				t.Errorf("%v: %v", pause, r.Err)
			}
			if e := new(event.Error); errors.As(r.Err, &e) && e.Code != "stall" {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestAWrongModelIsNotMade(t *testing.T) {
	t.Parallel()
	key := secret.New("k")
	for name, err := range map[string]error{
		"no name":     second(openai.New("", key)),
		"a long name": second(openai.New(strings.Repeat("x", 200), key)),
		"an odd name": second(openai.New("gpt 5", key)),
		"an address":  second(openai.New("x", key, openai.BaseURL("host"))),
		"a user":      second(openai.New("x", key, openai.BaseURL("https://me:pw@host/v1"))),
		"an API":      second(openai.New("x", key, openai.Use("assistants"))),
		"an effort":   second(openai.New("x", key, openai.Effort("huge"))),
		"a prefix":    second(openai.New("x", key, openai.Named("O:"))),
		"no client":   second(openai.New("x", key, openai.HTTPClient(nil))),
		"a stall":     second(openai.New("x", key, openai.Stall(-1))),
	} {
		if e := new(event.Error); !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Hint == "" || strings.Contains(e.Error(), "pw") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, opts := range [][]openai.Option{nil, {openai.BaseURL("https://eu.api.openai.com/v1")}} {
		if err := second(openai.New("gpt-5.4", secret.Secret{}, opts...)); !errors.Is(err, event.ErrModelAuth) || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
			t.Errorf("no key: %v", err)
		}
	}
}

func second(_ *openai.Model, err error) error { return err }
