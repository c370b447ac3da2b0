package agentcore_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/loopback"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool"
)

const (
	token   = "test-token-5f0c"
	session = "00000000-0000-4000-8000-000000000001"
	arn     = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/guide-0123456789"
)

// The headers of a request, as Go writes them.
const (
	sessionHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"
	requestHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Request-Id"
	retryHeader   = "Amz-Sdk-Invocation-Id"
	errorType     = "X-Amzn-Errortype"
)

// scripted is a model that does what it is told: its turns are its prompts' words.
type scripted struct {
	gate  <-chan struct{}
	calls *atomic.Int64
}

func (scripted) Info() model.Info { return model.Info{Name: "test:scripted"} }

func (m scripted) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.calls.Add(1)
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		text := "you said " + event.RawText(last.Content)
		now, _ := last.Content[len(last.Content)-1].(*event.Text) // a turn that was cancelled stands before it
		slowly := now != nil && strings.Contains(now.Text, "slowly")
		for _, b := range last.Content {
			if r, ok := b.(*event.ToolResult); ok {
				text = "it is " + event.TextOf(r.Content)
			}
		}
		usage := model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 7, Output: 3, Total: 10}}
		if names, ok := strings.CutPrefix(event.RawText(last.Content), "use "); ok {
			for i, name := range strings.Fields(names) {
				name, args, given := strings.Cut(name, "=")
				if !given {
					args = "{}"
				}
				if !yield(model.Chunk{Kind: model.ChunkCall, Index: i, ID: "call-" + name, Text: name}, nil) ||
					!yield(model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: args}, nil) {
					return
				}
			}
			_ = yield(usage, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		block := 0
		if strings.Contains(text, "think") {
			if block = 1; !yield(model.Chunk{Kind: model.ChunkThinking, Text: "まず"}, nil) {
				return
			}
		}
		if strings.Contains(text, "count") {
			text = "there are " + strings.Repeat("I", len(req.Messages))
		}
		words := strings.SplitAfter(text, " ")
		if text == "it is true" {
			words = []string{text} // who answers a question may come to it when it has been said
		}
		for i, word := range words {
			switch {
			case strings.Contains(text, "break") && i > 1:
				yield(model.Chunk{}, &event.Error{Kind: event.ErrModel, Message: "Read timed out", Code: "ReadTimeoutError"})
				return
			case slowly && i > 0:
				select {
				case <-m.gate:
				case <-ctx.Done():
					yield(model.Chunk{}, ctx.Err())
					return
				}
			}
			if !yield(model.Chunk{Kind: model.ChunkText, Index: block, Text: word}, nil) {
				return
			}
		}
		_ = yield(usage, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// site is a handler that is up, and one who asks it.
type site struct {
	*httptest.Server

	t       *testing.T
	handler *agentcore.Handler
	service *service.Service
	store   journal.Journal
	// gate lets a model that speaks slowly, or a tool that waits, go on by one.
	gate chan struct{}
	// calls counts the model's calls.
	calls atomic.Int64
	// agent was asked for last.
	agent atomic.Pointer[service.AgentRequest]
}

func open(t *testing.T, change func(*service.Options, *agentcore.Options)) *site {
	t.Helper()
	s := &site{t: t, store: &journal.Memory{}, gate: make(chan struct{})}
	so := service.Options{
		Journal: s.store, Rows: &service.MemoryRows{}, LockWait: 50 * time.Millisecond,
		Memory: service.NewMemory(service.MemoryFor(agentcore.DefaultBodyBytes)),
		Agent: func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			s.agent.Store(&r)
			if r.Model != "" && r.Model != "test:scripted" {
				return nil, &event.Error{Kind: event.ErrModelNotFound, Message: "there is no model " + r.Model, Hint: "leave it out"}
			}
			return braid.New("guide", scripted{s.gate, &s.calls}, braid.Limit(r.Limits), braid.Retries(braid.Retry{Attempts: 1}), s.tools()), nil
		},
	}
	ao := agentcore.Options{
		Token: secret.New(token), Runtime: arn, Keys: func(_ context.Context, id string) (agentcore.Key, bool) { k, ok := keys[id]; return k, ok },
	}
	if change != nil {
		change(&so, &ao)
	}
	var err error
	if s.service, err = service.New(so); err != nil {
		t.Fatal(err)
	}
	if err := s.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ao.Service = s.service
	if s.handler, err = agentcore.New(ao); err != nil {
		t.Fatal(err)
	}
	s.Server = loopback.Start(s.handler)
	t.Cleanup(func() {
		if err := s.service.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.handler.Close(context.Background()); err != nil {
			t.Error(err)
		}
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

var keys = map[string]agentcore.Key{
	"AKIDEXAMPLE000000001": {Secret: secret.New("secret-of-acme"), Tenant: "acme", User: "ann"},
	"AKIDEXAMPLE000000002": {Secret: secret.New("secret-of-bolt"), Session: secret.New("session-of-bolt"), Tenant: "bolt"},
}

func (s *site) tools() braid.Part {
	return braid.Tools(
		braid.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil }, tool.Pure()),
		braid.Func("weather", "", func(context.Context, struct{}) (string, error) { return "晴れ", nil }, tool.Pure()),
		braid.Func("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-s.gate:
				return "over", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}, tool.Pure()),
		braid.Func("ask", "", func(ctx context.Context, _ struct{}) (bool, error) { return braid.Ask[bool](ctx, "May I?") }),
	)
}

// answer is what came back.
type answer struct {
	code int
	head http.Header
	body string
}

// request makes one with a token and a session; headers follow as pairs, "" takes one away.
func (s *site) request(ctx context.Context, method, path, body string, headers ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set(sessionHeader, session)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	return r
}

func (s *site) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.do(s.request(s.t.Context(), method, path, body, headers...))
}

func (s *site) do(r *http.Request) answer {
	s.t.Helper()
	res, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

// say invokes with a prompt.
func (s *site) say(prompt string, headers ...string) answer {
	s.t.Helper()
	return s.ask(http.MethodPost, "/invocations", promptBody(prompt), headers...)
}

func promptBody(prompt string) string {
	b, _ := json.Marshal(map[string]string{"prompt": prompt})
	return string(b)
}

func (a answer) has(t *testing.T, code int, parts ...string) {
	t.Helper()
	if a.code != code {
		t.Errorf("answered %d %s %s, want %d", a.code, a.head.Get(errorType), a.body, code)
	}
	for _, p := range parts {
		if !strings.Contains(a.body, p) {
			t.Errorf("there is no %q in\n%s", p, a.body)
		}
	}
}

// frames are the values of a stream.
func frames(body string) []string {
	var out []string
	for f := range strings.SplitSeq(body, "\n\n") {
		if f != "" {
			out = append(out, strings.TrimPrefix(f, "data: "))
		}
	}
	return out
}

func TestInvocation(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	a := s.say("hello")
	a.has(t, 200)
	if got := a.head.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Error(got)
	}
	if got := a.head.Get(sessionHeader); got != session {
		t.Error(got)
	}
	list := frames(a.body)
	if list[0] != `{"init_event_loop": true}` || !strings.HasPrefix(list[len(list)-1], `{"result": {"type": "agent_result"`) {
		t.Error(a.body)
	}
	for _, f := range list {
		if !json.Valid([]byte(f)) {
			t.Errorf("%s is no JSON", f)
		}
	}
	// The session knows what was said in it, another one does not.
	s.say("count").has(t, 200, `"text": "III"`)
	s.say("count", sessionHeader, "").has(t, 200, `"text": "I"`)
}

func TestPing(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	a := s.ask(http.MethodGet, "/ping", "", "Authorization", "")
	a.has(t, 200, `{"status":"Healthy","time_of_last_update":`)
	if a.head.Get("Content-Type") != "application/json" || !strings.HasSuffix(a.body, "}") {
		t.Errorf("%v %s", a.head, a.body)
	}
}
