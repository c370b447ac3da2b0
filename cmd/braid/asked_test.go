package main

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/service"
)

// listening is a model that records the options of its requests.
type listening struct {
	braid.Model

	mu    *sync.Mutex
	heard *[]model.Options
}

func (m listening) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m.mu.Lock()
	*m.heard = append(*m.heard, req.Options)
	m.mu.Unlock()
	return m.Model.Stream(ctx, req)
}

// heardBy runs a command and returns the options that its model got.
func heardBy(t *testing.T, env map[string]string, config, stdin string, args ...string) (options []model.Options, code int, errs string) {
	t.Helper()
	p, _, stderr := testProcess(t, env, args...)
	p.Stdin = strings.NewReader(stdin)
	if config != "" {
		writeConfig(t, p, config)
	}
	var heard []model.Options
	p.openRef = func(ref string) (braid.Model, error) {
		m, err := openTestModel(ref)
		return listening{m, new(sync.Mutex), &heard}, err
	}
	code = p.run(t.Context())
	return heard, code, stderr.String()
}

func TestFlagsOfTheModelsCalls(t *testing.T) {
	t.Parallel()
	half, seed := 0.5, int64(-7)
	all := model.Options{
		TopP: &half, Seed: &seed, Effort: model.EffortMax, ShowThinking: true, Verbosity: "low", ServiceTier: "flex",
		ServerTools: []model.ServerTool{
			{Kind: model.WebSearch, MaxUses: 5, Domains: []string{"a.example", "b.example"}},
			{Kind: model.CodeExecution},
			{Kind: model.FileSearch, Stores: []string{"vs_1", "vs_2"}},
		},
		Extra:   map[string]json.RawMessage{"user": json.RawMessage(`"ann, and bob"`), "metadata": json.RawMessage(`{"a": [1, 2]}`)},
		Headers: map[string]string{"X-Team": "search, find"},
	}
	flags := []string{
		"--top-p", "0.5", "--seed=-7", "--effort", "max", "--show-thinking", "--verbosity", "low", "--service-tier", "flex",
		"--server-tool", "web_search=max_uses=5&domains=a.example,b.example", "--server-tool", "code_execution", "--server-tool", "file_search=stores=vs_1,vs_2",
		"--model-extra", `user="ann, and bob"`, "--model-extra", `metadata={"a": [1, 2]}`, "--model-header", "X-Team=search, find",
	}
	env := map[string]string{
		"BRAID_TOP_P": "0.5", "BRAID_SEED": "-7", "BRAID_EFFORT": "MAX", "BRAID_SHOW_THINKING": "yes", "BRAID_VERBOSITY": "LOW", "BRAID_SERVICE_TIER": "flex",
		"BRAID_SERVER_TOOL": "web_search?max_uses=5&domains=a.example,b.example\ncode_execution\n\nfile_search=stores=vs_1,vs_2",
		"BRAID_MODEL_EXTRA": "user=\"ann, and bob\"\nmetadata={\"a\": [1, 2]}", "BRAID_MODEL_HEADER": "X-Team=search, find",
	}
	config := `top_p: 0.5
seed: -7
effort: max
show_thinking: true
verbosity: low
service_tier: flex
server_tool: ["web_search=max_uses=5&domains=a.example,b.example", code_execution, "file_search=stores=vs_1,vs_2"]
model_extra: ['user="ann, and bob"', 'metadata={"a": [1, 2]}']
model_header: ["X-Team=search, find"]
`
	for name, tc := range map[string]struct {
		env    map[string]string
		config string
		stdin  string
		args   []string
		want   model.Options
	}{
		"nothing":                {args: []string{"run", "-m", "demo:assistant", "hello"}},
		"flags":                  {args: append([]string{"run", "-m", "demo:assistant", "hello"}, flags...), want: all},
		"the environment":        {env: env, args: []string{"run", "-m", "demo:assistant", "hello"}, want: all},
		"the configuration file": {config: config, args: []string{"run", "-m", "demo:assistant", "hello"}, want: all},
		"a flag before the file": {config: "effort: low\n", args: []string{"run", "-m", "demo:assistant", "hello", "--effort", ""}},
		"chat":                   {stdin: "hello\n", args: []string{"chat", "-m", "demo:assistant"}, want: model.Options{ShowThinking: true}},
		"chat that hides it":     {stdin: "hello\n", args: []string{"chat", "-m", "demo:assistant", "--thinking=false"}},
		"chat, not asked for":    {stdin: "hello\n", args: []string{"chat", "-m", "demo:assistant", "--show-thinking=false"}},
		"chat with all":          {stdin: "hello\n", args: append([]string{"chat", "-m", "demo:assistant"}, flags...), want: all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.env == nil {
				tc.env = map[string]string{}
			}
			heard, code, errs := heardBy(t, tc.env, tc.config, tc.stdin, tc.args...)
			if code != 0 || len(heard) == 0 {
				t.Fatalf("%d, %d calls: %s", code, len(heard), errs)
			}
			if !reflect.DeepEqual(heard[0], tc.want) {
				t.Errorf("asked with %+v, want %+v", heard[0], tc.want)
			}
		})
	}
}

func TestTheTokenOfAnMCPServerOfTheProvider(t *testing.T) {
	t.Parallel()
	args := []string{"run", "-m", "demo:assistant", "hello", "--server-tool", "mcp=name=docs&url=https://mcp.example/x&tools=find,read&token=DOCS_TOKEN"}
	heard, code, errs := heardBy(t, map[string]string{"DOCS_TOKEN": "hunter2"}, "", "", args...)
	if code != 0 || len(heard) == 0 {
		t.Fatalf("%d: %s", code, errs)
	}
	tool := heard[0].ServerTools[0]
	if tool.Token == nil || tool.Token() != "hunter2" || tool.Name != "docs" || tool.URL != "https://mcp.example/x" || len(tool.Tools) != 2 {
		t.Errorf("%+v", tool)
	}
	if _, code, errs := heardBy(t, map[string]string{}, "", "", args...); code == 0 || !strings.Contains(errs, "set DOCS_TOKEN") {
		t.Errorf("without its token: %d, %s", code, errs)
	}
}

func TestWrongFlagsOfTheModelsCalls(t *testing.T) {
	t.Parallel()
	for flag, wrong := range map[string][]string{
		"--effort":       {"very high", "9", "a\x1b[31m"},
		"--top-p":        {"0", "1.1", "-1", "NaN", "x"},
		"--seed":         {"1.5", "x", "99999999999999999999"},
		"--verbosity":    {"loud"},
		"--service-tier": {"two words", "x\x00"},
		"--server-tool": {
			"websearch", "web_search=uses=5", "web_search=max_uses=-1", "web_search=domains=", "web_search=domains=a b", "web_search=domains=a.example&blocked=b.example",
			"web_search=max_uses=1&max_uses=2", "code_execution=x=1", "file_search", "mcp", "mcp=name=docs", "mcp=name=docs&url=http://mcp.example",
			"mcp=name=docs&url=https://u:p@mcp.example", "mcp=name=docs&url=https://mcp.example&token=hunter2", "web_search=%zz", "web_search\nweb_search",
		},
		"--model-extra":  {"x", "=1", "a b=1", "a=", "a={", "a=1 2", "a=1,b=2", "a=NaN", "a=1\na=2", "a=\"" + strings.Repeat("x", 70_000) + "\""},
		"--model-header": {"x", "=1", "a b=hunter2", "x=a\x00hunter2", "X-A=1\nX-A=hunter2"},
	} {
		for _, value := range wrong {
			heard, code, errs := heardBy(t, map[string]string{}, "", "", "run", "-m", "demo:assistant", "hello", flag, value)
			if code == 0 || len(heard) > 0 || !strings.Contains(errs, flag) || strings.ContainsRune(errs, '\x1b') {
				t.Errorf("%s %.40q: %d, %s", flag, value, code, errs)
			}
			if flag == "--model-header" && strings.Contains(errs, "hunter2") {
				t.Errorf("%s shows what it was given: %s", flag, errs)
			}
		}
	}
	p, out, _ := testProcess(t, map[string]string{"BRAID_MODEL_HEADER": "X-Key=hunter2"}, "config")
	if code := p.run(t.Context()); code != 0 || strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), "model_header") {
		t.Errorf("%d: %s", code, out)
	}
}

// The operator's settings for the server's model are not used for another model.
func TestSettingsOfTheServersOwnModel(t *testing.T) {
	t.Parallel()
	half := 0.5
	all := model.Options{
		TopP: &half, Effort: model.EffortHigh, ServiceTier: "flex", ServerTools: []model.ServerTool{{Kind: model.WebSearch}},
		Extra: map[string]json.RawMessage{"user": json.RawMessage(`1`)}, Headers: map[string]string{"X-Team": "a"},
	}
	p, _, _ := testProcess(t, map[string]string{})
	var heard []model.Options
	p.openRef = func(ref string) (braid.Model, error) {
		m, err := openTestModel(ref)
		return listening{m, new(sync.Mutex), &heard}, err
	}
	cfg := &conf.Config{Settings: conf.Settings{
		ModelSettings: conf.ModelSettings{Model: "demo:assistant", Attempts: 1}, AgentSettings: conf.AgentSettings{Tools: "none", Context: "none"},
		CallSettings: conf.CallSettings{
			TopP: &half, Effort: model.EffortHigh, ServiceTier: "flex",
			ServerTools: []conf.ServerTool{{ServerTool: all.ServerTools[0]}}, Extra: all.Extra, Headers: all.Headers,
		},
	}}
	a, err := p.openAgents(t.Context(), cfg, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for ref, want := range map[string]model.Options{"": all, "demo:tour": {TopP: &half, Effort: model.EffortHigh}} {
		heard = nil
		agent, err := a.Agent(t.Context(), service.AgentRequest{AgentOptions: service.AgentOptions{Model: ref}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Run(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		if len(heard) == 0 || !reflect.DeepEqual(heard[0], want) {
			t.Errorf("a run that names %q asks with %+v, want %+v", ref, heard, want)
		}
	}
}
