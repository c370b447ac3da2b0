package client_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/agentcore"
)

const (
	runtimeARN = "arn:aws:bedrock-agentcore:eu-west-1:111122223333:runtime/docs-a1B2"
	oldSession = "a-session-of-at-least-33-characters"
)

// asked is what a server was sent.
type asked struct {
	Method, Path, Query, Body string
	Header                    map[string]string
}

// agentcoreServer answers each request with what answer writes, and tells what it was sent.
func agentcoreServer(t *testing.T, answer http.HandlerFunc) (address string, got func() asked) {
	t.Helper()
	requests := make(chan asked, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a := asked{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Body: string(body), Header: map[string]string{}}
		for _, name := range []string{
			"Authorization", "Content-Type", "Accept", "X-Amzn-Bedrock-Agentcore-Runtime-Session-Id",
			"X-Amzn-Bedrock-Agentcore-Runtime-User-Id", "X-Amzn-Bedrock-Agentcore-Runtime-Custom-Team",
		} {
			if v := r.Header.Get(name); v != "" {
				a.Header[name] = v
			}
		}
		requests <- a
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() asked {
		select {
		case a := <-requests:
			return a
		default:
			t.Fatal("the server was asked nothing")
			return asked{}
		}
	}
}

const spoken = "data: {\"init_event_loop\": true}\n\n" +
	"data: {\"event\": {\"messageStart\": {\"role\": \"assistant\"}}}\n\n" +
	"data: {\"event\": {\"contentBlockDelta\": {\"delta\": {\"text\": \"こん\"}, \"contentBlockIndex\": 0}}}\n\n" +
	"data: {\"event\": {\"contentBlockDelta\": {\"delta\": {\"text\": \"にちは\"}, \"contentBlockIndex\": 0}}}\n\n" +
	"data: {\"event\": {\"messageStop\": {\"stopReason\": \"end_turn\"}}}\n\n" +
	"data: {\"message\": {\"role\": \"assistant\", \"content\": [{\"text\": \"こんにちは\"}]}}\n\n"

func speak(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Amzn-Bedrock-Agentcore-Runtime-Session-Id", oldSession)
	w.Header().Set("X-Amzn-Requestid", "req-1")
	_, _ = io.WriteString(w, spoken)
}

// An invocation is one request in the form that the protocol gives it, at the container's door
// and at the platform's, and its answer is read as it comes.
func TestInvoke(t *testing.T) {
	t.Parallel()
	header := map[string]string{
		"Content-Type": "application/json", "Accept": "text/event-stream, application/json",
		"X-Amzn-Bedrock-Agentcore-Runtime-Session-Id": oldSession,
	}
	with := func(more ...string) map[string]string {
		all := map[string]string{}
		maps.Copy(all, header)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	cases := map[string]struct {
		base    string
		options client.AgentCoreOptions
		in      client.Invocation
		want    asked
	}{
		"container": {
			in:   client.Invocation{Prompt: "日本 \"x\"", Session: oldSession},
			want: asked{Method: "POST", Path: "/invocations", Body: `{"prompt":"日本 \"x\""}`, Header: header},
		},
		"container below a path": {
			base: "/agents/one/", in: client.Invocation{Prompt: "hi", Session: oldSession},
			want: asked{Method: "POST", Path: "/agents/one/invocations", Body: `{"prompt":"hi"}`, Header: header},
		},
		"payload, user and headers": {
			in: client.Invocation{
				Payload: []byte(`<x/>`), Type: "application/xml", User: "u-1", Session: oldSession,
				Header: http.Header{"x-amzn-bedrock-agentcore-runtime-custom-team": {"docs"}, "Accept": {"text/html"}},
			},
			want: asked{Method: "POST", Path: "/invocations", Body: `<x/>`, Header: with(
				"Content-Type", "application/xml", "X-Amzn-Bedrock-Agentcore-Runtime-User-Id", "u-1",
				"X-Amzn-Bedrock-Agentcore-Runtime-Custom-Team", "docs",
			)},
		},
		"the platform's door, with a token": {
			base: "/front", options: client.AgentCoreOptions{ARN: runtimeARN, Qualifier: "a b", Token: secret.New("t0ken")},
			in: client.Invocation{Prompt: "hi", Session: oldSession},
			want: asked{
				Method: "POST", Query: "qualifier=a+b", Body: `{"prompt":"hi"}`, Header: with("Authorization", "Bearer t0ken"),
				Path: "/front/runtimes/arn%3Aaws%3Abedrock-agentcore%3Aeu-west-1%3A111122223333%3Aruntime%2Fdocs-a1B2/invocations",
			},
		},
		"signed": {
			options: client.AgentCoreOptions{ARN: runtimeARN, Sign: func(_ context.Context, r *http.Request, body []byte) error {
				r.Header.Set("Authorization", "over "+string(body)+" at "+r.URL.EscapedPath())
				return nil
			}},
			in: client.Invocation{Prompt: "hi", Session: oldSession},
			want: asked{
				Method: "POST", Body: `{"prompt":"hi"}`,
				Path: "/runtimes/arn%3Aaws%3Abedrock-agentcore%3Aeu-west-1%3A111122223333%3Aruntime%2Fdocs-a1B2/invocations",
				Header: with("Authorization", `over {"prompt":"hi"} at `+
					"/runtimes/arn%3Aaws%3Abedrock-agentcore%3Aeu-west-1%3A111122223333%3Aruntime%2Fdocs-a1B2/invocations"),
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, got := agentcoreServer(t, speak)
			a, err := client.NewAgentCore(address+c.base, c.options)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := a.Invoke(t.Context(), c.in)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Close()
			if d := cmp.Diff(c.want, got()); d != "" {
				t.Errorf("the request (-want +got):\n%s", d)
			}
			var text strings.Builder
			for it, err := range answer.Items() {
				if err != nil {
					t.Fatal(err)
				}
				if it.Kind == agentcore.KindText && !it.Repeats {
					text.Write(it.Text)
				}
			}
			if text.String() != "こんにちは" || !answer.Reader().Complete() {
				t.Errorf("text %q, complete %v", text.String(), answer.Reader().Complete())
			}
			if answer.Session != oldSession || answer.Request != "req-1" || !strings.HasPrefix(answer.Type, "text/event-stream") {
				t.Errorf("session %q, request %q, type %q", answer.Session, answer.Request, answer.Type)
			}
		})
	}
}

// A session that nobody named is a new one, in a form that the platform takes.
func TestInvokeNewSession(t *testing.T) {
	t.Parallel()
	address, got := agentcoreServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result": "hi"}`) })
	a, err := client.NewAgentCore(address, client.AgentCoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		answer, err := a.Invoke(t.Context(), client.Invocation{Prompt: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		session := got().Header["X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"]
		if len(session) != 36 || seen[session] || answer.Session != session {
			t.Errorf("session %q, told %q", session, answer.Session)
		}
		seen[session] = true
		_ = answer.Close()
	}
}

// Whatever a server refuses with becomes one of our kinds, with its words and its exception.
func TestInvokeRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status          int
		exception, body string
		kind            event.ErrorKind
		code, message   string
	}{
		"platform":       {400, "ValidationException:http://x/", `{"message":"too short"}`, event.ErrInvalid, "ValidationException", "too short"},
		"capital":        {403, "AccessDeniedException", `{"Message":"not you"}`, event.ErrPermission, "AccessDeniedException", "not you"},
		"type in body":   {404, "", `{"__type":"ResourceNotFoundException","message":"none"}`, event.ErrNotFound, "ResourceNotFoundException", "none"},
		"agent failed":   {424, "RuntimeClientError", `{"message":"it broke"}`, event.ErrModel, "RuntimeClientError", "it broke"},
		"throttled":      {429, "ThrottlingException", `{"message":"slow down"}`, event.ErrThrottled, "ThrottlingException", "slow down"},
		"quota":          {402, "ServiceQuotaExceededException", `{"message":"full"}`, event.ErrLimit, "ServiceQuotaExceededException", "full"},
		"conflict":       {409, "RetryableConflictException", `{"message":"busy"}`, event.ErrConflict, "RetryableConflictException", "busy"},
		"python program": {400, "", `{"error":"Invalid JSON","details":"line 1"}`, event.ErrInvalid, "", "Invalid JSON: line 1"},
		"native form":    {401, "", `{"error":{"message":"no token"}}`, event.ErrUnauthenticated, "", "no token"},
		"too large":      {413, "", ``, event.ErrTooLarge, "", "the server answered 413 Request Entity Too Large"},
		"empty body":     {500, "", ``, event.ErrUnavailable, "", "the server answered 500 Internal Server Error"},
		"a page":         {502, "", `<html>`, event.ErrUnavailable, "", "the server answered 502 Bad Gateway with a page"},
		"a redirect":     {302, "", ``, event.ErrInvalid, "", "the server answered 302 Found"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := agentcoreServer(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.exception != "" {
					w.Header().Set("X-Amzn-Errortype", c.exception)
				}
				if strings.HasPrefix(c.body, "<") {
					w.Header().Set("Content-Type", "text/html")
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			a, err := client.NewAgentCore(address, client.AgentCoreOptions{Token: secret.New("t0ken")})
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Invoke(t.Context(), client.Invocation{Prompt: "hi"})
			e, ok := errors.AsType[*event.Error](err)
			if !ok || e.Kind != c.kind || e.Code != c.code || e.Message != c.message {
				t.Errorf("got %#v", err)
			}
		})
	}
}

// What cannot be sent is refused before anything is.
func TestAgentCoreBadInput(t *testing.T) {
	t.Parallel()
	sign := func(context.Context, *http.Request, []byte) error { return nil }
	for name, make := range map[string]func() (*client.AgentCore, error){
		"no address":   func() (*client.AgentCore, error) { return client.NewAgentCore("", client.AgentCoreOptions{}) },
		"other scheme": func() (*client.AgentCore, error) { return client.NewAgentCore("ftp://x", client.AgentCoreOptions{}) },
		"no ARN": func() (*client.AgentCore, error) {
			return client.NewAgentCore("", client.AgentCoreOptions{ARN: "runtime"})
		},
		"another's ARN": func() (*client.AgentCore, error) {
			return client.NewAgentCore("", client.AgentCoreOptions{ARN: "arn:aws:s3:::x"})
		},
		"a host in it": func() (*client.AgentCore, error) {
			return client.NewAgentCore("", client.AgentCoreOptions{ARN: "arn:aws:bedrock-agentcore:evil.example/:1:runtime/x"})
		},
		"two credential": func() (*client.AgentCore, error) {
			return client.NewAgentCore("http://x", client.AgentCoreOptions{Token: secret.New("x"), Sign: sign})
		},
	} {
		if _, err := make(); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, err := client.NewAgentCore("", client.AgentCoreOptions{ARN: runtimeARN})
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"short", strings.Repeat("x", 257), strings.Repeat("x", 40) + "\n", strings.Repeat("あ", 20)} {
		if _, err := a.Invoke(t.Context(), client.Invocation{Session: session}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("session %q: %v", session, err)
		}
	}
	if err := a.StopSession(t.Context(), "short"); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("stopping a session: %v", err)
	}
}

// A signature that cannot be made is the error, and nothing is sent.
func TestInvokeUnsigned(t *testing.T) {
	t.Parallel()
	address, _ := agentcoreServer(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	want := &event.Error{Kind: event.ErrUnauthenticated, Message: "no keys"}
	a, err := client.NewAgentCore(address, client.AgentCoreOptions{ARN: runtimeARN, Sign: func(context.Context, *http.Request, []byte) error { return want }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Invoke(t.Context(), client.Invocation{Prompt: "hi"}); !errors.Is(err, event.ErrUnauthenticated) {
		t.Error(err)
	}
}

func TestStopSession(t *testing.T) {
	t.Parallel()
	address, got := agentcoreServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) })
	a, err := client.NewAgentCore(address, client.AgentCoreOptions{ARN: runtimeARN, Qualifier: "DEFAULT"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.StopSession(t.Context(), oldSession); err != nil {
		t.Fatal(err)
	}
	r := got()
	if !strings.HasSuffix(r.Path, "/stopruntimesession") || r.Query != "qualifier=DEFAULT" || r.Body != "{}" ||
		r.Header["X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"] != oldSession {
		t.Errorf("%+v", r)
	}
	own, err := client.NewAgentCore(address, client.AgentCoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := own.StopSession(t.Context(), oldSession); !errors.Is(err, event.ErrUnsupported) {
		t.Error(err)
	}
}

// Pieces are given when they come, not when the stream ends; whoever closes an answer or
// cancels is told so on the other side.
func TestInvokedAsItComes(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"closed", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			left := make(chan struct{})
			address, _ := agentcoreServer(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				begun, _, _ := strings.Cut(spoken, "data: {\"event\": {\"messageStop")
				_, _ = io.WriteString(w, begun)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				close(left)
			})
			a, err := client.NewAgentCore(address, client.AgentCoreOptions{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answer, err := a.Invoke(ctx, client.Invocation{Prompt: "hi"})
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Close()
			pieces := 0
			for it, err := range answer.Items() {
				if err != nil {
					if !errors.Is(err, event.ErrCancelled) || how != "cancelled" {
						t.Errorf("after %d pieces: %v", pieces, err)
					}
					break
				}
				if it.Kind == agentcore.KindText {
					pieces++
				}
				if pieces == 2 {
					pieces++
					if how == "closed" {
						_ = answer.Close()
						break
					}
					cancel()
				}
			}
			<-left
			if pieces != 3 {
				t.Errorf("%d pieces", pieces)
			}
		})
	}
}

// slowly answers after a while.
type slowly time.Duration

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	t := time.NewTimer(time.Duration(s))
	defer t.Stop()
	select {
	case <-t.C:
		return &http.Response{
			StatusCode: 200, Body: io.NopCloser(strings.NewReader(spoken)), Request: r,
			Header: http.Header{"Content-Type": {"text/event-stream"}},
		}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// An agent has a bounded time to begin, and none to end.
func TestInvokeBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for wait, kind := range map[time.Duration]event.ErrorKind{14 * time.Minute: "", 16 * time.Minute: event.ErrTimeout} {
			a, err := client.NewAgentCore("http://x", client.AgentCoreOptions{HTTP: &http.Client{Transport: slowly(wait), Timeout: time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := a.Invoke(t.Context(), client.Invocation{Prompt: "hi"})
			if event.KindOf(err) != kind {
				t.Fatalf("after %s: %v", wait, err)
			}
			if err == nil {
				_ = answer.Close()
			}
		}
	})
}
