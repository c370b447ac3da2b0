package tenants

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/workspace"
)

// site is the server that the tenants share.
type site struct {
	*httptest.Server

	t      *testing.T
	people *directory.Directory
	ledger journal.Ledger
	// keys are the tenants' keys by number.
	keys []secret.Secret
}

var operator = directory.By{Operator: true}

func tenantID(n int) string { return fmt.Sprintf("tenant-%03d", n) }

// mark returns the mark of a tenant's data, which no other tenant's contains.
func mark(tenant string) string { return "<" + strings.TrimPrefix(tenant, "tenant-") + ">" }

// inputTokens returns the input tokens of one call of a tenant's model. The number differs by tenant.
func inputTokens(n int) int64 { return int64(1000 + n) }

// store is a journal store with the ledger.
type store interface {
	journal.Journal
	Close() error
}

func openSQLite(t *testing.T) (store, *database.DB) {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "data"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	closing(t, s.Close)
	return s, databasetest.OpenSQLite(t, "")
}

func openPostgres(t *testing.T) (store, *database.DB) {
	t.Helper()
	o := databases.Postgres(t)
	logs := postgres.Options{URL: databases.Server(t).URL(databasetest.Owner, "postgres"), Schema: "load"}
	if err := postgres.Migrate(t.Context(), logs, databasetest.Guest); err != nil {
		t.Fatal(err)
	}
	logs.URL = o.URL
	s, err := postgres.Open(t.Context(), logs)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, s.Close)
	return s, databasetest.OpenPostgres(t, o)
}

func closing(t *testing.T, end func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// open serves a number of tenants.
func open(t *testing.T, tenants int, logs store, db *database.DB) *site {
	t.Helper()
	keys, err := keyset.Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, people: directory.New(directory.Options{Database: db, Keys: keys}), ledger: logs}
	closing(t, s.people.Close)
	for n := range tenants {
		s.settle(n)
	}
	sender, err := webhooks.NewSender(nil, "test")
	if err != nil {
		t.Fatal(err)
	}
	outbox := webhooks.New(webhooks.Options{Database: db, Directory: s.people, Journal: logs, Sender: sender})
	svc, err := service.New(service.Options{
		Webhooks: outbox,
		Journal:  logs, Rows: service.NewRows(db), Directory: s.people, Agent: s.agent, Shared: db.Shared(), LockWait: time.Minute,
		Workspaces: &workspace.Quota{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	closing(t, func() error {
		wait, stop := context.WithTimeout(context.Background(), 20*time.Second)
		defer stop()
		return svc.Drain(wait)
	})
	h, err := server.New(server.Options{Service: svc, Directory: s.people, Webhooks: outbox, Token: secret.New("the-operators-own-token"), Tenant: "default"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// settle creates a tenant with everything that it has.
func (s *site) settle(n int) {
	s.t.Helper()
	ctx, id := s.t.Context(), tenantID(n)
	m := mark(id)
	_, err := s.people.CreateTenant(ctx, operator, directory.Tenant{ID: id, SystemPrompt: "prompt" + m}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	model := directory.Model{
		Tenant: id, ID: "best", Provider: "demo", Name: "model" + m, Aliases: []string{"sonnet"},
		Credential: directory.Credential{Secret: secret.New("credential" + m)},
	}
	agent := directory.Agent{Tenant: id, ID: "helper"}
	agent.Instructions = "agent" + m
	_, modelErr := s.people.CreateModel(ctx, operator, model, "")
	_, agentErr := s.people.CreateAgent(ctx, operator, agent, "")
	_, key, keyErr := s.people.CreateKey(ctx, operator, directory.Key{
		Tenant: id, User: "user" + m, Scopes: []directory.Scope{service.ScopeRead, service.ScopeWrite},
	}, "")
	_, choiceErr := s.people.UpdateTenant(ctx, operator, id, 0, func(x *directory.Tenant) error {
		x.Agent, x.Model = "helper", "sonnet"
		return nil
	})
	if err := errors.Join(modelErr, agentErr, keyErr, choiceErr); err != nil {
		s.t.Fatal(err)
	}
	s.keys = append(s.keys, key)
}

// agent builds a run's agent only from the service's request.
func (s *site) agent(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
	if r.Own == nil {
		return nil, fmt.Errorf("a run of %q has no model", r.Tenant)
	}
	tenant := r.Tenant
	look := braid.Func("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
		return "tool" + mark(tenant) + " of " + tool.CallOf(ctx).Conversation, nil
	}, tool.Polling())
	return braid.New("helper", &echoModel{name: r.Own.Name, key: r.Own.Key.Reveal(), tenant: tenant},
		braid.Instructions(r.SystemPrompt), braid.Tools(look)), nil
}

// echoModel is a model that calls its tool once and then repeats its whole input.
type echoModel struct{ name, key, tenant string }

func (p *echoModel) Info() model.Info {
	return model.Info{Name: "demo:" + p.name, Simulated: true}
}

func (p *echoModel) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		var n int
		_, _ = fmt.Sscanf(p.tenant, "tenant-%d", &n) // 0 is found by whoever looks at the sums
		usage := model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: inputTokens(n), Output: 1}}
		looked := slices.ContainsFunc(last.Content, func(b event.Block) bool { _, ok := b.(*event.ToolResult); return ok })
		if !looked {
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "call-" + r.Run, Text: "look"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) &&
				yield(usage, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		// It repeats everything in the conversation, and the tool's result.
		said := []string{r.Instructions, p.name, p.key}
		for _, m := range r.Messages {
			for _, b := range m.Content {
				switch b := b.(type) {
				case *event.Text:
					if m.Role == event.RoleUser {
						said = append(said, b.Text)
					}
				case *event.ToolResult:
					said = append(said, event.TextOf(b.Content))
				}
			}
		}
		for _, text := range said {
			if !yield(model.Chunk{Kind: model.ChunkText, Text: text + "\n"}, nil) {
				return
			}
		}
		_ = yield(usage, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// client returns a client of a tenant.
func (s *site) client(tenant int) *client.Client {
	s.t.Helper()
	transport := &http.Transport{}
	c, err := client.New(s.URL, s.keys[tenant], client.Options{HTTP: &http.Client{Transport: transport}, Timeout: patience})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(transport.CloseIdleConnections)
	return c
}
