package agui_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agui"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "test-token-5f0c"

// scripted is a model that does what it is told: "use NAME=ARGS …" calls tools, and everything else is said again.
type scripted struct{ calls *atomic.Int64 }

func (scripted) Info() model.Info { return model.Info{Name: "test:scripted"} }

func (m scripted) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	n := m.calls.Add(1)
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		text, stop := "you said "+last.Text(), event.StopEndTurn
		switch now := last.Content[len(last.Content)-1].(type) { // a turn that was cancelled stands before it
		case *event.ToolResult:
			text = "it is " + event.TextOf(now.Content)
		case *event.Text:
			text = "you said " + now.Text
		}
		var chunks []model.Chunk
		say := func(c model.Chunk) { chunks = append(chunks, c) }
		switch names, use := strings.CutPrefix(last.Text(), "use "); {
		case use:
			stop = event.StopToolUse
			say(model.Chunk{Kind: model.ChunkThinking, Text: "まず"})
			say(model.Chunk{Kind: model.ChunkText, Index: 1, Text: "I look."})
			for i, name := range strings.Fields(names) {
				name, args, given := strings.Cut(name, "=")
				if !given {
					args = "{}"
				}
				say(model.Chunk{Kind: model.ChunkCall, Index: i + 2, ID: "call-" + name, Text: name})
				say(model.Chunk{Kind: model.ChunkCallInput, Index: i + 2, Text: args})
			}
		case strings.Contains(text, "wait"):
			<-ctx.Done()
			yield(model.Chunk{}, ctx.Err())
			return
		default:
			for word := range strings.SplitAfterSeq(text, " ") {
				say(model.Chunk{Kind: model.ChunkText, Text: word})
			}
			if strings.Contains(text, "break") || strings.Contains(text, "flaky") && n == 1 {
				for _, c := range chunks {
					if !yield(c, nil) {
						return
					}
				}
				kind := event.ErrModel
				if strings.Contains(text, "flaky") {
					kind = event.ErrOverloaded
				}
				yield(model.Chunk{}, &event.Error{Kind: kind, Message: "the provider gave up", Hint: "try again"})
				return
			}
		}
		say(model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 7, Output: 3, Total: 10}})
		say(model.Chunk{Kind: model.ChunkStop, Stop: stop})
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
}

// keys knows the API keys of two tenants.
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

func open(t *testing.T) *site {
	t.Helper()
	s := &site{t: t}
	helper := braid.New("helper", scripted{&s.calls})
	agent := braid.New("guide", scripted{&s.calls},
		braid.Retries(braid.Retry{Attempts: 2, Base: time.Millisecond}), braid.AsTool(helper, "helps"), braid.Tools(
			braid.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil }, tool.Pure()),
			braid.Func("ask", "", func(ctx context.Context, _ struct{}) (bool, error) { return braid.Ask[bool](ctx, "May I?") }),
			braid.Func("name", "", func(ctx context.Context, _ struct{}) (string, error) { return braid.Ask[string](ctx, "Who?") }),
			braid.Func("keep", "", func(ctx context.Context, _ struct{}) (string, error) {
				return "kept", tool.State[any]("a/b").Set(ctx, []int{1})
			}),
			braid.Func("drop", "", func(ctx context.Context, _ struct{}) (string, error) {
				return "dropped", tool.State[any]("a/b").Delete(ctx)
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
	s.Server = httptest.NewServer(agui.New(front.Options{
		Service: s.service, Door: door.New(secret.New(token), "default", keys{}), Next: http.NotFoundHandler(), Origins: []string{"https://app.example"},
	}))
	t.Cleanup(func() {
		if err := s.service.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

// post sends a body; headers follow as pairs.
func (s *site) post(body string, headers ...string) (code int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+"/agui", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
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
