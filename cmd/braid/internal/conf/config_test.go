package conf

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/sandbox"
)

func TestConfigLayers(t *testing.T) {
	t.Parallel()
	env := map[string]string{"BRAID_MAX_CYCLES": "20", "BRAID_TIMEOUT": "20s", "BRAID_COLOR": ""}
	p := testSystem(t, env)
	writeConfig(t, p, "max_cycles: 10\ntimeout: 10s\nmax_tokens: 10\ntools: [clock, calculator]\ntrace: yes\ncolor: never\n")
	c, err := p.LoadConfig(map[string]string{"max_cycles": "30"}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		ModelSettings: ModelSettings{
			Attempts: 6, Catalogue: CataloguePath(c.File),
			FallbackOn: []event.ErrorKind{event.ErrThrottled, event.ErrOverloaded, event.ErrUnavailable},
		},
		CallSettings: CallSettings{MaxTokens: 10},
		AgentSettings: AgentSettings{
			Tools: "clock,calculator", Context: "summary", Window: 40, OffloadOver: 10_000, ToolSearch: 20,
			ShellLevel: sandbox.Full, ShellTime: 2 * time.Minute, ShellMemory: 2 << 30,
		},
		Bounds:        Bounds{MaxCycles: 30, Timeout: 20 * time.Second},
		StoreSettings: StoreSettings{Data: c.Data},
		ServerSettings: ServerSettings{
			Running: 2048, TenantRunning: 1024, Queued: 50_000, TenantQueued: 10_000, LostDrivers: 3, FailedRuns: "forget", Memory: 512 << 20,
			RefusedEvery: 5 * time.Minute, MetricTenants: 100, WrongCredentials: 100, Lease: 10 * time.Second,
		},
		TenantQuota: TenantQuota{
			TenantRequests: 6_000, TenantConversations: 1_000_000, TenantAgents: 1_000, TenantStorage: 10 << 30,
			TenantTokens: 500_000_000, TenantCost: 1_000_000_000_000,
		},
		Display: Display{Trace: true, Thinking: true, Color: "never"},
	}
	if !reflect.DeepEqual(c.Settings, want) {
		t.Errorf("settings %+v, want %+v", c.Settings, want)
	}
	for name, source := range map[string]string{
		"max_cycles": "--max-cycles", "timeout": "BRAID_TIMEOUT", "max_tokens": "the configuration file, line 3",
		"model": "default", "color": "the configuration file, line 6", "data": "default",
	} {
		if got := c.Values[name].Source; got != source {
			t.Errorf("%s comes from %q, want %q", name, got, source)
		}
	}
}

func TestEveryOptionTakesAndRefuses(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"model": "demo:tour", "instructions": "Be brief.", "tools": "all", "scratch": "here", "timeout": "5m",
		"data": "there", "ephemeral": "yes", "mcp": "mcp.json", "openapi": "pets.yaml, https://api.example/openapi.json", "openapi_auth": "key=KEY,b=B", "openapi_server": "https://api.example/v1", "skills": "a, b", "workspace": "work", "workspaces": "yes", "shell": "on", "shell_level": "namespaces", "shell_time": "30s", "shell_memory": "64MiB",
		"max_cycles": "3", "max_tool_calls": "4", "max_total_tokens": "5", "sequential": "on", "max_tokens": "6",
		"context": "Window", "window": "0", "context_tokens": "32000", "offload_over": "0", "tool_search": "50",
		"temperature": "0.5", "thinking_budget": "7", "color": "ALWAYS", "thinking": "false", "trace": "1",
		"fallback": "demo, demo:tour", "fallback_on": "Throttled,timeout", "prices": "prices.yaml", "vendors": "vendors.yaml",
		"attempts": "1", "allow": "get_*", "ask": "*, weather___*", "deny": "delete_file",
		"model_requests": "50", "model_tokens": "30000", "model_concurrency": "4",
		"max_input_tokens": "7", "max_output_tokens": "8", "max_cost": "0.5", "budget": "cost=2.50, cycles=9,time=1h",
		"running": "5000", "tenant_running": "5000", "queued": "6000", "tenant_queued": "6000", "lost_drivers": "0", "failed_runs": "keep", "memory": "2GiB",
		"tenant_requests": "60", "tenant_conversations": "5", "tenant_agents": "0", "tenant_storage": "5 GiB", "tenant_tokens": "9", "tenant_cost": "2.50",
		"effort": "high", "show_thinking": "yes", "top_p": "1", "seed": "-3", "verbosity": "High", "service_tier": "flex",
		"server_tool": "web_search=max_uses=3", "model_extra": "a=[1, 2]", "model_header": "X-Team=a=b",
		"refused_every": "90s", "metric_tenants": "0", "lease": "30s", "wrong_credentials": "0", "trusted_proxies": "10.0.0.0/8, 192.0.2.7, ::1",
	}
	bad := map[string]string{
		"tools": "clok", "timeout": "5 minutes", "max_cycles": "-1", "max_tool_calls": "x", "max_total_tokens": "1.5",
		"sequential": "maybe", "max_tokens": "99999999999999999999", "temperature": "NaN", "thinking_budget": "0x1",
		"context": "forget", "window": "-1", "context_tokens": "big", "offload_over": "1k", "tool_search": "few",
		"color": "sometimes", "thinking": "2", "trace": "si", "ephemeral": "never",
		"shell": "perhaps", "shell_level": "none", "shell_time": "0s", "shell_memory": "1MiB", "openapi_auth": "key=${KEY}", "openapi_server": "api.example", "attempts": "0", "allow": "a b", "ask": "mcp:x", "deny": "[",
		"fallback_on": "throtled", "model_requests": "many", "model_tokens": "-5", "model_concurrency": "1.5",
		"max_input_tokens": "-1", "max_output_tokens": "many", "max_cost": "NaN", "budget": "turns=3",
		"running": "0", "tenant_running": "-1", "queued": "many", "tenant_queued": "1.5", "lost_drivers": "-1", "failed_runs": "drop", "memory": "31MiB",
		"tenant_requests": "-1", "tenant_conversations": "many", "tenant_agents": "1.5", "tenant_storage": "-1GiB", "tenant_tokens": "-1", "tenant_cost": "NaN",
		"effort": "very high", "show_thinking": "2", "top_p": "0", "seed": "1.5", "verbosity": "loud", "service_tier": "a b",
		"server_tool": "search", "model_extra": "a", "model_header": "X-Team",
		"refused_every": "0", "metric_tenants": "many", "lease": "1s", "wrong_credentials": "-1", "trusted_proxies": "10.0.0.0/33",
	}
	for i := range Options {
		o := &Options[i]
		var byDefault, set Settings
		if err := o.Set(&byDefault, o.Def); err != nil {
			t.Errorf("%s refuses its default %q: %v", o.Name, o.Def, err)
		}
		if err := o.Set(&set, good[o.Name]); err != nil || good[o.Name] == "" {
			t.Errorf("%s refuses %q: %v", o.Name, good[o.Name], err)
		}
		if reflect.DeepEqual(set, byDefault) {
			t.Errorf("%s=%s changes nothing", o.Name, good[o.Name])
		}
		v, refuses := bad[o.Name]
		if !refuses {
			continue
		}
		p := testSystem(t, map[string]string{o.Env(): v})
		_, err := p.LoadConfig(nil, "")
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), o.Env()) {
			t.Errorf("%s=%q gives %v", o.Env(), v, err)
		}
	}
}

// Code other than the parser reads every setting.
func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	files, err := filepath.Glob("../../*.go")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, parts...) {
		if filepath.Base(file) == "option.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				read[s.Sel.Name] = true
			}
			return true
		})
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		if !f.Anonymous && !read[f.Name] {
			t.Errorf("nothing reads the setting %s", f.Name)
		}
	}
}

func TestConfigFileFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"unknown name", "modell: demo:tour\n", `line 1: there is no option "modell" (did you mean model?)`},
		{"name of a flag", "max-cycles: 3\n", "did you mean max_cycles?"},
		{"twice", "trace: true\ntrace: false\n", "line 2: trace is set twice"},
		{"wrong value", "trace: true\ntimeout: long\n", `line 2: "long" is no time such as 90s or 5m`},
		{"mapping as value", "model: {a: b}\n", "model is not a plain value"},
		{"nested list", "tools: [[a]]\n", "tools is not a plain value"},
		{"alias", "model: &a x\nscratch: *a\n", "scratch is not a plain value"},
		{"a list", "- a\n", "not a list of names and values"},
		{"a word", "demo\n", "not a list of names and values"},
		{"not YAML", "model: [\n", "not YAML"},
		{"two documents", "trace: true\n---\ntrace: false\n", "more than one YAML document"},
		{"a complex name", "? [a, b]\n: c\n", "there is no option"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := testSystem(t, nil)
			path := writeConfig(t, p, c.text)
			_, err := p.LoadConfig(nil, "")
			if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), path) {
				t.Errorf("the error names the path: %v", err)
			}
		})
	}
	for name, text := range map[string]string{"empty": "", "comments": "# nothing\n", "null": "~\n", "null value": "model:\n"} {
		p := testSystem(t, nil)
		writeConfig(t, p, text)
		if c, err := p.LoadConfig(nil, ""); err != nil || c.Values["model"].Source != "default" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigFileIsFound(t *testing.T) {
	t.Parallel()
	p := testSystem(t, nil)
	if c, err := p.LoadConfig(nil, ""); err != nil || c.Found {
		t.Errorf("a missing file that nobody asked for: found %v, %v", c.Found, err)
	}
	missing := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := p.LoadConfig(nil, missing); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("a missing file of --config gives %v", err)
	}
	if _, err := p.LoadConfig(nil, t.TempDir()); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a folder gives %v", err)
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("#\n", configLimit)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.LoadConfig(nil, big); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("a large file gives %v", err)
	}
	other := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(other, []byte("max_cycles: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	q := testSystem(t, map[string]string{"BRAID_CONFIG": other})
	if c, err := q.LoadConfig(nil, ""); err != nil || c.MaxCycles != 7 {
		t.Errorf("BRAID_CONFIG: %v, %v", c.MaxCycles, err)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{"model: a\n", "tools: [a, b]\n", "a: &x [*x]\n", "---\n---\n", "\xff", "? a\n: b\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, errs := parseConfig(data)
		for name := range values {
			if !slices.Contains(OptionNames(func(o *Option) string { return o.Name }), name) {
				t.Fatalf("%q is no option", name)
			}
		}
		for _, err := range errs {
			if event.KindOf(err) != event.ErrInvalid {
				t.Fatalf("%q gives %v", data, err)
			}
		}
	})
}

// testSystem has its own environment and folders.
func testSystem(t *testing.T, env map[string]string) *System {
	t.Helper()
	dir := t.TempDir()
	return &System{
		Getenv:    func(name string) string { return env[name] },
		ConfigDir: func() (string, error) { return dir, nil },
		DataDir:   func() (string, error) { return filepath.Join(dir, "data"), nil },
	}
}

func writeConfig(t *testing.T, p *System, text string) string {
	t.Helper()
	dir, err := p.ConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "braid", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
