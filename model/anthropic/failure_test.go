package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

const sonnet = "claude-sonnet-5-5"

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

// The API's errors, by status, type and message (api/errors, api/rate-limits,
// and messages as users have published them).
func TestErrorsOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status        int
		kind, message string
		header        map[string]string
		want          event.ErrorKind
		after         time.Duration
		says          string
	}{
		{400, "invalid_request_error", "prompt is too long: 207791 tokens > 200000 maximum", nil, event.ErrContextOverflow, 0, "207791 tokens"},
		{
			400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
			nil, event.ErrContextOverflow, 0, "178959",
		},
		{
			400, "invalid_request_error",
			"max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens", nil, event.ErrInvalid,
			0, "128000",
		},
		{
			400, "invalid_request_error",
			"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
			nil, event.ErrModel, 0, "credit balance",
		},
		{
			400, "invalid_request_error",
			"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
			nil, event.ErrModel, 0, "regain access",
		},
		{401, "authentication_error", "invalid x-api-key", nil, event.ErrModelAuth, 0, "invalid x-api-key"},
		{402, "billing_error", "Your payment method was declined.", nil, event.ErrModel, 0, "declined"},
		{403, "permission_error", "Your API key does not have permission to use the specified resource.", nil, event.ErrModelAuth, 0, "permission"},
		{404, "not_found_error", "model: claude-sonnet-5-5", nil, event.ErrModelNotFound, 0, sonnet},
		{408, "timeout_error", "Request timed out", nil, event.ErrUnavailable, 0, "timed out"},
		{409, "conflict_error", "Conflict", nil, event.ErrUnavailable, 0, "Conflict"},
		{413, "request_too_large", "Request exceeds the maximum size", nil, event.ErrTooLarge, 0, "maximum size"},
		{429, "rate_limit_error", "This request would exceed your organization's rate limit", nil, event.ErrThrottled, 0, "rate limit"},
		{429, "rate_limit_error", "x", map[string]string{"Retry-After": "17"}, event.ErrThrottled, 17 * time.Second, "x"},
		{429, "rate_limit_error", "x", map[string]string{"Retry-After": "0.5"}, event.ErrThrottled, 500 * time.Millisecond, "x"},
		{429, "rate_limit_error", "x", map[string]string{"Retry-After": "-3"}, event.ErrThrottled, 0, "x"},
		{429, "rate_limit_error", "x", map[string]string{"Retry-After": "1e300"}, event.ErrThrottled, 24 * time.Hour, "x"},
		{429, "rate_limit_error", "x", map[string]string{"Retry-After": "soon"}, event.ErrThrottled, 0, "x"},
		{
			429, "rate_limit_error", "x",
			map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"},
			event.ErrThrottled, 1500 * time.Millisecond, "x",
		},
		{429, "rate_limit_error", "x", map[string]string{"x-should-retry": "true"}, event.ErrThrottled, 0, "x"},
		{500, "api_error", "Internal server error", nil, event.ErrUnavailable, 0, "Internal server error"},
		{503, "api_error", "x", map[string]string{"Retry-After": "4"}, event.ErrUnavailable, 4 * time.Second, "x"},
		{504, "timeout_error", "x", nil, event.ErrUnavailable, 0, "x"},
		{529, "overloaded_error", "Overloaded", map[string]string{"Retry-After": "60"}, event.ErrOverloaded, time.Minute, "Overloaded"},
		{500, "something_new", "x", nil, event.ErrUnavailable, 0, "x"},
		{418, "something_new", "x", nil, event.ErrInvalid, 0, "x"},
		{
			400, "invalid_request_error", "the key " + anthropictest.Key + " or sk-ant-api03-other_one is wrong", nil,
			event.ErrInvalid, 0, "the key [redacted] or [redacted] is wrong",
		},
		{400, "invalid_request_error", "two\nlines\x1b[31m " + strings.Repeat("long ", 200), nil, event.ErrInvalid, 0, "two lines [31m long"},
	} {
		answer := anthropictest.Error(tc.status, tc.kind, tc.message)
		maps.Copy(answer.Header, tc.header)
		m, server := open(t, sonnet, nil, answer)
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		if e.Kind != tc.want || e.RetryAfter != tc.after || e.Code != tc.kind || !strings.Contains(e.Message, tc.says) || e.Hint == "" && e.Kind != event.ErrModel {
			t.Errorf("%d %s %q: %s after %v, code %s: %v", tc.status, tc.kind, tc.message, e.Kind, e.RetryAfter, e.Code, e)
		}
		all := fmt.Sprintf("%v %+v %v %+v", e, e, e.Err, e.Err)
		if strings.Contains(all, "sk-ant") || strings.Contains(all, "Bearer") || strings.ContainsAny(e.Message, "\n\x1b") || len(e.Message) > 500 {
			t.Errorf("the error shows too much: %s", all)
		}
		if n := len(server.Asked()); n != 1 {
			t.Errorf("%d requests", n)
		}
	}
}

func TestRetryAfterADate(t *testing.T) {
	t.Parallel()
	answer := anthropictest.Error(429, "rate_limit_error", "x")
	answer.Header["Retry-After"] = time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	m, _ := open(t, sonnet, nil, answer)
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.RetryAfter < 58*time.Minute || e.RetryAfter > time.Hour {
		t.Errorf("after %v", e.RetryAfter)
	}
}

// What is not the API: a proxy's page, a plain answer, an address where nobody is.
func TestWhatIsNotTheAPI(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer anthropictest.Answer
		want   event.ErrorKind
	}{
		"a page of a proxy": {
			anthropictest.Answer{Status: 502, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Bad Gateway</html>"},
			event.ErrUnavailable,
		},
		"a page that is found": {
			anthropictest.Answer{Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Welcome</html>"},
			event.ErrModel,
		},
		"a page that is not": {
			anthropictest.Answer{Status: 404, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>404</html>"},
			event.ErrModelNotFound,
		},
		"an answer at once": {
			anthropictest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"type":"message"}`},
			event.ErrModel,
		},
		"an empty stream":       {anthropictest.Answer{Body: ""}, event.ErrStreamCut},
		"no JSON in an event":   {anthropictest.Answer{Body: "event: message_start\ndata: {\"type\":\n\n"}, event.ErrStreamCut},
		"an end without reason": {anthropictest.Answer{Body: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}, event.ErrStreamCut},
		"an error of a kind that nobody knows": {
			anthropictest.Answer{Body: anthropictest.ErrorEvent("mystery_error", "hm")}, event.ErrModel,
		},
		"an overflow in the stream": {
			anthropictest.Answer{Body: anthropictest.ErrorEvent("invalid_request_error", "prompt is too long: 5 tokens > 4 maximum")},
			event.ErrContextOverflow,
		},
		"a limit in the stream": {anthropictest.Answer{Body: anthropictest.ErrorEvent("rate_limit_error", "slow down")}, event.ErrThrottled},
	} {
		m, _ := open(t, sonnet, nil, tc.answer)
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != tc.want {
			t.Errorf("%s: %s, want %s: %v", name, e.Kind, tc.want, e)
		}
	}
	m, err := anthropic.New(sonnet, secret.New("k"), anthropic.BaseURL("http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrUnavailable || !strings.Contains(e.Hint, "ANTHROPIC_BASE_URL") {
		t.Errorf("nobody there: %v", e)
	}
}

// A key goes nowhere but to the address that was given.
func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	other := anthropictest.Start(anthropictest.Text("Hello."))
	t.Cleanup(other.Close)
	server := anthropictest.Start(anthropictest.Answer{Status: 307, Header: map[string]string{"Location": other.URL + "/v1/messages"}})
	t.Cleanup(server.Close)
	m, err := anthropic.New(sonnet, secret.New(anthropictest.Key), anthropic.BaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModel || len(other.Asked()) != 0 {
		t.Errorf("%v; %d requests elsewhere", e, len(other.Asked()))
	}
}

// What the server itself refuses comes as what the API would say.
func TestAWrongKey(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start()
	t.Cleanup(server.Close)
	m, err := anthropic.New(sonnet, secret.New("sk-ant-wrong"), anthropic.BaseURL(server.URL+"/"), anthropic.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModelAuth || !strings.Contains(e.Hint, "ANTHROPIC_API_KEY") {
		t.Errorf("%v", e)
	}
}

func TestACallThatIsTooLong(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, nil)
	server.Window = 1000
	req := hello()
	req.Instructions = strings.Repeat("word ", 1000)
	if e := failed(t, modeltest.Call(t.Context(), m, req)); e.Kind != event.ErrContextOverflow {
		t.Errorf("%v", e)
	}
}

// Nothing but what was given goes out: no other key of the environment, no
// tracing, nothing on standard error.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_BASE_URL"} {
		t.Setenv(name, "https://other.example.com")
	}
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Other: 1")
	m, server := open(t, sonnet, nil, anthropictest.Text("Hello."))
	if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
		t.Fatal(r.Err)
	}
	h := server.Asked()[0].Header
	if h.Get("Authorization") != "Bearer "+anthropictest.Key || h.Get("X-Api-Key") != "" || h.Get("X-Other") != "" || h.Get("Traceparent") != "" {
		t.Errorf("headers %v", h)
	}
	if h.Get("Anthropic-Version") != "2026-10-21" || h.Get("User-Agent") != "braid" || h.Get("Accept") != "text/event-stream" {
		t.Errorf("headers %v", h)
	}
}

func TestTheOlderVersion(t *testing.T) {
	t.Parallel()
	m, server := open(t, "claude-sonnet-4-5", []anthropic.Option{anthropic.Version("2023-06-01")}, anthropictest.Text("Hello."))
	req := hello()
	temperature := 0.0
	req.Options.Temperature = &temperature
	if r := modeltest.Call(t.Context(), m, req); r.Err != nil {
		t.Fatal(r.Err)
	}
	if asked := server.Asked()[0]; asked.Header.Get("Anthropic-Version") != "2023-06-01" || !strings.Contains(string(asked.Body), `"temperature":0,`) {
		t.Errorf("%s %s", asked.Header, asked.Body)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	key := secret.New("sk-ant-1")
	for name, tc := range map[string]struct {
		name string
		key  secret.Secret
		opt  anthropic.Option
		want event.ErrorKind
	}{
		"no key":        {sonnet, secret.Secret{}, nil, event.ErrModelAuth},
		"no name":       {"", key, nil, event.ErrInvalid},
		"a strange one": {"claude\nx", key, nil, event.ErrInvalid},
		"an address":    {sonnet, key, anthropic.BaseURL("host"), event.ErrInvalid},
		"a client":      {sonnet, key, anthropic.HTTPClient(nil), event.ErrInvalid},
		"a stall":       {sonnet, key, anthropic.Stall(-1), event.ErrInvalid},
		"a cache":       {sonnet, key, anthropic.Cache("much"), event.ErrInvalid},
		"a version":     {sonnet, key, anthropic.Version("v2"), event.ErrInvalid},
	} {
		var opts []anthropic.Option
		if tc.opt != nil {
			opts = append(opts, tc.opt)
		}
		m, err := anthropic.New(tc.name, tc.key, opts...)
		var e *event.Error
		if m != nil || !errors.As(err, &e) || e.Kind != tc.want || e.Hint == "" || strings.Contains(err.Error(), "sk-ant") {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// wire is a transport in memory, so that time can be the test's own.
type wire func(*http.Request) io.ReadCloser

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: w(r), Request: r,
		ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// paced gives a piece each time, with a pause before it.
type paced struct {
	ctx    context.Context
	pieces []string
	pause  time.Duration
}

func (p *paced) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		<-p.ctx.Done()
		return 0, p.ctx.Err()
	}
	t := time.NewTimer(p.pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.ctx.Done():
		return 0, p.ctx.Err()
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

func (p *paced) Close() error { return nil }

// Silence counts, length and slow readers do not.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		whole := anthropictest.Text("one ", "two ", "three").Body
		events := strings.SplitAfter(whole, "\n\n")
		call := func(stall, pause, reader time.Duration, pieces []string) (modeltest.Read, time.Duration) {
			client := &http.Client{Transport: wire(func(r *http.Request) io.ReadCloser {
				return &paced{ctx: r.Context(), pieces: append([]string(nil), pieces...), pause: pause}
			})}
			m, err := anthropic.New(sonnet, secret.New("k"), anthropic.HTTPClient(client), anthropic.Stall(stall))
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			var chunks []model.Chunk
			var failure error
			for c, err := range m.Stream(t.Context(), hello()) {
				if err != nil {
					failure = err
					break
				}
				chunks = append(chunks, c)
				time.Sleep(reader)
			}
			return modeltest.Put(chunks, failure), time.Since(begun)
		}
		if r, took := call(time.Minute, 59*time.Second, 0, events); r.Err != nil || took < 8*time.Minute {
			t.Errorf("a slow answer: %v after %v", r.Err, took)
		}
		if r, _ := call(time.Minute, time.Second, time.Hour, events); r.Err != nil {
			t.Errorf("a slow reader: %v", r.Err)
		}
		if r, took := call(0, 24*time.Hour, 0, events); r.Err != nil || took < 24*time.Hour {
			t.Errorf("no bound: %v after %v", r.Err, took)
		}
		r, took := call(time.Minute, time.Second, 0, events[:4])
		e := failed(t, r)
		if want := 4*time.Second + time.Minute; took != want || e.Kind != event.ErrStreamCut || e.Code != "stall" || !strings.Contains(e.Message, "1m0s") {
			t.Errorf("a stall after %v, want %v: %v", took, want, e)
		}
	})
}

// A connection is used again once an answer is whole, although nobody reads
// behind its end signal.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	const calls = 20
	answers := make([]anthropictest.Answer, calls)
	for i := range answers {
		answers[i] = anthropictest.Text("Hello.")
	}
	m, server := open(t, sonnet, nil, answers...)
	fresh := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			fresh++
		}
	}})
	for range calls {
		if r := modeltest.Call(ctx, m, hello()); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if n := len(server.Asked()); fresh != 1 || n != calls {
		t.Errorf("%d connections for %d calls", fresh, n)
	}
}
