package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/toolservers"
	"github.com/braidrun/braid/tool/demotool"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

// curious is a model that signs its user in if it has to, asks who that is, and repeats what it was told.
type curious struct{}

func (curious) Info() model.Info { return model.Info{Name: "test:curious", Simulated: true} }

func (curious) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Chunk, error] {
	said := ""
	for _, b := range r.Messages[len(r.Messages)-1].Content {
		if b, ok := b.(*event.ToolResult); ok {
			said += event.TextOf(b.Content)
		}
	}
	call := ""
	for _, tool := range r.Tools {
		switch {
		case tool.Name == "docs___sign_in" && call == "" && r.Cycle == 1, tool.Name == "docs___whoami" && !strings.Contains(said, "you are"):
			call = tool.Name
		}
	}
	return func(yield func(model.Chunk, error) bool) {
		if call != "" && r.Cycle < 4 {
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c" + call, Text: call}, nil) &&
				yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "told: " + said}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// A tenant's users sign in to its server: each for themselves, during a run, across a restart, and on both databases. Nothing
// of their tokens is anywhere.
func TestUsersSignInToMCPServers(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		usersSignIn(t, serve.Folder(dir), func() string {
			var all strings.Builder
			err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				raw, err := os.ReadFile(name)
				all.Write(raw)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return all.String()
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		at, ctx := databases.Server(t), t.Context()
		conn, err := pgx.Connect(ctx, at.URL(postgrestest.Superuser, "postgres"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(ctx, `CREATE DATABASE users_sign_in OWNER `+databasetest.Owner)
		if err := errors.Join(err, conn.Close(ctx)); err != nil {
			t.Fatal(err)
		}
		owner := at.URL(databasetest.Owner, "users_sign_in")
		if err := errors.Join(
			postgres.Migrate(ctx, postgres.Options{URL: owner}, databasetest.Guest),
			database.MigratePostgres(ctx, database.PostgresOptions{URL: owner}, databasetest.Guest),
		); err != nil {
			t.Fatal(err)
		}
		usersSignIn(t, serve.Postgres(at.URL(databasetest.Guest, "users_sign_in")), func() string {
			return everyRow(t, at.URL(postgrestest.Superuser, "users_sign_in"))
		})
	})
}

// signInSite is a service whose users sign in.
type signInSite struct {
	*site

	docs    *mcpauthtest.Site
	log     *buffer
	answers strings.Builder
}

// openSignIns opens a service on a store.
func openSignIns(t *testing.T, docs *mcpauthtest.Site, store serve.Store, keys directory.Sealer, log *buffer) *signInSite {
	t.Helper()
	u, err := url.Parse(docs.URL)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := toolservers.New(toolservers.Options{
		AllowHosts: []string{u.Host}, SignIns: toolservers.SignIns{Redirect: "http://127.0.0.1:1" + server.CallbackPath},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	f, err := agents.New(t.Context(), agents.Options{Model: curious{}, Tools: []braid.Tool{demotool.Clock()}, TenantServers: pool})
	if err != nil {
		t.Fatal(err)
	}
	return &signInSite{docs: docs, log: log, site: open(t, serve.Options{
		Agents: f, Store: store, Tenants: &directory.Options{Keys: keys}, API: server.Options{PublicURL: "https://braid.example"},
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})}
}

// run starts a run, and returns the log of its conversation once the run has ended or waits.
func (s *signInSite) run(token, conv string) string {
	s.t.Helper()
	return s.runs(token, conv, "who am I?")
}

// runs is run with an input.
func (s *signInSite) runs(token, conv, input string) string {
	s.t.Helper()
	text, err := json.Marshal(map[string]string{"user_input": input})
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/v1/conversations/"+conv+"/runs", bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", "respond-async")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusAccepted {
		s.t.Fatalf("%d %s", resp.StatusCode, body)
	}
	return s.settled(token, conv, "running", "queued")
}

// settled waits until no run of a conversation has one of these statuses, and returns the log.
func (s *signInSite) settled(token, conv string, statuses ...string) string {
	s.t.Helper()
	settled := func() bool {
		_, answer := s.get(token, "GET", "/v1/conversations/"+conv+"/runs", "")
		return !slices.ContainsFunc(statuses, func(status string) bool { return strings.Contains(answer, `"status":"`+status+`"`) })
	}
	for !settled() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-s.t.Context().Done():
			s.t.Fatal("the test is over")
		}
	}
	_, events := s.get(token, "GET", "/v1/conversations/"+conv+"/events?limit=1000", "")
	return events
}

func (s *signInSite) get(token, method, path, body string) (int, string) {
	s.t.Helper()
	status, answer := s.ask(token, method, path, body)
	s.answers.WriteString(answer)
	return status, answer
}

// question returns the open question of a conversation, and the link of its sign-in.
func (s *signInSite) question(token, conv string) (id, link string) {
	s.t.Helper()
	_, answer := s.get(token, "GET", "/v1/conversations/"+conv+"/questions", "")
	var list struct {
		Data []struct {
			ID      string `json:"question_id"`
			Ask     string `json:"ask"`
			Name    string `json:"name"`
			Payload struct {
				URL string `json:"url"`
			} `json:"payload"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list.Data) != 1 || list.Data[0].Ask != "credential" ||
		!strings.HasPrefix(list.Data[0].Name, "mcp_sign_in") || list.Data[0].Payload.URL == "" {
		_, events := s.get(token, "GET", "/v1/conversations/"+conv+"/events?limit=1000", "")
		_, runs := s.get(token, "GET", "/v1/conversations/"+conv+"/runs", "")
		s.t.Fatalf("there is no question about a sign-in: %s\n%s\n%s", answer, runs, events)
	}
	return list.Data[0].ID, list.Data[0].Payload.URL
}

// comesBack has a browser come back from the authorization server, and follow the link of the page.
func (s *signInSite) comesBack(back string) (int, string) {
	s.t.Helper()
	_, query, _ := strings.Cut(back, "?")
	status, page := s.get("none", "GET", server.CallbackPath+"?"+query, "")
	link := regexp.MustCompile(`href="([^"]+)"`).FindStringSubmatch(page)
	if status != 200 || link == nil {
		return status, page
	}
	if !strings.Contains(page, "Continue only if you began this yourself") {
		s.t.Errorf("the page does not warn: %s", page)
	}
	return s.get("none", "GET", server.CallbackPath+html.UnescapeString(link[1]), "")
}

func usersSignIn(t *testing.T, store serve.Store, dump func() string) { //nolint:maintidx // one story
	docs := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	keys, err := keyset.Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	log := &buffer{}
	s := openSignIns(t, docs, store, keys, log)
	token := map[string]string{}
	for _, tenant := range []string{"acme", "umbrella"} {
		s.must("", "POST", "/v1/admin/tenants", `{"id":"`+tenant+`"}`, "id")
		for _, user := range []string{"ann", "bob"} {
			token[tenant+"/"+user] = s.must("", "POST", "/v1/admin/tenants/"+tenant+"/keys", `{"user":"`+user+`","scopes":["read","write"]}`, "token")
		}
		s.must("", "POST", "/v1/admin/tenants/"+tenant+"/mcp-servers", `{"id":"docs","type":"http","url":"`+docs.URL+`","required":true,"oauth":{}}`, "id")
	}
	ann, bob, theirs := token["acme/ann"], token["acme/bob"], token["umbrella/ann"]
	const admin = "/v1/admin/tenants/acme/mcp-servers/docs/grants"

	// A run asks its user, and waits without a worker; others go on.
	conv := s.must(ann, "POST", "/v1/conversations", "{}", "id")
	if answer := s.run(ann, conv); !strings.Contains(answer, `"status":"needs-auth"`) {
		t.Errorf("the first frame does not say that a sign-in is needed: %s", answer)
	}
	_, link := s.question(ann, conv)
	if _, answer := s.get("", "GET", admin, ""); !strings.Contains(answer, `"status":"pending"`) || !strings.Contains(answer, `"user":"ann"`) {
		t.Errorf("the sign-in is not listed: %s", answer)
	}

	// The server restarts; the link still works, in another process. A second run waits for the same sign-in.
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	old := s
	s = openSignIns(t, docs, store, keys, log)
	second := s.must(ann, "POST", "/v1/conversations", "{}", "id")
	s.run(ann, second)
	if _, again := s.question(ann, second); again != link {
		t.Errorf("a second run has another link")
	}
	back := docs.Approve(t, link, "ann")
	_, query, _ := strings.Cut(back, "?")
	for name, c := range map[string]string{
		"a guess":     "?state=guessed&code=x",
		"no state":    "?code=x",
		"two states":  "?" + query + "&state=x",
		"nothing":     "",
		"a long one":  "?state=" + strings.Repeat("x", 20<<10),
		"bad escapes": "?state=%zz",
	} {
		if status, page := s.get("none", "GET", server.CallbackPath+c, ""); status != 400 || strings.Contains(page, "href") {
			t.Errorf("%s: %d %s", name, status, page)
		}
	}
	if status, page := s.comesBack(back); status != 200 || !strings.Contains(page, "You are signed in to docs") {
		t.Fatalf("%d %s", status, page)
	}
	if status, page := s.comesBack(back); status != 400 {
		t.Errorf("an answer counts twice: %d %s", status, page)
	}
	for _, c := range []string{conv, second} {
		s.wait(t, ann, c, "you are ann")
	}

	// The next run of the same user needs no sign-in. Another user, and another tenant, are asked.
	if answer := s.run(ann, conv); !strings.Contains(answer, "you are ann") {
		t.Errorf("the grant is not used: %s", answer)
	}
	for who, key := range map[string]string{"bob": bob, "the other ann": theirs} {
		c := s.must(key, "POST", "/v1/conversations", "{}", "id")
		if answer := s.run(key, c); strings.Contains(answer, "you are ann") {
			t.Errorf("%s uses ann's grant: %s", who, answer)
		}
		id, link := s.question(key, c)
		if who == "bob" {
			// Ann cannot answer for bob, and bob declines.
			if status, answer := s.get(ann, "POST", "/v1/conversations/"+c+"/questions/"+id, `{"answer":true}`); status != 403 && status != 404 {
				t.Errorf("ann answers for bob: %d %s", status, answer)
			}
			if status, page := s.comesBack(docs.Approve(t, link, "nobody")); status != 400 || !strings.Contains(page, "refused (access_denied)") {
				t.Errorf("%d %s", status, page)
			}
			s.wait(t, key, c, "declined")
		}
		if _, answer := s.get(key, "GET", "/v1/mcp-grants", ""); strings.Contains(answer, "signed_in") {
			t.Errorf("%s sees %s", who, answer)
		}
		if status, answer := s.get(key, "DELETE", "/v1/mcp-grants/docs", ""); status != 404 && status != 204 {
			t.Errorf("%s revokes: %d %s", who, status, answer)
		}
	}

	// A user revokes, and an administrator does. Both end the grant at the authorization server.
	if _, answer := s.get(ann, "GET", "/v1/mcp-grants", ""); !strings.Contains(answer, `"status":"signed_in"`) {
		t.Fatalf("ann has no grant: %s", answer)
	}
	if docs.Live() != 1 {
		t.Errorf("%d tokens", docs.Live())
	}
	if status, answer := s.get(ann, "DELETE", "/v1/mcp-grants/docs", ""); status != 204 {
		t.Fatalf("%d %s", status, answer)
	}
	if docs.Live() != 0 {
		t.Errorf("%d tokens after revoking", docs.Live())
	}
	c := s.must(ann, "POST", "/v1/conversations", "{}", "id")
	s.run(ann, c)
	_, link = s.question(ann, c)
	if status, page := s.comesBack(docs.Approve(t, link, "ann")); status != 200 {
		t.Fatalf("%d %s", status, page)
	}
	s.wait(t, ann, c, "you are ann")
	grant := directory.MCPGrantKey{Server: "docs", User: "ann"}.ID()
	if status, answer := s.get("", "DELETE", "/v1/admin/tenants/umbrella/mcp-servers/docs/grants/"+grant, ""); status != 404 {
		t.Errorf("another tenant's grant: %d %s", status, answer)
	}
	if status, answer := s.get("", "DELETE", admin+"/"+grant, ""); status != 204 || docs.Live() != 0 {
		t.Errorf("%d %s, %d tokens", status, answer, docs.Live())
	}

	// The address of a server changes: its users' grants do not go there.
	s.get("", "GET", "/v1/admin/tenants/acme/audit", "")
	_, answer := s.get("", "GET", "/v1/admin/tenants/acme/audit?limit=100", "")
	for _, want := range []string{"mcp-grant.sign-in", "mcp-grant.revoke", "mcp-grant.failed"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the audit lacks %s: %s", want, answer)
		}
	}
	if status, answer := s.get("none", "GET", server.ClientPath, ""); status != 200 || !strings.Contains(answer, `"https://braid.example/oauth/callback"`) {
		t.Errorf("%d %s", status, answer)
	}

	// The tokens and codes are nowhere.
	secrets := docs.Tokens()
	if len(secrets) < 6 {
		t.Fatalf("there were %d tokens", len(secrets))
	}
	for where, text := range map[string]string{
		"the answers": old.answers.String() + s.answers.String(), "the log": log.String(), "the rows": dump(),
	} {
		if len(text) < 200 {
			t.Errorf("%s: there is nothing to look through: %q", where, text)
		}
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 && (where != "the answers" || !strings.HasPrefix(secret, "code-")) {
				t.Errorf("%q is in %s: …%q…", secret, where, text[max(0, i-100):min(len(text), i+60)])
			}
		}
	}
}

// wait waits until the conversation's last run has ended, and checks what it says.
func (s *signInSite) wait(t *testing.T, token, conv, want string) {
	t.Helper()
	if events := s.settled(token, conv, "waiting", "running", "queued"); !strings.Contains(events, want) {
		t.Fatalf("%q is not in …%s\n%s", want, events[max(0, len(events)-2500):], s.log.String()[max(0, len(s.log.String())-2500):])
	}
}
