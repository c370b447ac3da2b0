package tenants

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

// The secrets of the story by kind, except those that the server creates.
func planted() map[string]string {
	return map[string]string{
		"the server's own provider key":                 "sk-ant-planted-own-Kq7/+w=81",
		"a tenant's provider key":                       "sk-ant-planted-tenant-Zt3/+x=55",
		"a provider key in a variable":                  "sk-ant-planted-variable-Lm9/+y=27",
		"a request's token":                             "planted-request-token-Vw2/+z=64",
		"the database's password":                       "planted-password-Pd4",
		"a tool server's token":                         "planted-mcp-token-Rt6/+v=93",
		"a tool server's key":                           "planted-mcp-key-Hn8/+u=46",
		"a run's token for a tool server of its tenant": "planted-crm-token-Gx5/+t=38",
		"a run's token for an API, a tool server":       "planted-shop-token-Jc6/+s=72",
		"a stored header of a tenant's tool server":     "planted-stored-header-Qb1/+r=19",
		"a stored credential of an API, a tool server":  "planted-stored-credential-Wz6/+p=83",
		"the secret of an OAuth client":                 "planted-client-secret-Mf3/+o=61",
		"the bucket's secret":                           "planted-bucket-secret-Xk4/+q=50",
		"a webhook's secret":                            "whsec_" + base64.StdEncoding.EncodeToString([]byte("planted-webhook-secret-Ny3p58")),
	}
}

// After a whole story on the built command, no readable place contains a secret: not the data folder or the database,
// a log, a response, a stream, an export, a copy or an error.
func TestNoSecretIsFound(t *testing.T) {
	t.Parallel()
	if os.Getenv("BRAID_LOAD") != "full" {
		t.Skip("it builds the command and has a story of its own: scripts/test-peers tenants runs it")
	}
	braid := filepath.Join(t.TempDir(), "braid")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", braid, "../../cmd/braid")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, where := range []string{"sqlite", "postgres"} {
		t.Run(where, func(t *testing.T) {
			s := newStory(t, braid)
			if where == "postgres" {
				s.onPostgres()
			}
			s.serve()
			s.tell()
			s.end()
			s.look()
		})
	}
}

// story is a server with secrets, and all of its output.
type story struct {
	t           *testing.T
	braid, data string
	// list is the file with the MCP servers. office and shop are the addresses of an MCP server and of an API.
	list, office, shop string
	docs               *mcpauthtest.Site
	env                []string
	secrets            map[string]string
	// out is the output, by its source.
	out map[string][]byte

	cmd   *exec.Cmd
	log   bytes.Buffer
	url   string
	token string
	// refused are the keys that the provider received, shown the credentials that the tool server received.
	refused, shown sync.Map
	// dump returns the bytes of a database outside the data folder.
	dump func() []byte
}

func newStory(t *testing.T, braid string) *story {
	t.Helper()
	s := &story{t: t, braid: braid, data: filepath.Join(t.TempDir(), "data"), secrets: planted(), out: map[string][]byte{}}
	// The provider refuses every key and repeats it in the error.
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		s.refused.Store(key, true)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		body, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]any{
			"type": "authentication_error", "message": "the key " + key + " is not valid, nor is " + url.QueryEscape(key) + " or " + base64.StdEncoding.EncodeToString([]byte(key)),
		}})
		_, _ = w.Write(body)
	}))
	t.Cleanup(provider.Close)
	tools := s.tools()
	s.office, s.shop, s.docs = tools, s.api(), s.protected()
	s.list = filepath.Join(t.TempDir(), "mcp.json")
	list := `{"mcpServers":{"office":{"type":"http","url":"` + tools + `","headers":{
		"Authorization":"Bearer ${PLANTED_MCP_TOKEN}","X-Office-Key":"` + s.secrets["a tool server's key"] + `"}}}}`
	if err := os.WriteFile(s.list, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "TMPDIR=" + t.TempDir(), "TZ=UTC",
		"ANTHROPIC_BASE_URL=" + provider.URL, "ANTHROPIC_API_KEY=" + s.secrets["the server's own provider key"],
		"PLANTED_KEY=" + s.secrets["a provider key in a variable"], "PLANTED_MCP_TOKEN=" + s.secrets["a tool server's token"],
	}
	return s
}

// tools serves tools that repeat what their server received: unchanged, in JSON, in base64, and in an error.
func (s *story) tools() (address string) {
	s.t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "office"}, nil)
	shown := func(r *mcp.CallToolRequest) string {
		said := ""
		for _, name := range []string{"Authorization", "X-Office-Key"} {
			v := strings.TrimPrefix(r.Extra.Header.Get(name), "Bearer ")
			s.shown.Store(v, true)
			said += name + " " + v + " " + base64.StdEncoding.EncodeToString([]byte(v)) + " " + url.QueryEscape(v) + "; "
		}
		return said
	}
	schema := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "whoami", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		words := shown(r)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "I was shown " + words}}, StructuredContent: map[string]any{"shown": words}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "denied", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("this is not allowed with " + shown(r))
	})
	office := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	s.t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close() // it may have ended already
		}
		office.Close()
	})
	return office.URL
}

// api serves an HTTP API that repeats the headers of its requests, in answers and in errors.
func (s *story) api() (address string) {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := ""
		for name, v := range map[string]string{
			"Authorization": strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "X-Office-Key": r.Header.Get("X-Office-Key"), "key": r.URL.Query().Get("key"),
		} {
			s.shown.Store(v, true)
			said += name + " " + v + " " + base64.StdEncoding.EncodeToString([]byte(v)) + " " + url.QueryEscape(v) + "; "
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/denied") {
			w.WriteHeader(http.StatusForbidden)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"shown": said})
	}))
	s.t.Cleanup(shop.Close)
	return shop.URL
}

// bring gives a tenant what a tenant brings: an MCP server, an API, a skill, an agent with a sub-agent, and files.
func (s *story) bring(key, at string) {
	s.t.Helper()
	body := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			s.t.Fatal(err)
		}
		return string(raw)
	}
	stored := s.secrets["a stored header of a tenant's tool server"]
	s.ask(201, key, "POST", at+"/mcp-servers", body(map[string]any{
		"id": "crm", "type": "http", "url": s.office, "headers_template": map[string]string{"Authorization": "Bearer ${crm_token}"},
		"secret_headers": map[string]string{"X-Office-Key": stored},
	}))
	operation := func(id string) map[string]any {
		return map[string]any{"get": map[string]any{"operationId": id, "responses": map[string]any{"200": map[string]any{"description": "ok"}}}}
	}
	s.ask(201, key, "POST", at+"/mcp-servers", body(map[string]any{
		"id": "shop", "type": "openapi", "url": s.shop, "credentials": map[string]any{"bearer": map[string]any{"value_template": "${shop_token}"}},
		"secret_headers":     map[string]string{"X-Office-Key": stored},
		"secret_credentials": map[string]string{"key": s.secrets["a stored credential of an API, a tool server"]},
		"document": map[string]any{
			"openapi": "3.1.0", "info": map[string]any{"title": "Shop", "version": "1"}, "security": []any{map[string]any{"bearer": []any{}, "key": []any{}}},
			"components": map[string]any{"securitySchemes": map[string]any{
				"bearer": map[string]any{"type": "http", "scheme": "bearer"}, "key": map[string]any{"type": "apiKey", "in": "query", "name": "key"},
			}},
			"paths": map[string]any{"/whoami": operation("whoami"), "/denied": operation("denied")},
		},
	}))
	s.ask(201, key, "POST", at+"/webhooks", body(map[string]any{"id": "office", "url": s.shop + "/hook", "secret": s.secrets["a webhook's secret"]}))
	s.ask(200, key, "POST", at+"/webhooks/office/test", "")
	tokens := map[string]string{
		"crm_token": s.secrets["a run's token for a tool server of its tenant"], "shop_token": s.secrets["a run's token for an API, a tool server"],
	}
	s.command(nil, "admin", "mcp-server", "test", "crm", "--server", s.url, "--token-file", s.file("key", key), "--tenant", filepath.Base(at),
		"--tokens-file", s.file("tokens", "crm_token="+tokens["crm_token"]+"\n"))
	folder := filepath.Join(s.t.TempDir(), "report")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte("---\nname: report\ndescription: Writes reports.\n---\nthe words of the skill\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.command(nil, "admin", "skill", "upload", folder, "--server", s.url, "--token-file", s.file("key", key), "--tenant", filepath.Base(at))
	s.ask(201, key, "POST", at+"/agents", body(map[string]any{
		"id": "lead", "instructions": "You lead.", "sub_agents": map[string]any{
			"finder": map[string]any{"via": "task", "description": "Finds.", "instructions": "Find."},
		},
	}))
	conv, _ := s.ask(201, key, "POST", "/v1/conversations", `{"agent":"lead"}`)["id"].(string)
	runs := "/v1/conversations/" + conv + "/runs"
	for _, input := range []string{
		"use crm___whoami", "use crm___denied", "use shop___whoami", "use shop___denied", `Task subagent_type=finder prompt="use crm___whoami"`,
		`Task subagent_type=finder prompt="use shop___denied"`, "use skill name=report", "use skill name=report copy=true",
		`Task subagent_type=finder prompt="use skill name=report"`,
	} {
		s.ask(200, key, "POST", runs, body(map[string]any{
			"user_input": input, "tokens": tokens, "attachments": []map[string]string{{"name": "a.txt", "data": base64.StdEncoding.EncodeToString([]byte(input))}},
		}))
	}
	s.ask(422, key, "POST", runs, body(map[string]any{"user_input": "hello", "tokens": map[string]string{"shop_token": tokens["shop_token"]}}))
	s.ask(422, key, "POST", runs, body(map[string]any{"user_input": "hello", "tokens": map[string]string{
		"crm_token": tokens["crm_token"] + "\r\nX-Evil: 1", "shop_token": tokens["shop_token"],
	}}))
	for _, path := range []string{"", "/export", "/events", "/runs", "/files", "/files/archive", "/files/content?path=attachments/a.txt", "/files/content?path=skills/report/SKILL.md"} {
		s.ask(200, key, "GET", "/v1/conversations/"+conv+path, "")
	}
	for _, path := range []string{
		"/mcp-servers", "/mcp-servers/crm", "/mcp-servers/crm/versions", "/mcp-servers/shop", "/agents/lead", "/skills", "/skills/report",
		"/skills/report/versions", "/skills/report/archive", "/webhooks", "/webhooks/office", "/webhooks/office/deliveries",
	} {
		s.ask(200, key, "GET", at+path, "")
	}
	s.signIn(key, at, tokens)
}

// file writes a file of the story and returns its path.
func (s *story) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// bucket starts a server on a bucket that refuses and repeats the request.
func (s *story) bucket() {
	s.t.Helper()
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>%s</Message></Error>", r.Header.Get("Authorization"))
	}))
	defer store.Close()
	cmd := exec.CommandContext(s.t.Context(), s.braid, "serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(s.t.TempDir(), "data"),
		"--workspaces=s3://files?endpoint="+store.URL)
	cmd.Env = append(append([]string{}, s.env...), "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY="+s.secrets["the bucket's secret"])
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("refuses the server's credentials")) {
		s.t.Errorf("a server without its bucket: %v: %s", err, out)
	}
	s.keep("a server without its bucket", out)
}

// onPostgres runs the story on a database whose address contains a password.
func (s *story) onPostgres() {
	s.t.Helper()
	pg := databases.Server(s.t)
	address := func(role string) string {
		u, err := url.Parse(pg.URL(role, "postgres"))
		if err != nil {
			s.t.Fatal(err)
		}
		u.User = url.UserPassword(u.User.Username(), s.secrets["the database's password"])
		return u.String()
	}
	keys := filepath.Join(s.t.TempDir(), "keys.json")
	s.command(nil, "secrets", "new", keys)
	s.command([]string{"BRAID_POSTGRES_URL=" + address(databasetest.Owner)}, "migrate", "--role", databasetest.Guest)
	s.env = append(s.env, "BRAID_POSTGRES_URL="+address(databasetest.Guest), "BRAID_SECRETS="+keys)
	s.dump = func() []byte {
		list, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
		program := "pg_dump"
		if err == nil && len(list) > 0 {
			program = list[len(list)-1]
		}
		out, err := exec.CommandContext(s.t.Context(), program, "--inserts", pg.URL("postgres", "postgres")).Output()
		if err != nil || !bytes.Contains(out, []byte("tenant-a")) {
			s.t.Fatalf("the database cannot be dumped: %v", err)
		}
		return out
	}
}

// command runs the command to its end and records its output.
func (s *story) command(env []string, args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.braid, args...)
	cmd.Env = append(append([]string{}, s.env...), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("braid %s: %v: %s", args, err, out)
	}
	s.keep("braid "+strings.Join(args[:min(2, len(args))], " "), out)
}

func (s *story) keep(where string, what []byte) {
	s.out[fmt.Sprintf("%03d %s", len(s.out), where)] = what
}

func (s *story) serve() {
	s.t.Helper()
	s.cmd = exec.CommandContext(s.t.Context(), s.braid, "serve", "--addr", "127.0.0.1:0", "--data", s.data, "--model", "demo", "--log", "json", "--mcp", s.list,
		"--workspaces", "--tool-search", "100", "--allow-host", strings.TrimPrefix(s.office, "http://")+","+strings.TrimPrefix(s.shop, "http://")+","+s.docsHost(),
		"--public-url", "http://127.0.0.1:1")
	s.cmd.Env, s.cmd.Stderr = s.env, &s.log
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "  next") {
		if _, address, ok := strings.Cut(lines.Text(), "braid serves on "); ok {
			s.url = address
		}
		if token, ok := strings.CutPrefix(lines.Text(), "  token  "); ok {
			s.token = token
			if file, kept := strings.CutPrefix(token, "in "); kept {
				data, err := os.ReadFile(file)
				if err != nil {
					s.t.Fatal(err)
				}
				s.token = strings.TrimSpace(string(data))
			}
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if s.url == "" || s.token == "" {
		s.t.Fatalf("the server does not say where it is: %s", &s.log)
	}
	s.secrets["the operator's token"] = s.token
}

// ask sends a request and records the response's header and body. It requires the status, because an unexpected
// response would make the search pointless.
func (s *story) ask(status int, token, method, path, body string) map[string]any {
	s.t.Helper()
	got, answer := s.asked(token, method, path, body)
	if got != status {
		s.t.Errorf("%s %s: %d, want %d: %s", method, path, got, status, answer)
	}
	var v map[string]any
	_ = json.Unmarshal(answer, &v) // a stream is not JSON
	return v
}

func (s *story) asked(token, method, path, body string) (int, []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if method == "POST" && strings.HasSuffix(path, "/keys") && res.StatusCode == http.StatusCreated { // a key is shown only in this response
		key, _ := must(s.t, answer)["token"].(string)
		if key == "" {
			s.t.Fatalf("a key is not shown: %s", answer)
		}
		s.secrets[fmt.Sprint("key ", len(s.secrets))] = key
		return res.StatusCode, answer
	}
	if method == "POST" && strings.HasSuffix(path, "/webhooks") && res.StatusCode == http.StatusCreated { // so is the secret of a webhook
		return res.StatusCode, answer
	}
	s.keep(method+" "+path, fmt.Appendf(nil, "%v\n%s", res.Header, answer))
	return res.StatusCode, answer
}

func must(t *testing.T, raw []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// tell runs the story: two tenants, their models and keys, successful runs and failing runs.
func (s *story) tell() {
	const admin = "/v1/admin/tenants"
	op := s.token
	s.ask(201, op, "POST", "/v1/admin/models", `{"id":"variable","provider":"anthropic","name":"claude-sonnet-4-5","credential":{"env":"PLANTED_KEY"}}`)
	s.ask(201, op, "POST", "/v1/admin/models", `{"id":"own","provider":"anthropic","name":"claude-sonnet-4-5"}`)
	s.ask(201, op, "POST", "/v1/admin/models", `{"id":"demo","provider":"demo","name":"assistant"}`)
	for _, id := range []string{"tenant-a", "tenant-b"} {
		at := admin + "/" + id
		s.ask(201, op, "POST", admin, `{"id":"`+id+`","system_prompt":"You answer for `+id+`.","default_model":"demo"}`)
		secret, err := json.Marshal(s.secrets["a tenant's provider key"])
		if err != nil {
			s.t.Fatal(err)
		}
		s.ask(201, op, "POST", at+"/models", `{"id":"claude","provider":"anthropic","name":"claude-sonnet-4-5","credential":{"secret":`+string(secret)+`}}`)
		key, _ := s.ask(201, op, "POST", at+"/keys", `{"scopes":["read","write","admin:read","admin:write"]}`)["token"].(string)
		conv, _ := s.ask(201, key, "POST", "/v1/conversations", `{}`)["id"].(string)
		runs := "/v1/conversations/" + conv + "/runs"
		token, err := json.Marshal(s.secrets["a request's token"])
		if err != nil {
			s.t.Fatal(err)
		}
		for _, tool := range []string{"clock", "office___whoami", "office___denied"} {
			s.ask(200, key, "POST", runs, `{"user_input":"use `+tool+`","tokens":{"crm":`+string(token)+`}}`)
		}
		for _, model := range []string{"claude", "variable", "own"} { // the provider refuses them, in a stream that had begun
			s.ask(200, key, "POST", runs, `{"user_input":"hello","model":"`+model+`","tokens":{"crm":`+string(token)+`}}`)
		}
		// A secret in the wrong place is not repeated.
		for _, c := range []struct{ path, body string }{
			{runs, `{"user_input":"hello","tokens":` + string(token) + `}`},
			{runs, `{"user_input":"hello","limits":{"max_turns":` + string(token) + `}}`},
			{at + "/models", `{"id":"other","provider":"anthropic","credential":` + string(secret) + `}`},
			{at + "/models", `{"id":"other","provider":"anthropic","name":"x","prices":{"input":` + string(secret) + `}}`},
			{at + "/keys", `{"scopes":["read"],"expires_at":` + string(secret) + `}`},
			{at + "/keys", `{"scopes":[` + string(secret) + `]}`},
		} {
			s.ask(400, key, "POST", c.path, c.body)
		}
		s.ask(401, key+"x", "GET", "/v1/conversations", "")
		s.ask(403, key, "GET", admin, "")
		for _, path := range []string{"", "/export", "/events", "/events?limit=1000", "/runs", "/questions"} {
			s.ask(200, key, "GET", "/v1/conversations/"+conv+path, "")
		}
		for _, path := range []string{
			"", "/agents", "/models", "/models/claude", "/keys", "/audit?limit=100", "/audit/verify", "/conversations",
			"/usage?limit=100", "/usage/sums", "/tools?limit=100", "/conversations/" + conv + "/messages?limit=100",
		} {
			v := s.ask(200, key, "GET", at+path, "")
			if list, paged := v["data"].([]any); paged && len(list) == 0 && path != "/agents" {
				s.t.Errorf("%s%s tells nothing", at, path)
			}
		}
		s.ask(404, key, "GET", at+"/messages", "")
		s.bring(key, at)
	}
	s.bucket()
	for what, key := range s.secrets {
		if _, asked := s.refused.Load(key); strings.Contains(what, "provider key") && !asked {
			s.t.Errorf("the provider was not asked with %s", what)
		}
		if _, shown := s.shown.Load(key); strings.Contains(what, "tool server") && !shown {
			s.t.Errorf("the tool server was not shown %s", what)
		}
	}
	for _, path := range []string{"/metrics", "/v1/models", "/v1/admin/models", "/v1/admin/keys", "/v1/admin/audit", admin, "/healthz", "/readyz", "/openapi.json"} {
		s.ask(200, op, "GET", path, "")
	}
}

// end copies the data folder and stops the server.
func (s *story) end() {
	s.t.Helper()
	if s.dump == nil {
		into := filepath.Join(s.t.TempDir(), "copy")
		s.command(nil, "backup", into, "--data", s.data)
		s.files("the copy's ", into)
	}
	s.command(nil, "config", "--data", s.data)
	s.files("while it serves, ", s.data)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ends with %v", err)
	}
	s.files("", s.data)
	s.keep("the log", s.log.Bytes())
	if s.dump != nil {
		s.keep("the database", s.dump())
	}
}

// files reads a folder. It skips the operator's token, the only file with a readable secret. It includes the keys
// that encrypt secrets.
func (s *story) files(what, folder string) {
	s.t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := filepath.Base(path)
		if name == "token" || name == "keys.json" {
			if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
				s.t.Errorf("%s can be read by others: %v, %v", name, info.Mode(), err)
			}
		}
		if name == "token" {
			return nil
		}
		raw, err := os.ReadFile(path)
		s.keep(what+name, raw)
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// look searches the output for each secret in each form.
func (s *story) look() {
	s.t.Helper()
	s.granted()
	total := 0
	for where, raw := range s.out {
		total += len(raw)
		for what, plain := range s.secrets {
			for form, text := range forms(plain) {
				if at := bytes.Index(raw, []byte(text)); at >= 0 {
					s.t.Errorf("%s has %s (%s): …%q…", where, what, form, raw[max(0, at-120):min(len(raw), at+len(text)+40)])
				}
			}
		}
	}
	s.t.Logf("%d secrets in %d places, %d KiB", len(s.secrets), len(s.out), total>>10)
	if s.log.Len() == 0 || len(s.out) < 50 || total < 100<<10 {
		s.t.Error("the story says too little")
	}
}

// forms returns the encodings of a secret. Base64 has three, depending on the offset. Their ends, which depend on the
// surrounding bytes, are cut.
func forms(plain string) map[string]string {
	quoted, _ := json.Marshal(plain) // a string always encodes
	all := map[string]string{
		"plain": plain, "in a path": url.PathEscape(plain), "in a query": url.QueryEscape(plain), "in JSON": strings.Trim(string(quoted), `"`),
		"in hex": fmt.Sprintf("%x", plain),
	}
	for n := range 3 {
		for name, e := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64 for addresses": base64.RawURLEncoding} {
			text := e.EncodeToString([]byte(strings.Repeat("\x00", n) + plain))
			all[fmt.Sprint(name, " ", n)] = text[(n*8+5)/6 : len(text)-2]
		}
	}
	return all
}

// The search finds each form.
func TestFormsAreFound(t *testing.T) {
	t.Parallel()
	const plain = "planted/secret+of=a test"
	for n := range 6 {
		before, behind := strings.Repeat("x", n), "and more"
		for name, text := range map[string]string{
			"plain":   before + plain + behind,
			"base64":  base64.StdEncoding.EncodeToString([]byte(before + plain + behind)),
			"address": base64.URLEncoding.EncodeToString([]byte(before + plain)),
			"query":   url.QueryEscape(before + plain), "path": url.PathEscape(before + plain),
		} {
			found := false
			for _, form := range forms(plain) {
				found = found || strings.Contains(text, form)
			}
			if !found {
				t.Errorf("%s behind %d letters is not found in %s", name, n, text)
			}
		}
	}
}
