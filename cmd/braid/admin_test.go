package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

const adminToken = "the-operators-token-of-this-test"

// office is a server with an administration API.
type office struct {
	t   *testing.T
	url string
	// token is the credential that the command uses.
	token string
	store *journal.Memory
}

func openOffice(t *testing.T) *office {
	t.Helper()
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	people, store := directory.New(directory.Options{Database: db, Keys: noBox{}}), &journal.Memory{}
	svc, err := service.New(service.Options{
		Journal: store, Rows: service.NewRows(db), Directory: people,
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			m, err := demo.Load("assistant")
			return braid.New("assistant", m), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := server.New(server.Options{Service: svc, Directory: people, Token: secret.New(adminToken), Tenant: conf.Tenant}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		if err := errors.Join(svc.Drain(context.Background()), people.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return &office{t, s.URL, adminToken, store}
}

// noBox stores keys in clear, which is enough for the test.
type noBox struct{}

func (noBox) Seal(plain, _ []byte) ([]byte, error)  { return append([]byte(nil), plain...), nil }
func (noBox) Open(sealed, _ []byte) ([]byte, error) { return append([]byte(nil), sealed...), nil }

// do runs braid admin and checks its exit code.
func (o *office) do(code int, stdin string, args ...string) (out, errs string) {
	o.t.Helper()
	p, stdout, stderr := testProcess(o.t, map[string]string{"BRAID_TOKEN": o.token}, append([]string{"admin", "--server", o.url}, args...)...)
	p.Stdin = strings.NewReader(stdin)
	if got := p.run(o.t.Context()); got != code {
		o.t.Fatalf("braid admin %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout.String(), stderr.String()
}

// All of braid admin, from an empty server to an application's key.
func TestAdmin(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	out, _ := o.do(0, "", "tenant", "create", "acme", "--name", "Acme Ltd", "--system-prompt", "Be kind.\nBe brief.")
	if !strings.Contains(out, "id: acme\n") || !strings.Contains(out, "system_prompt: |-\n  Be kind.\n  Be brief.\n") {
		t.Errorf("the tenant is shown as\n%s", out)
	}
	o.do(0, "", "tenant", "create", "zeta", "--quota", "requests=600,conversations=0")
	out, _ = o.do(0, "", "tenant", "update", "zeta", "--quota", "requests=default,agents=3")
	if want := "quota:\n  conversations: 0\n  agents: 3\n"; !strings.Contains(out, want) {
		t.Errorf("the quota is shown as\n%s\nwant\n%s", out, want)
	}
	if out, _ = o.do(0, "", "tenant", "update", "acme", "--failed-runs", "keep"); !strings.Contains(out, "failed_runs: keep\n") {
		t.Errorf("the tenant is shown as\n%s", out)
	}
	out, _ = o.do(0, "", "tenant", "list")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "acme\tactive\t") || !strings.HasSuffix(lines[0], "\tAcme Ltd") {
		t.Errorf("the tenants are\n%s", out)
	}
	out, errs := o.do(0, "", "tenant", "list", "--limit", "1", "--json")
	var listed map[string]any
	if err := json.Unmarshal([]byte(out), &listed); err != nil || listed["id"] != "acme" || !strings.Contains(errs, "there are more") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
	o.do(0, "", "model", "create", "small", "--shared", "--model", "demo:assistant", "--alias", "haiku,sonnet", "--prices", "input=0.80,output=4")
	out, _ = o.do(0, "", "model", "list", "--shared")
	if !strings.Contains(out, "small\tactive\tdemo:assistant\thaiku,sonnet\t") {
		t.Errorf("the models are\n%s", out)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sk-planted-0123456789-wxyz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.do(0, "policy: {server_tools: [web_search, code_execution], service_tiers: [flex]}", "tenant", "update", "acme", "--file", "-")
	out, _ = o.do(0, "", "agent", "create", "careful", "--tenant", "acme", "--effort", "high", "--show-thinking", "false", "--top-p", "0.9", "--seed", "-7",
		"--verbosity", "low", "--service-tier", "flex", "--server-tools", "web_search=max_uses=2&domains=a.example,b.example code_execution", "--context", "window")
	const careful = "effort: high\nshow_thinking: false\ntop_p: 0.9\nseed: -7\nverbosity: low\nservice_tier: flex\nserver_tools:\n  - kind: web_search\n" +
		"    max_uses: 2\n    domains:\n      - a.example\n      - b.example\n  - kind: code_execution\n"
	if !strings.Contains(out, careful) || !strings.Contains(out, "context: window\n") {
		t.Errorf("the agent is shown as\n%s", out)
	}
	out, _ = o.do(0, "", "agent", "update", "careful", "--tenant", "acme", "--effort", "", "--seed", "", "--server-tools", "none", "--context", "")
	if strings.Contains(out, "effort") || strings.Contains(out, "seed") || strings.Contains(out, "context") || !strings.Contains(out, "server_tools: []\n") {
		t.Errorf("the agent is shown as\n%s", out)
	}
	out, _ = o.do(0, "server_tools: [{kind: web_fetch, blocked: [c.example]}]\nseed: 9007199254740993", "model", "create", "set", "--shared",
		"--model", "demo:assistant", "--file", "-", "--effort", "low")
	if !strings.Contains(out, "effort: low\nseed: 9007199254740993\nserver_tools:\n  - kind: web_fetch\n    blocked:\n      - c.example\n") {
		t.Errorf("the model is shown as\n%s", out)
	}
	out, _ = o.do(0, "", "model", "create", "own", "--tenant", "acme", "--model", "openai:some:thing", "--key-file", key)
	if strings.Contains(out, "planted") || !strings.Contains(out, "ends_in: wxyz") || !strings.Contains(out, "name: some:thing") {
		t.Errorf("the model is shown as\n%s", out)
	}
	out, _ = o.do(0, "sk-other-0123456789-abcd", "model", "update", "own", "--tenant", "acme", "--key-file", "-")
	if !strings.Contains(out, "ends_in: abcd") {
		t.Errorf("the model is shown as\n%s", out)
	}
	o.do(0, "", "model", "update", "own", "--tenant", "acme", "--key-env", "OTHER_KEY")
	if out, _ = o.do(0, "", "model", "list", "--tenant", "acme"); !strings.Contains(out, "\t$OTHER_KEY\n") {
		t.Errorf("the models are\n%s", out)
	}
	o.do(0, "", "model", "deactivate", "own", "--tenant", "acme")
	o.do(0, "", "model", "delete", "own", "--tenant", "acme")
	out, _ = o.do(0, "instructions: |\n  Help.\n  Be quick.\ntools: []\nlimits: {max_turns: 4}\n",
		"agent", "create", "helper", "--tenant", "acme", "--file", "-", "--model", "haiku", "--name", "Helper")
	if !strings.Contains(out, "version: 1\n") || !strings.Contains(out, "max_turns: 4") || !strings.Contains(out, "tools: []") {
		t.Errorf("the agent is shown as\n%s", out)
	}
	o.do(0, "", "agent", "update", "helper", "--tenant", "acme", "--instructions", "Help slowly.", "--revision", "1", "--tools", "clock,calc*")
	o.do(13, "", "agent", "update", "helper", "--tenant", "acme", "--instructions", "Help late.", "--revision", "1")
	if out, _ = o.do(0, "", "agent", "versions", "helper", "--tenant", "acme"); strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, "2\t") {
		t.Errorf("the versions are\n%s", out)
	}
	if out, _ = o.do(0, "", "agent", "show", "helper", "--tenant", "acme", "--version", "1", "--json"); !strings.Contains(out, `"Help.\nBe quick.\n"`) {
		t.Errorf("the first version is %s", out)
	}
	o.do(0, "", "agent", "deactivate", "helper", "--tenant", "acme")
	o.do(0, "", "agent", "activate", "helper", "--tenant", "acme")
	o.do(0, "", "tenant", "update", "acme", "--default-agent", "helper")
	token, errs := o.do(0, "", "key", "create", "--tenant", "acme", "--scopes", "read,write,admin:read", "--user", "ann", "--expires", "30000d")
	if !strings.HasPrefix(token, "brk_") || strings.Count(token, "\n") != 1 || !strings.Contains(errs, "this once") || strings.Contains(errs, token[21:]) {
		t.Errorf("the key is told as %q and %q", token, errs)
	}
	id := strings.Split(token, "_")[1]
	if out, _ = o.do(0, "", "key", "list", "--tenant", "acme"); !strings.Contains(out, id+"\tactive\tread,write,admin:read\t") || strings.Contains(out, token[21:]) {
		t.Errorf("the keys are\n%s", out)
	}
	tenants := &office{t, o.url, strings.TrimSpace(token), o.store}
	tenants.do(0, "", "agent", "list", "--tenant", "acme")
	tenants.do(11, "", "agent", "create", "x", "--tenant", "acme")
	tenants.do(12, "", "agent", "list", "--tenant", "zeta")
	tenants.do(0, "", "conversations", "list", "--tenant", "acme")
	o.do(0, "", "key", "revoke", id, "--tenant", "acme")
	if _, errs = tenants.do(10, "", "agent", "list", "--tenant", "acme"); !strings.Contains(errs, "BRAID_TOKEN") {
		t.Errorf("a revoked key is told of as %q", errs)
	}
	if out, _ = o.do(0, "", "key", "list", "--tenant", "acme"); !strings.Contains(out, id+"\trevoked\t") {
		t.Errorf("the keys are\n%s", out)
	}
	out, _ = o.do(0, "", "audit", "list", "--tenant", "acme", "--action", "key.revoke")
	if strings.Count(out, "\n") != 1 || !strings.Contains(out, "\toperator\tkey.revoke\tkey/"+id) {
		t.Errorf("the audit is\n%s", out)
	}
	if out, _ = o.do(0, "", "audit", "verify", "--tenant", "acme"); !strings.Contains(out, "all as they were written") {
		t.Errorf("the audit is %s", out)
	}
	o.do(0, "", "audit", "verify", "--shared", "--json")
	o.do(0, "", "tenant", "deactivate", "zeta")
	if out, _ = o.do(0, "", "tenant", "list", "--status", "inactive"); !strings.HasPrefix(out, "zeta\t") {
		t.Errorf("the inactive are\n%s", out)
	}
	o.do(0, "", "tenant", "activate", "zeta")
	o.do(0, "", "tenant", "show", "zeta")
	o.do(2, "", "tenant", "erase", "zeta")
	o.do(13, "", "tenant", "erase", "zeta", "--yes")
	o.do(0, "", "tenant", "deactivate", "zeta")
	if out, _ = o.do(0, "", "tenant", "erase", "zeta", "--yes"); !strings.Contains(out, "agents: 0\n") {
		t.Errorf("what was erased is\n%s", out)
	}
	o.do(12, "", "tenant", "show", "zeta")
}

// Mistakes are reported with what to do, before anything is sent if possible.
func TestAdminRefuses(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.do(0, "", "tenant", "create", "default")
	for _, c := range []struct {
		code  int
		args  string
		stdin string
		says  string
	}{
		{2, "", "", "needs an action"},
		{2, "tennant list", "", "did you mean braid admin tenant?"},
		{2, "tenant", "", "use create, list, show"},
		{2, "tenant mak x", "", "cannot \"mak\""},
		{2, "tenant create", "", "write braid admin tenant create ID"},
		{2, "tenant create a b", "", "takes 1 arguments"},
		{2, "tenant list x", "", "takes 0 arguments"},
		{2, "tenant create x --quota request=3", "", "is not a limit"},
		{2, "tenant create x --quota requests=-3", "", "is not a limit"},
		{2, "tenant create x --quota running=0", "", "a quota of runs is 0"},
		{2, "tenant list --scopes read", "", "--scopes means nothing to braid admin tenant list"},
		{2, "model list --shared --tenant acme", "", "leave one of them out"},
		{2, "model create m --model assistant", "", "PROVIDER:NAME"},
		{2, "model create m --model demo:x --key-env A --key-file b", "", "leave one of them out"},
		{2, "model create m --model demo:x --prices in=3", "", "is not a price"},
		{12, "model create m --model demo:x --key-file nowhere", "", "--key-file: the file cannot be opened"},
		{2, "model create m --model demo:x --key-file -", " ", "the file is empty"},
		{2, "agent create a --effort Very!", "", "--effort: "},
		{2, "agent create a --top-p 2", "", "--top-p: "},
		{2, "agent create a --seed x", "", "--seed: "},
		{2, "agent create a --verbosity x", "", "--verbosity: "},
		{2, "agent create a --show-thinking perhaps", "", "--show-thinking: "},
		{2, "agent create a --service-tier a/b", "", "--service-tier: "},
		{2, "agent create a --server-tools web_search=max_uses=x", "", "max_uses of web_search"},
		{2, "model create m --model demo:x --server-tools mcp=name=a&url=https://b.example", "", "names an MCP server"},
		{2, "agent create a --context forget", "", "context: there is no such way"},
		{2, "agent create a --file -", "effort: 3", "effort"},
		{2, "agent create a --file -", "headers: {x: y}", "unknown field"},
		{2, "model create m --model demo:x --context none", "", "--context means nothing"},
		{2, "key create", "", "a key needs scopes"},
		{2, "key create --scopes everything", "", "scope"},
		{2, "key create --scopes read --expires yesterday", "", "is not a time"},
		{2, "agent create a --file -", "temperature: 3", "unknown field"},
		{2, "agent create a --file -", "a: [", "the file cannot be read"},
		{2, "agent create A", "", "id of the agent"},
		{12, "agent show nobody", "", "there is no such agent"},
		{12, "agent show a/b", "", "as the server gave it"},
		{2, "agent update a --revision x", "", "is not a revision"},
		{2, "tenant list --sort name", "", "sort by id"},
		{2, "tenant list --limit many", "", "--limit"},
		{13, "tenant create default", "", "a tenant with this id exists"},
		{28, "tenant list --server http://127.0.0.1:1", "", "braid serve"},
		{2, "tenant list --server ftp://x", "", "address"},
	} {
		_, errs := o.do(c.code, c.stdin, strings.Fields(c.args)...)
		if !strings.Contains(errs, c.says) {
			t.Errorf("%s: %s, and no %q", c.args, errs, c.says)
		}
	}
}
