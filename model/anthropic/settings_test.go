package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/secret"
)

// The models of November 2026, and older ones (about-claude/models/overview).
var served = []string{
	"claude-fable-5-2", "claude-mythos-5-2", "claude-haiku-5-5", "claude-sonnet-5-5", "claude-fable-5-1", "claude-opus-5-5", "claude-mythos-5-1",
	"claude-sonnet-5", "claude-fable-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5",
	"claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-sonnet-4-20250514", "claude-3-7-sonnet-20250219", "claude-3-haiku-20240307",
}

// What each model is asked for an effort: which words it takes, what stands for none, and
// where there is a budget instead.
func TestEffort(t *testing.T) {
	t.Parallel()
	const no = "unsupported"
	for _, tc := range []struct {
		model  string
		effort model.Effort
		want   string
	}{
		{"claude-sonnet-5-5", "low", `"output_config":{"effort":"low"}`},
		{"claude-sonnet-5-5", "max", `"effort":"max"`},
		{"claude-sonnet-5-5", "xhigh", `"effort":"xhigh"`},
		{"claude-sonnet-5-5", "none", `"thinking":{"type":"between_tools"},"max_tokens"`},
		{"claude-sonnet-5-5", "minimal", no},
		{"claude-opus-5-5", "none", no},
		{"claude-fable-5", "none", no},
		{"claude-mythos-5-1", "none", no},
		{"claude-haiku-5-5", "none", `"thinking":{"type":"disabled"}`},
		{"claude-opus-5", "none", `"thinking":{"type":"disabled"}`},
		{"claude-opus-4-8", "none", `{"type":"text","text":"Hi."}]}],"max_tokens"`},
		{"claude-opus-4-8", "xhigh", `"thinking":{"type":"adaptive"},"max_tokens":32000,"output_config":{"effort":"xhigh"}`},
		{"claude-sonnet-4-6", "max", `"effort":"max"`},
		{"claude-sonnet-4-6", "xhigh", no},
		{"claude-opus-4-5", "max", `"thinking":{"type":"enabled","budget_tokens":48000},"max_tokens":56000,"output_config":{"effort":"high"}`},
		{"claude-sonnet-4-5", "low", `"thinking":{"type":"enabled","budget_tokens":2000},"max_tokens":32000`},
		{"claude-sonnet-4-5", "none", `{"type":"text","text":"Hi."}]}],"max_tokens"`},
		{"claude-sonnet-4-5", "xhigh", no},
		{"claude-3-7-sonnet", "high", `"budget_tokens":16000`},
		{"claude-3-haiku-20240307", "high", no},
	} {
		m, server := open(t, tc.model, []anthropic.Option{anthropic.Cache(anthropic.CacheOff)}, anthropictest.Text("ok"))
		req := &model.Request{Messages: []event.Message{said("Hi.")}, Options: model.Options{Effort: tc.effort}}
		if tc.want == no {
			e := new(event.Error)
			if err := m.Check(req); !errors.As(err, &e) || e.Kind != event.ErrUnsupported || e.Hint == "" {
				t.Errorf("%s, %s: %v", tc.model, tc.effort, err)
			}
			if r := modeltest.Call(context.Background(), m, req); !errors.Is(r.Err, event.ErrUnsupported) || len(server.Asked()) != 0 {
				t.Errorf("%s, %s: it was asked, %v", tc.model, tc.effort, r.Err)
			}
			continue
		}
		if r := modeltest.Call(context.Background(), m, req); r.Err != nil || !strings.Contains(string(server.Asked()[0].Body), tc.want) {
			t.Errorf("%s, %s: %v, %s", tc.model, tc.effort, r.Err, server.Asked()[0].Body)
		}
	}
}

// An effort and a schema share a member.
func TestEffortWithASchema(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, nil, anthropictest.Text("{}"))
	r := modeltest.Call(context.Background(), m, &model.Request{
		Messages: []event.Message{said("Hi.")}, Options: model.Options{Effort: model.EffortHigh, ShowThinking: true},
		Output: &model.OutputSchema{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
	})
	body := string(server.Asked()[0].Body)
	if r.Err != nil || !strings.Contains(body, `"output_config":{"effort":"high","format":{"type":"json_schema"`) ||
		!strings.Contains(body, `"thinking":{"type":"adaptive","display":"summarized"}`) {
		t.Errorf("%v: %s", r.Err, body)
	}
}

// Whatever is asked for, and of whichever model: either the check says that it cannot be, or the
// vendor takes it. The check and the call agree.
func TestSettingsAreCheckedOrTaken(t *testing.T) {
	t.Parallel()
	type pair struct {
		server *anthropictest.Server
		cloud  bool
	}
	api, cloud := anthropictest.Start(), anthropictest.StartBedrock()
	t.Cleanup(api.Close)
	t.Cleanup(cloud.Close)
	taken, unsupported := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := pair{api, false}
		if rapid.IntRange(0, 3).Draw(t, "platform") == 0 {
			p = pair{cloud, true}
		}
		name := rapid.SampledFrom(served).Draw(t, "model")
		version := rapid.SampledFrom([]string{"", "2023-06-01"}).Draw(t, "version")
		var m *anthropic.Model
		var err error
		if p.cloud {
			m, err = anthropic.NewBedrock("us.anthropic."+name+"-v1:0", p.server.Keyed(), anthropic.HTTPClient(p.server.Client()))
			p.server.Add(anthropictest.BedrockText("ok"))
		} else {
			opts := []anthropic.Option{anthropic.BaseURL(p.server.URL), anthropic.HTTPClient(p.server.Client())}
			if version != "" {
				opts = append(opts, anthropic.Version(version))
			}
			m, err = anthropic.New(name, secret.New(anthropictest.Key), opts...)
			p.server.Add(anthropictest.Text("ok"))
		}
		if err != nil {
			t.Fatal(err)
		}
		req := drawnRequest(t)
		before := len(p.server.Asked())
		checked := m.Check(req)
		req.Messages = []event.Message{said("Hi.")}
		r := modeltest.Call(context.Background(), m, req)
		asked := p.server.Asked()
		if checked != nil {
			if len(asked) != before || r.Err == nil || !errors.Is(r.Err, event.ErrUnsupported) && !errors.Is(r.Err, event.ErrInvalid) {
				t.Fatalf("%s: checked %v, and %v", name, checked, r.Err)
			}
			unsupported++
			return
		}
		if r.Err != nil {
			t.Fatalf("%s: %v\n%s", name, r.Err, asked[len(asked)-1].Body)
		}
		taken++
	})
	if !race.On && (taken == 0 || unsupported == 0) { // few are drawn under the race detector
		t.Errorf("%d taken, %d not: the draw is one-sided", taken, unsupported)
	}
}

// drawnRequest draws settings, two of which or so are set.
func drawnRequest(t *rapid.T) *model.Request {
	req := &model.Request{}
	o := &req.Options
	for range rapid.IntRange(0, 3).Draw(t, "settings") {
		switch rapid.SampledFrom([]string{
			"effort", "effort", "thinking", "show", "most", "temperature", "top_p", "tier", "seed", "verbosity", "tools", "strict", "choice", "server", "context", "output",
			"extra", "headers",
		}).Draw(t, "setting") {
		case "effort":
			o.Effort = rapid.SampledFrom([]model.Effort{"none", "low", "medium", "high", "xhigh", "max", "minimal"}).Draw(t, "effort")
		case "thinking":
			o.Thinking = rapid.SampledFrom([]int{1, 2000, 20_000}).Draw(t, "thinking")
		case "show":
			o.ShowThinking = true
		case "most":
			o.MaxTokens = rapid.SampledFrom([]int{100, 1300, 2500, 64_000}).Draw(t, "most")
		case "temperature":
			o.Temperature = new(0.5)
		case "top_p":
			o.TopP = new(rapid.SampledFrom([]float64{0.5, 0.99, 1, 1.5, 0}).Draw(t, "top_p"))
		case "tier":
			o.ServiceTier = rapid.SampledFrom([]string{"auto", "standard_only", "flex"}).Draw(t, "tier")
		case "seed":
			o.Seed = new(int64(1))
		case "verbosity":
			o.Verbosity = "low"
		case "tools":
			req.Tools = append(req.Tools, model.ToolSpec{Name: []string{"web_search", "b", "c"}[len(req.Tools)%3], Schema: []byte(`{"type":"object","properties":{}}`)})
		case "strict":
			schema := rapid.SampledFrom([]string{
				`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`,
				`{"type":"object","properties":{"n":{"oneOf":[{"type":"string"},{"type":"object","properties":{"x":{"type":"number"}}}]}}}`,
				`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}}}`,
				`{"type":"object","additionalProperties":{"type":"string"}}`, `{"anyOf":[{"type":"object"},{"type":"string"}]}`,
				`{"type":"object","properties":{"a b":{"type":"array","minItems":3,"items":{}}}}`,
			}).Draw(t, "schema")
			req.Tools = append(req.Tools, model.ToolSpec{Name: fmt.Sprint("s", len(req.Tools)), Schema: []byte(schema), Strict: true})
		case "choice":
			req.ToolChoice.Mode = rapid.SampledFrom([]model.ToolMode{model.ToolsAny, model.ToolsNone, model.ToolsFree}).Draw(t, "choice")
			req.ToolChoice.Serial = true
		case "server":
			o.ServerTools = append(o.ServerTools, rapid.SampledFrom(serverTools).Draw(t, "server"))
		case "context":
			o.Context = rapid.SampledFrom([]model.ContextManagement{
				{ClearResults: 30_000}, {ClearResults: 30_000, KeepResults: 3, Compact: 100_000}, {Compact: 1000}, {Compact: 50_000}, {Truncate: true}, {KeepResults: 1},
			}).Draw(t, "context")
		case "output":
			req.Output = &model.OutputSchema{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
		case "extra":
			o.Extra = map[string]json.RawMessage{rapid.SampledFrom([]string{"metadata", "stream", "output_config"}).Draw(t, "extra"): []byte(`{}`)}
		case "headers":
			o.Headers = map[string]string{rapid.SampledFrom([]string{"X-Trace", "anthropic-beta", "x-api-key"}).Draw(t, "header"): "fast-mode-2026-02-01"}
		}
	}
	return req
}

var serverTools = []model.ServerTool{
	{Kind: model.WebSearch},
	{Kind: model.WebSearch, MaxUses: 3, Domains: []string{"example.com", "docs.example.com/a"}},
	{Kind: model.WebFetch, Blocked: []string{"example.com"}},
	{Kind: model.WebFetch, Blocked: []string{"example.com"}, Domains: []string{"a.com"}},
	{Kind: model.WebFetch, Domains: []string{"https://a.com"}},
	{Kind: model.CodeExecution},
	{Kind: model.CodeExecution, MaxUses: 1},
	{Kind: model.FileSearch, Stores: []string{"vs_1"}},
	{Kind: model.RemoteMCP, Name: "crm", URL: "https://mcp.example.com/sse", Tools: []string{"find"}, Token: func() string { return "token-of-crm" }},
	{Kind: model.RemoteMCP, Name: "wiki", URL: "https://wiki.example.com/mcp"},
	{Kind: model.RemoteMCP, Name: "local", URL: "http://localhost/mcp"},
	{Kind: "teleport"},
}

// Members and header fields of the developer's are added. Betas are joined, not replaced, and
// nothing that Braid writes itself can be replaced.
func TestExtraAndHeaders(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, []anthropic.Option{
		anthropic.Betas("fast-mode-2026-02-01"),
		anthropic.Defaults(model.Options{Extra: map[string]json.RawMessage{"inference_geo": []byte(`"eu"`)}, Headers: map[string]string{"X-Team": "a"}}),
	}, anthropictest.Text("ok"))
	r := modeltest.Call(context.Background(), m, &model.Request{Messages: []event.Message{said("Hi.")}, Options: model.Options{
		Context: model.ContextManagement{ClearResults: 50_000},
		Extra:   map[string]json.RawMessage{"metadata": []byte(`{"user_id":"u1"}`)},
		Headers: map[string]string{"Anthropic-Beta": "context-1m-2025-08-07, fast-mode-2026-02-01", "X-Team": "b"},
	}})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	asked := server.Asked()[0]
	if got := asked.Header.Get("Anthropic-Beta"); got != "context-management-2025-06-27,fast-mode-2026-02-01,context-1m-2025-08-07" {
		t.Errorf("betas %q", got)
	}
	if got := asked.Header.Values("X-Team"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("X-Team %q", got)
	}
	if !strings.HasSuffix(string(asked.Body), `"stream":true,"inference_geo":"eu","metadata":{"user_id":"u1"}}`) {
		t.Errorf("%s", asked.Body)
	}
	for _, o := range []model.Options{
		{Extra: map[string]json.RawMessage{"model": []byte(`"x"`)}},
		{Extra: map[string]json.RawMessage{"x": []byte(`{`)}},
		{Headers: map[string]string{"authorization": "x"}},
		{Headers: map[string]string{"anthropic-version": "x"}},
		{Headers: map[string]string{"anthropic-beta": "a b"}},
		{Headers: map[string]string{"x": "a\r\nb"}},
	} {
		if err := m.Check(&model.Request{Options: o}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// The betas of Amazon Bedrock are in the body; its stand-in refuses the header.
func TestBetasOnBedrock(t *testing.T) {
	t.Parallel()
	m, server := openBedrock(t, "us.anthropic.claude-opus-4-6-v1", nil, anthropictest.BedrockText("ok"))
	r := modeltest.Call(context.Background(), m, &model.Request{Messages: []event.Message{said("Hi.")}, Options: model.Options{
		Context: model.ContextManagement{ClearResults: 50_000, KeepResults: 2, Compact: 120_000}, Headers: map[string]string{"anthropic-beta": "context-1m-2025-08-07"},
	}})
	asked := server.Asked()[0]
	if r.Err != nil || !strings.Contains(string(asked.Body), `"anthropic_beta":["context-management-2025-06-27","compact-2026-01-12","context-1m-2025-08-07"]`) ||
		!strings.Contains(string(asked.Body), `{"type":"compact_20260112","trigger":{"type":"input_tokens","value":120000}}]}`) {
		t.Errorf("%v: %s", r.Err, asked.Body)
	}
}

// Without its beta the vendor knows none of this, and so does the stand-in.
func TestTheStandInWantsBetas(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start()
	t.Cleanup(server.Close)
	for body, want := range map[string]string{
		`"context_management":{"edits":[]}`:                            "context_management: Extra inputs",
		`"mcp_servers":[]`:                                             "mcp_servers: Extra inputs",
		`"tools":[{"type":"mcp_toolset","mcp_server_name":"a"}]`:       "mcp_toolset",
		`"tools":[{"type":"web_search_20990101","name":"web_search"}]`: "does not match any",
		`"output_config":{"effort":"minimal"}`:                         "is not supported on this model",
		`"thinking":{"type":"disabled"}`:                               "between_tools",
		`"service_tier":"flex"`:                                        "service_tier",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/messages", strings.NewReader(
			`{"model":"claude-sonnet-5-5","max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],`+body+`}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Api-Key": {anthropictest.Key}, "Anthropic-Version": {"2026-10-21"}, "Content-Type": {"application/json"}}
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if all := server.Asked(); !strings.Contains(all[len(all)-1].Refused, want) {
			t.Errorf("%s: %q", body, all[len(all)-1].Refused)
		}
	}
}
