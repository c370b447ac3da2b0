package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/engine"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

// quotaServer is a server with quotas, and its tenants.
type quotaServer struct {
	*httptest.Server

	t       *testing.T
	people  *directory.Directory
	service *service.Service
	// gate lets a waiting model continue.
	gate chan struct{}
	// begun receives a value when the model is called.
	begun chan struct{}
	// keys are the tenants' keys, with all rights.
	keys map[string]string
}

// quotaStores runs a test on each store.
func quotaStores(t *testing.T, test func(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, &journal.Memory{}, &service.MemoryRows{}, databasetest.OpenMemory(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		logs, db := openSQLite(t)
		test(t, logs, service.NewRows(db), db)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		o := databases.Postgres(t)
		own := postgres.Options{
			URL: databases.Server(t).URL(databasetest.Owner, "postgres"), Schema: fmt.Sprintf("quota_%d", quotaSchemas.Add(1)),
		}
		if err := postgres.Migrate(t.Context(), own, databasetest.Guest); err != nil {
			t.Fatal(err)
		}
		own.URL = o.URL
		logs, err := postgres.Open(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		closing(t, logs.Close)
		db := databasetest.OpenPostgres(t, o)
		test(t, logs, service.NewRows(db), db)
	})
}

// quotaSchemas numbers the journals, because each server drives everything in its own.
var quotaSchemas atomic.Int64

// openQuotaServer serves the tenants acme and zeta.
func openQuotaServer(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB, q directory.Quota) *quotaServer {
	t.Helper()
	s := &quotaServer{t: t, gate: make(chan struct{}), begun: make(chan struct{}, 1), keys: map[string]string{}}
	s.people = directory.New(directory.Options{Database: db, Quota: q})
	closing(t, s.people.Close)
	for _, id := range []string{"acme", "zeta"} {
		s.settle(id)
	}
	metrics := server.NewMetrics("test")
	svc, err := service.New(service.Options{
		Journal: logs, Rows: rows, Directory: s.people, Shared: db.Shared(), LockWait: 50 * time.Millisecond, Observe: metrics.Observe,
		Agent: func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			return braid.New("helper", spender{s}, braid.Limit(r.Limits), braid.Options(model.Options{MaxTokens: 100})), nil
		},
		Engine: engine.Options{Share: func(tenant string) engine.Share {
			running, queued := s.people.RunQuota(tenant)
			return engine.Share{Running: running, Backlog: queued}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.service = svc
	closing(t, func() error {
		wait, stop := context.WithTimeout(context.Background(), 20*time.Second)
		defer stop()
		return svc.Drain(wait)
	})
	native, err := server.New(server.Options{
		Service: svc, Directory: s.people, Token: secret.New(operatorToken), Tenant: "acme",
	}, metrics)
	if err != nil {
		t.Fatal(err)
	}
	h, err := agentcore.New(agentcore.Options{Service: svc, Door: native.Door(), Next: native, Refused: metrics.Refused})
	if err != nil {
		t.Fatal(err)
	}
	closing(t, func() error { return h.Close(context.Background()) })
	s.Server = httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// settle creates a tenant with a key.
func (s *quotaServer) settle(id string) {
	s.t.Helper()
	if err := s.people.EnsureTenant(s.t.Context(), operator, directory.Tenant{ID: id}); err != nil {
		s.t.Fatal(err)
	}
	_, key, err := s.people.CreateKey(s.t.Context(), operator, directory.Key{Tenant: id, Scopes: []directory.Scope{
		directory.ScopeRead, directory.ScopeWrite, directory.ScopeAdminRead, directory.ScopeAdminWrite,
	}}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	s.keys[id] = key.Reveal()
}

// spender is a model that reports the tokens it used.
type spender struct{ server *quotaServer }

func (spender) Info() model.Info {
	return model.Info{Name: "test:spender", Simulated: true, Cost: func(u event.Usage) (int64, bool) { return u.Total * 1e6, true }}
}

func (m spender) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		select {
		case m.server.begun <- struct{}{}:
		default:
		}
		if last := r.Messages[len(r.Messages)-1]; strings.Contains(last.Text(), "wait") {
			select {
			case <-m.server.gate:
			case <-ctx.Done():
				yield(model.Chunk{}, ctx.Err())
				return
			}
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "Done."}, nil) &&
			yield(model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: r.Tokens(), Output: 100, Total: r.Tokens() + 100}}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// answered is a response of the server.
type answered struct {
	code int
	head http.Header
	body string
}

// ask sends a request as a tenant; "" is the operator.
func (s *quotaServer) ask(tenant, method, path, body string, headers ...string) answered {
	s.t.Helper()
	r, err := s.send(tenant, method, path, body, headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *quotaServer) send(tenant, method, path, body string, headers ...string) (answered, error) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return answered{}, err
	}
	token := operatorToken
	if tenant != "" {
		token = s.keys[tenant]
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.Client().Do(req)
	if err != nil {
		return answered{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answered{res.StatusCode, res.Header, string(b)}, err
}

// talk creates a conversation.
func (s *quotaServer) talk(tenant string) string {
	s.t.Helper()
	r := s.ask(tenant, "POST", "/v1/conversations", "")
	if r.code != http.StatusCreated {
		s.t.Fatalf("a conversation of %s: %d %s", tenant, r.code, r.body)
	}
	return idOf(s.t, r.body)
}

func idOf(t *testing.T, body string) string {
	t.Helper()
	var v struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.ID == "" {
		t.Fatalf("%v: %s", err, body)
	}
	return v.ID
}

// quotaRoutes are the APIs that start a run, in the conversation or in a new one.
var quotaRoutes = map[string]func(s *quotaServer, tenant, conversation, prompt string) answered{
	"native": func(s *quotaServer, tenant, conversation, prompt string) answered {
		if conversation == "" {
			conversation = s.talk(tenant)
		}
		return s.ask(tenant, "POST", "/v1/conversations/"+conversation+"/runs", `{"user_input":"`+prompt+`"}`, "Accept", "application/json")
	},
	"agentcore": func(s *quotaServer, tenant, _, prompt string) answered {
		return s.ask(tenant, "POST", "/invocations", `{"prompt":"`+prompt+`"}`, "Accept", "application/json")
	},
}

// over checks a response that reports an exceeded quota.
func (r answered) over(t *testing.T, what, quota, hint string) {
	t.Helper()
	if r.code != http.StatusTooManyRequests || r.head.Get("Retry-After") == "" || !strings.Contains(r.body, hint) {
		t.Errorf("%s: %d, Retry-After %s, %s, want 429 and %q", what, r.code, r.head.Get("Retry-After"), r.body, hint)
	}
	if all := strings.Join(r.head.Values("RateLimit"), ", "); !strings.Contains(all, `"`+quota+`";r=0;t=`) {
		t.Errorf("%s: RateLimit is %s, want it to name %s", what, all, quota)
	}
}

func (s *quotaServer) measured(quota string, least int) {
	s.t.Helper()
	text := s.ask("", "GET", "/metrics", "").body
	var n int
	for line := range strings.Lines(text) {
		_, _ = fmt.Sscanf(line, `braid_refusals_total{limit="`+quota+`"} %d`, &n)
	}
	if n < least {
		s.t.Errorf("%d refusals by %s are counted, want at least %d", n, quota, least)
	}
}

// Each API enforces a tenant's quota of requests, and of that tenant only.
func TestQuotaOfRequests(t *testing.T) {
	t.Parallel()
	for name, door := range quotaRoutes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quotaStores(t, func(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB) {
				s := openQuotaServer(t, logs, rows, db, directory.Quota{Requests: new(int64(4))})
				s.ask("", "PATCH", "/v1/admin/tenants/zeta", `{"quota":{"requests_per_minute":1000}}`)
				if r := door(s, "zeta", "", "hello"); r.code != 200 {
					t.Fatalf("a run: %d %s", r.code, r.body)
				}
				for i := range 4 {
					if r := s.ask("acme", "GET", "/v1/conversations", ""); r.code != 200 || r.head.Get("RateLimit-Policy") != `"requests";q=4;w=60` {
						t.Fatalf("request %d: %d %v", i, r.code, r.head)
					}
				}
				var last answered
				if name == "native" {
					last = s.ask("acme", "POST", "/v1/conversations", "")
				} else {
					last = door(s, "acme", "", "hello")
				}
				last.over(t, "one more", "requests", "Retry-After")
				if r := s.ask("zeta", "GET", "/v1/conversations", ""); r.code != 200 {
					t.Errorf("another tenant: %d %s", r.code, r.body)
				}
				for range 10 { // the operator, who is of acme here
					if r := s.ask("", "GET", "/v1/conversations", ""); r.code != 200 || r.head.Get("RateLimit") != "" {
						t.Fatalf("the operator: %d %v", r.code, r.head)
					}
				}
				for range 10 {
					if r := s.ask("acme", "GET", "/healthz", ""); r.code != 200 || r.head.Get("RateLimit") != "" {
						t.Fatalf("health: %d %v", r.code, r.head)
					}
				}
				s.measured("requests", 1)
			})
		})
	}
}

// A tenant has at most its quota of conversations. The existing ones stay readable and can be deleted, which makes
// room for another.
func TestQuotaOfConversations(t *testing.T) {
	t.Parallel()
	quotaStores(t, func(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB) {
		s := openQuotaServer(t, logs, rows, db, directory.Quota{Conversations: new(int64(2))})
		first, second := s.talk("acme"), s.talk("acme")
		for what, r := range map[string]answered{
			"a third":   s.ask("acme", "POST", "/v1/conversations", ""),
			"a fork":    s.ask("acme", "POST", "/v1/conversations/"+first+"/fork", ""),
			"a session": quotaRoutes["agentcore"](s, "acme", "", "hello"),
		} {
			r.over(t, what, "conversations", "delete conversations")
		}
		for _, id := range []string{first, second} {
			if r := s.ask("acme", "GET", "/v1/conversations/"+id, ""); r.code != 200 {
				t.Errorf("reading: %d %s", r.code, r.body)
			}
			if r := quotaRoutes["native"](s, "acme", id, "hello"); r.code != 200 {
				t.Errorf("a run: %d %s", r.code, r.body)
			}
		}
		s.talk("zeta")
		if r := s.ask("acme", "DELETE", "/v1/conversations/"+first, ""); r.code != 204 {
			t.Fatalf("deleting: %d %s", r.code, r.body)
		}
		if r := quotaRoutes["agentcore"](s, "acme", "", "hello"); r.code != 200 {
			t.Errorf("after deleting: %d %s", r.code, r.body)
		}
		s.ask("acme", "POST", "/v1/conversations", "").over(t, "one more", "conversations", "delete conversations")
		s.measured("conversations", 4)

		// The typed error of the Go client.
		c, err := client.New(s.URL, secret.New(s.keys["acme"]), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Create(t.Context(), client.NewConversation{})
		e, _ := errors.AsType[*event.Error](err)
		if !errors.Is(err, event.ErrQuota) || e.RetryAfter != time.Minute || e.Code != "QUOTA_CONVERSATIONS" {
			t.Errorf("the client says %+v", e)
		}

		// Only the operator raises a quota; the tenant's own key can read it.
		if r := s.ask("acme", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"conversations":100}}`); r.code != 403 {
			t.Errorf("a tenant raises its own bound: %d %s", r.code, r.body)
		}
		if r := s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"conversations":3}}`); r.code != 200 {
			t.Fatalf("the operator: %d %s", r.code, r.body)
		}
		s.talk("acme")
		got, err := c.Admin().Tenant(t.Context(), "acme")
		if err != nil || *got.Quota.Conversations != 3 || *got.QuotaInForce.Conversations != 3 || got.Use.Conversations != 3 {
			t.Errorf("the tenant is shown as %+v, %v", got, err)
		}
		if r := s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"conversations":null}}`); r.code != 200 {
			t.Fatalf("back to the default: %d %s", r.code, r.body)
		}
		if got, err := c.Admin().Tenant(t.Context(), "acme"); err != nil || got.Quota.Conversations != nil || *got.QuotaInForce.Conversations != 2 {
			t.Errorf("the tenant is shown as %+v, %v", got, err)
		}
		s.ask("acme", "POST", "/v1/conversations", "").over(t, "with three of two", "conversations", "2 conversations")

		// A new tenant with the same id begins with none.
		for _, step := range []struct{ method, body string }{{"PATCH", `{"status":"inactive"}`}, {"DELETE", ""}} {
			if r := s.ask("", step.method, "/v1/admin/tenants/zeta", step.body); r.code != 200 {
				t.Fatalf("%s: %d %s", step.method, r.code, r.body)
			}
		}
		s.settle("zeta")
		s.talk("zeta")
		s.talk("zeta")
		s.ask("zeta", "POST", "/v1/conversations", "").over(t, "the new tenant", "conversations", "delete conversations")
	})
}

// An address with too many wrong credentials must wait at each API, and the audit counts them. Valid keys keep
// working from it.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	for door, path := range map[string]string{"native": "/v1/conversations", "agentcore": "/invocations"} {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			s := openQuotaServer(t, &journal.Memory{}, &service.MemoryRows{}, databasetest.OpenMemory(t), directory.Quota{})
			s.keys["nobody"], s.keys["somebody"] = directory.KeyPrefix+"wrong", "wrong"
			s.talk("acme")
			var refused answered
			for n := 0; n < 1000 && refused.code != http.StatusTooManyRequests; n++ {
				refused = s.ask([]string{"nobody", "somebody"}[n%2], "POST", path, `{"prompt":"hello"}`)
				if n < 100 && refused.code != http.StatusUnauthorized {
					t.Fatalf("wrong credential %d: %d %s", n, refused.code, refused.body)
				}
			}
			refused.over(t, "one more", "credentials", "check the API key")
			s.talk("acme")
			s.talk("zeta") // this key is used for the first time
			if r := s.ask("", "GET", "/v1/admin/tenants/acme", ""); r.code != 200 {
				t.Errorf("the operator: %d %s", r.code, r.body)
			}
			s.measured("credentials", 1)
			if err := s.people.WriteRefused(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := s.ask("", "GET", "/v1/admin/audit", ""); !strings.Contains(r.body, "WRONG_CREDENTIALS") {
				t.Errorf("the audit: %d %s", r.code, r.body)
			}
		})
	}
}

// Each API enforces a tenant's quota of storage, and of that tenant only. Deleting frees it at once.
func TestQuotaOfStorage(t *testing.T) {
	t.Parallel()
	const most, prompt = 2_000_000, 400_000
	quotaStores(t, func(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB) {
		s := openQuotaServer(t, logs, rows, db, directory.Quota{Storage: new(int64(most))})
		stored := func(tenant string) (bytes, bound int64) {
			t.Helper()
			var v struct {
				InForce directory.Quota `json:"quota_in_force"`
				Use     directory.Use   `json:"use"`
			}
			r := s.ask("", "GET", "/v1/admin/tenants/"+tenant, "")
			if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.code != 200 {
				t.Fatalf("%v: %d %s", err, r.code, r.body)
			}
			return v.Use.Storage, *v.InForce.Storage
		}
		if bytes, bound := stored("acme"); bytes != 0 || bound != most {
			t.Errorf("a new tenant stores %d of %d bytes", bytes, bound)
		}
		large := strings.Repeat("x", prompt)
		// A prompt is stored in the input, in the log and in the messages.
		var full answered
		talks := make([]string, 6)
		for n := range talks {
			talks[n] = s.talk("acme")
		}
		for n := 0; n < len(talks) && full.code != 429; n++ {
			full = quotaRoutes["native"](s, "acme", talks[n], large)
		}
		if !strings.Contains(full.body, "QUOTA_STORAGE") {
			t.Fatalf("after %d large prompts: %d %.300s", len(talks), full.code, full.body)
		}
		for what, r := range map[string]answered{
			"a large prompt":  quotaRoutes["native"](s, "acme", talks[0], strings.Repeat("y", most)),
			"another session": quotaRoutes["agentcore"](s, "acme", "", strings.Repeat("y", most)),
		} {
			r.over(t, what, "storage", "delete conversations")
		}
		s.measured("storage", 2)
		if r := s.ask("acme", "GET", "/v1/conversations/"+talks[0]+"/events?limit=1", ""); r.code != 200 {
			t.Errorf("reading: %d %s", r.code, r.body)
		}
		if r := quotaRoutes["native"](s, "zeta", "", large); r.code != 200 {
			t.Errorf("another tenant: %d %.300s", r.code, r.body)
		}

		if r := s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"stored_bytes":100}}`); r.code != 200 {
			t.Fatalf("the operator: %d %s", r.code, r.body)
		}
		s.ask("acme", "POST", "/v1/conversations", "").over(t, "a conversation", "storage", "delete conversations")
		for _, id := range talks {
			if r := s.ask("acme", "DELETE", "/v1/conversations/"+id, ""); r.code != 204 {
				t.Fatalf("deleting: %d %s", r.code, r.body)
			}
		}
		if bytes, bound := stored("acme"); bytes != 0 || bound != 100 {
			t.Errorf("after deleting %d of %d bytes are stored", bytes, bound)
		}
		s.talk("acme")

		// A new tenant with the same id begins with nothing.
		if bytes, _ := stored("zeta"); bytes < prompt {
			t.Errorf("the other tenant stores %d bytes", bytes)
		}
		for _, step := range []struct{ method, body string }{{"PATCH", `{"status":"inactive"}`}, {"DELETE", ""}} {
			if r := s.ask("", step.method, "/v1/admin/tenants/zeta", step.body); r.code != 200 {
				t.Fatalf("%s: %d %s", step.method, r.code, r.body)
			}
		}
		s.settle("zeta")
		if bytes, _ := stored("zeta"); bytes != 0 {
			t.Errorf("made anew the tenant stores %d bytes", bytes)
		}
	})
}

// Concurrent creations do not exceed the quota.
func TestQuotaAtOnce(t *testing.T) {
	t.Parallel()
	quotaStores(t, func(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB) {
		s := openQuotaServer(t, logs, rows, db, directory.Quota{Conversations: new(int64(5)), Agents: new(int64(5))})
		for what, post := range map[string]func(n int) (answered, error){
			"conversations": func(int) (answered, error) { return s.send("acme", "POST", "/v1/conversations", "") },
			"agents": func(n int) (answered, error) {
				return s.send("acme", "POST", "/v1/admin/tenants/acme/agents", fmt.Sprintf(`{"id":"agent-%d"}`, n))
			},
		} {
			var made, refused atomic.Int64
			var wg sync.WaitGroup
			for n := range 16 {
				wg.Go(func() {
					switch r, err := post(n); {
					case err != nil:
						t.Error(err)
					case r.code == 201:
						made.Add(1)
					case r.code == 429:
						refused.Add(1)
						r.over(t, what, what, "the most that it may have")
					default:
						t.Errorf("%s: %d %s", what, r.code, r.body)
					}
				})
			}
			wg.Wait()
			if made.Load() != 5 || refused.Load() != 11 {
				t.Errorf("%d %s were made and %d refused, want 5 and 11", made.Load(), what, refused.Load())
			}
		}
		if r := s.ask("acme", "PATCH", "/v1/admin/tenants/acme/agents/agent-0", `{"name":"x"}`); r.code != 200 && r.code != 404 {
			t.Errorf("changing one that is there: %d %s", r.code, r.body)
		}
	})
}

// A tenant spends at most its daily quota of tokens and of money, at each API.
func TestQuotaOfADay(t *testing.T) {
	t.Parallel()
	for name, door := range quotaRoutes {
		for quota, q := range map[string]directory.Quota{
			"tokens": {Tokens: new(int64(1000))}, "cost": {Cost: new(pricing.NanoUSD(1000 * 1e6))}, // a token costs a thousandth of a dollar
		} {
			t.Run(name+" "+quota, func(t *testing.T) {
				t.Parallel()
				quotaStores(t, func(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB) {
					s := openQuotaServer(t, logs, rows, db, q)
					var wg sync.WaitGroup
					var answered atomic.Int64
					for range 24 { // of which nine fit, at 100 for the answer and some for the prompt
						wg.Go(func() {
							switch r := door(s, "acme", "", "hello"); {
							case r.code == 200 && !strings.Contains(r.body, "no tokens left") && !strings.Contains(r.body, "no money left"):
								answered.Add(1)
							case name == "native":
								r.over(t, "a run", quota, "after midnight UTC")
							}
						})
					}
					wg.Wait()
					spent := s.spent("acme")
					if n := answered.Load(); n == 0 || n > 9 || spent > 1000 || spent < 100*n {
						t.Errorf("%d runs were answered and %d spent, want at most 9 and 1000", n, spent)
					}
					s.measured(quota, 1)
					if r := door(s, "zeta", "", "hello"); r.code != 200 {
						t.Errorf("another tenant: %d %s", r.code, r.body)
					}
					// Consecutive runs use the rest, and then a run is refused.
					for range 12 {
						door(s, "acme", "", "hello")
					}
					if spent := s.spent("acme"); spent > 1000 || spent < 800 {
						t.Errorf("%d are spent of 1000", spent)
					}
					s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"tokens_per_day":500,"cost_per_day_usd":"0.5"}}`)
					door(s, "acme", "", "hello").over(t, "a run with nothing left", "tokens", "after midnight UTC")
					s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"tokens_per_day":0,"cost_per_day_usd":"0"}}`)
					if r := door(s, "acme", "", "hello"); r.code != 200 {
						t.Errorf("without a bound: %d %s", r.code, r.body)
					}
				})
			})
		}
	}
}

// spent returns the tokens that a tenant has spent today.
func (s *quotaServer) spent(tenant string) int64 {
	s.t.Helper()
	var v struct {
		Use struct {
			Tokens int64  `json:"tokens_today"`
			Cost   string `json:"cost_today_usd"`
		} `json:"use"`
	}
	r := s.ask("", "GET", "/v1/admin/tenants/"+tenant, "")
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		s.t.Fatalf("%v: %s", err, r.body)
	}
	var cost pricing.NanoUSD
	if err := cost.UnmarshalText([]byte(v.Use.Cost)); err != nil || int64(cost) != v.Use.Tokens*1e6 {
		s.t.Errorf("%d tokens cost %s: %v", v.Use.Tokens, v.Use.Cost, err)
	}
	return v.Use.Tokens
}

// The spending survives a restart. A new tenant with the same id begins with nothing.
func TestQuotaOfADayStays(t *testing.T) {
	t.Parallel()
	quotaStores(t, func(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB) {
		quota := directory.Quota{Tokens: new(int64(250))}
		s := openQuotaServer(t, logs, rows, db, quota)
		if r := quotaRoutes["native"](s, "acme", "", "hello"); r.code != 200 {
			t.Fatalf("a run: %d %s", r.code, r.body)
		}
		spent := s.spent("acme")
		if err := s.service.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		s = openQuotaServer(t, logs, rows, db, quota)
		if now := s.spent("acme"); now != spent || now == 0 {
			t.Errorf("%d are spent after a restart, want %d", now, spent)
		}
		if r := quotaRoutes["native"](s, "acme", "", "hello"); r.code != 200 {
			t.Fatalf("a run: %d %s", r.code, r.body)
		}
		quotaRoutes["native"](s, "acme", "", "hello").over(t, "a third", "tokens", "after midnight UTC")
		for _, step := range []struct{ method, body string }{{"PATCH", `{"status":"inactive"}`}, {"DELETE", ""}} {
			if r := s.ask("", step.method, "/v1/admin/tenants/acme", step.body); r.code != 200 {
				t.Fatalf("%s: %d %s", step.method, r.code, r.body)
			}
		}
		s.settle("acme")
		if now := s.spent("acme"); now != 0 {
			t.Errorf("the new tenant has spent %d", now)
		}
		if r := quotaRoutes["native"](s, "acme", "", "hello"); r.code != 200 {
			t.Errorf("a run of the new tenant: %d %s", r.code, r.body)
		}
	})
}

// Each API queues runs above the limit of driven runs, and refuses those above the queue's limit.
func TestQuotaOfRuns(t *testing.T) {
	t.Parallel()
	quotaStores(t, func(t *testing.T, logs journal.Journal, rows service.Rows, db *database.DB) {
		s := openQuotaServer(t, logs, rows, db, directory.Quota{Running: new(int64(50)), Queued: new(int64(50))})
		s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"running_runs":1,"queued_runs":1}}`)
		begin := func(tenant string) answered {
			return s.ask(tenant, "POST", "/v1/conversations/"+s.talk(tenant)+"/runs", `{"user_input":"wait"}`, "Prefer", "respond-async")
		}
		if r := begin("acme"); r.code != 202 {
			t.Fatalf("the first: %d %s", r.code, r.body)
		}
		<-s.begun
		if r := begin("acme"); r.code != 202 {
			t.Fatalf("the second: %d %s", r.code, r.body)
		}
		third := begin("acme")
		if third.code != 429 || third.head.Get("Retry-After") == "" || !strings.Contains(third.body, "BACKLOG_FULL") {
			t.Errorf("the third: %d %v %s", third.code, third.head, third.body)
		}
		if r := quotaRoutes["agentcore"](s, "acme", "", "wait"); r.code != 429 || r.head.Get("Retry-After") == "" {
			t.Errorf("at the other door: %d %v %s", r.code, r.head, r.body)
		}
		s.measured("queued", 2)
		if r := begin("zeta"); r.code != 202 {
			t.Errorf("another tenant: %d %s", r.code, r.body)
		}
		close(s.gate)
	})
}

// Invalid quotas are refused.
func TestQuotasThatAreRefused(t *testing.T) {
	t.Parallel()
	s := openQuotaServer(t, &journal.Memory{}, &service.MemoryRows{}, databasetest.OpenMemory(t), directory.Quota{})
	for _, quota := range []string{
		`{"requests_per_minute":-1}`, `{"conversations":1.5}`, `{"agents":"many"}`, `{"conversation":1}`, `{"running_runs":0}`, `{"queued_runs":-3}`,
		`{"agents":99999999999999999999}`, `{"stored_bytes":-1}`, `[]`, `7`,
	} {
		r := s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"quota":`+quota+`}`)
		if r.code != 400 || !strings.Contains(r.body, "hint") {
			t.Errorf("%s: %d %s, want 400 with a hint", quota, r.code, r.body)
		}
	}
	if r := s.ask("", "PATCH", "/v1/admin/tenants/acme", `{"quota":null}`); r.code != 200 {
		t.Errorf("none: %d %s", r.code, r.body)
	}
}
