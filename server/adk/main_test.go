package adk_test

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/adk"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/artifacttool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a model that does what it is told: "use NAME=ARGS …" calls tools, "break" fails after its first words, "wait" waits
// to be released, and everything else is said again.
type scripted struct{ s *site }

func (scripted) Info() model.Info { return model.Info{Name: "test:scripted"} }

func (m scripted) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.s.calls.Add(1)
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		var chunks []model.Chunk
		text, stop := "you said "+last.Text(), event.StopEndTurn
		if r, ok := last.Content[len(last.Content)-1].(*event.ToolResult); ok {
			text = "it is " + event.TextOf(r.Content)
		}
		if names, use := strings.CutPrefix(last.Text(), "use "); use {
			text, stop = "I look.", event.StopToolUse
			for i, name := range strings.Fields(names) {
				name, args, given := strings.Cut(name, "=")
				if !given {
					args = "{}"
				}
				chunks = append(chunks, model.Chunk{Kind: model.ChunkCall, Index: i + 1, ID: "call-" + name, Text: name},
					model.Chunk{Kind: model.ChunkCallInput, Index: i + 1, Text: args})
			}
		}
		for word := range strings.SplitAfterSeq(text, " ") {
			if !yield(model.Chunk{Kind: model.ChunkText, Text: word}, nil) {
				return
			}
		}
		switch {
		case strings.Contains(text, "break"):
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModel, Message: "the provider gave up", Hint: "try again"})
			return
		case strings.Contains(text, "wait"):
			select {
			case <-m.s.release:
			case <-ctx.Done():
				yield(model.Chunk{}, ctx.Err())
				return
			}
		}
		chunks = append(chunks, model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 7, Output: 3, Total: 10}},
			model.Chunk{Kind: model.ChunkStop, Stop: stop})
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// site is a handler that is up.
type site struct {
	*httptest.Server

	t       *testing.T
	service *service.Service
	calls   atomic.Int64
	release chan struct{}
}

// keys knows the API keys of two tenants: "key TENANT/USER", with no user for a key of the tenant.
type keys struct{}

func (keys) Authenticate(_ context.Context, token string) (directory.Identity, error) {
	tenant, user, ok := strings.Cut(strings.TrimPrefix(token, "key "), "/")
	if !ok {
		return directory.Identity{}, &event.Error{Kind: event.ErrUnauthenticated}
	}
	scopes := []service.Scope{service.ScopeRead, service.ScopeWrite}
	if user == "reader" {
		scopes = scopes[:1]
	}
	return directory.Identity{Tenant: tenant, User: user, Key: token, Scopes: scopes}, nil
}

func (keys) Watch(directory.Identity, func()) (stop func()) { return func() {} }
func (keys) Refused(directory.Refused)                      {}

// open starts a handler.
func open(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, release: make(chan struct{})}
	agent := braid.New("guide", scripted{s}, braid.Tools(artifacttool.ForEach(service.ArtifactsOf)...), braid.Retries(braid.Retry{Attempts: 1}), braid.Tools(
		braid.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil }, tool.Pure()),
		braid.Func("pay", "", func(ctx context.Context, _ struct{}) (bool, error) { return braid.Ask[bool](ctx, "May I?") }),
		braid.Func("name", "", func(ctx context.Context, _ struct{}) (string, error) { return braid.Ask[string](ctx, "Who?") }),
		braid.Func("keep", "", func(ctx context.Context, _ struct{}) (string, error) {
			for _, key := range []string{"a", "user:a", "app:a", "run:a", "temp:a"} {
				if err := tool.State[any](key).Set(ctx, key); err != nil {
					return "", err
				}
			}
			return "kept", nil
		}),
	))
	var err error
	s.service, err = service.New(service.Options{
		Journal: &journal.Memory{}, Rows: &service.MemoryRows{}, LockWait: 50 * time.Millisecond,
		Memory: service.NewMemory(service.MemoryFor(front.DefaultBodyBytes)),
		Agent:  func(context.Context, service.AgentRequest) (*braid.Agent, error) { return agent, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(adk.New(adk.Options{Version: "1.2.3", Options: front.Options{
		Service: s.service, Door: door.New(secret.New("operator"), "default", keys{}), Next: http.NotFoundHandler(),
		Origins: []string{"https://app.example"}, Heartbeat: time.Hour, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}}))
	t.Cleanup(func() {
		close(s.release)
		if err := s.service.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

const (
	ann    = "Bearer key acme/ann"
	tenant = "Bearer key acme/"
	bob    = "Bearer key bolt/ann"
)

// ask sends a request; headers follow as pairs.
func (s *site) ask(key, method, path, body string, headers ...string) (code int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/adk"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}
