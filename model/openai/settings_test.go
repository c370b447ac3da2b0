package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/secret"
)

func question(o model.Options) *model.Request {
	return &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "q"}}}}, Options: o}
}

// body sends a request and returns what the stand-in got. The stand-in must take it.
func body(t *testing.T, m model.Model, server *openaitest.Server, api openaitest.API, req *model.Request) string {
	t.Helper()
	server.Add(openaitest.Text(api, "a"))
	for _, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Errorf("%s: %v", m.Info().Name, err)
			return ""
		}
	}
	asked := server.Asked()
	last := asked[len(asked)-1]
	if last.Refused != "" {
		t.Errorf("%s is refused: %s", last.Body, last.Refused)
	}
	return string(last.Body)
}

// refused sends the body as it is and reports whether the stand-in refuses it.
func refused(t *testing.T, path, body string) bool {
	t.Helper()
	server := openaitest.Start(openaitest.Answer{Body: "data: x\n\n"})
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+openaitest.Key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode != http.StatusOK
}

// Each word for an effort is sent where the vendor's model has it, and refused before
// anything is sent where it does not. The most that a model has always works.
func TestEffortsByModel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"o1", "o3-mini", "o4-mini", "gpt-5", "gpt-5-mini-2025-08-07", "gpt-5-pro", "gpt-5-codex", "gpt-5.1", "gpt-5.1-codex", "gpt-5.1-codex-max",
		"gpt-5.2", "gpt-5.2-pro", "gpt-5.3-codex", "gpt-5.4", "gpt-5.4-mini", "gpt-5.5-pro", "gpt-5.5", "gpt-5.6-sol", "gpt-6-astra", "gpt-6-luna", "gpt-6.1-terra",
	} {
		for _, api := range []openaitest.API{openaitest.Responses, openaitest.Chat} {
			m, server := open(t, kind{model: name, api: api}, nil)
			for _, word := range []string{"none", "minimal", "low", "medium", "high", "xhigh"} {
				raw := fmt.Sprintf(`{"model":%q,"stream":true,"store":false,"input":[{"role":"user","content":"q"}],"reasoning":{"effort":%q}}`, name, word)
				path := "/responses"
				if api == openaitest.Chat {
					raw = fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"q"}],"reasoning_effort":%q}`, name, word)
					path = "/chat/completions"
				}
				req := question(model.Options{Effort: model.Effort(word)})
				err, no := m.Check(req), refused(t, path, raw)
				if no != (err != nil) || err != nil && !errors.Is(err, event.ErrUnsupported) {
					t.Errorf("%s, %s, %s: refused by the vendor: %t, by Braid: %v", name, api, word, no, err)
				}
			}
			got := body(t, m, server, api, question(model.Options{Effort: model.EffortMax}))
			if !strings.Contains(got, `effort":"`) {
				t.Errorf("%s: %s", name, got)
			}
			for _, budget := range []int{1, 5000, 50000} {
				body(t, m, server, api, question(model.Options{Thinking: budget}))
			}
		}
	}
}

// An effort in the form of each server.
func TestEffortsOfOtherServers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		base, name string
		dialect    openai.Dialect
		effort     model.Effort
		want       string // "" is refused
	}{
		{"https://api.groq.com/openai/v1", "openai/gpt-oss-120b", openai.Dialect{}, "max", `"reasoning_effort":"high"`},
		{"https://api.groq.com/openai/v1", "openai/gpt-oss-120b", openai.Dialect{}, "none", ""},
		{"https://api.groq.com/openai/v1", "qwen/qwen3-32b", openai.Dialect{}, "low", `"reasoning_effort":"default"`},
		{"https://api.groq.com/openai/v1", "qwen/qwen3-32b", openai.Dialect{}, "none", `"reasoning_effort":"none"`},
		{"https://openrouter.ai/api/v1", "anthropic/claude-x", openai.Dialect{Effort: openai.EffortObject}, "max", `"reasoning":{"effort":"max"}`},
		{"https://openrouter.ai/api/v1", "openai/gpt-x", openai.Dialect{Effort: openai.EffortObject}, "minimal", `"reasoning":{"effort":"minimal"}`},
		{"https://api.x.ai/v1", "grok-4.5", openai.Dialect{}, "medium", `"reasoning_effort":"medium"`},
		{"https://api.x.ai/v1", "grok-4.5", openai.Dialect{}, "none", ""},
		{"https://api.x.ai/v1", "grok-4.3", openai.Dialect{}, "none", `"reasoning_effort":"none"`},
		{"https://api.deepseek.com", "deepseek-v4-pro", openai.Dialect{Effort: openai.EffortThinking}, "none", `"thinking":{"type":"disabled"}`},
		{"https://api.deepseek.com", "deepseek-v4-pro", openai.Dialect{Effort: openai.EffortThinking}, "max", `"thinking":{"type":"enabled"},"reasoning_effort":"max"`},
		{"https://api.mistral.ai/v1", "mistral-small-latest", openai.Dialect{}, "low", `"reasoning_effort":"high"`},
		{"https://api.mistral.ai/v1", "mistral-small-latest", openai.Dialect{}, "none", `"reasoning_effort":"none"`},
		{"http://127.0.0.1:8000/v1", "Qwen/Qwen3-8B", openai.Dialect{Effort: openai.EffortSwitch}, "none", `"chat_template_kwargs":{"enable_thinking":false}`},
		{"http://127.0.0.1:8000/v1", "Qwen/Qwen3-8B", openai.Dialect{Effort: openai.EffortSwitch}, "high", `"chat_template_kwargs":{"enable_thinking":true}`},
		{openai.Ollama, "gpt-oss:20b", openai.Dialect{}, "max", `"reasoning_effort":"high"`},
		{"https://api.perplexity.ai", "sonar", openai.Dialect{Effort: openai.EffortNowhere}, "low", ""},
		{openai.Ollama, "gpt-oss:20b", openai.Dialect{}, "A\"", ""},
	} {
		server := openaitest.Start()
		t.Cleanup(server.Close)
		server.Compatible = true
		m, err := openai.New(tc.name, secret.Secret{}, openai.BaseURL(tc.base), openai.Speaks(tc.dialect),
			openai.HTTPClient(&http.Client{Transport: anywhere{server.Host(), server.Client().Transport}}))
		if err != nil {
			t.Fatal(err)
		}
		req := question(model.Options{Effort: tc.effort})
		if tc.want == "" {
			if err := m.Check(req); !errors.Is(err, event.ErrUnsupported) && !errors.Is(err, event.ErrInvalid) {
				t.Errorf("%s %s %s: %v", tc.base, tc.name, tc.effort, err)
			}
			continue
		}
		server.Add(openaitest.Text(openaitest.Chat, "a"))
		_ = modeltest.Call(t.Context(), m, req) // it may fail: the stand-in knows the words of one server alone
		if got := string(server.Asked()[0].Body); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s\nhas no %s", tc.base, got, tc.want)
		}
	}
}

// anywhere carries calls for any address to a server on this machine.
type anywhere struct {
	host string
	next http.RoundTripper
}

func (a anywhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", a.host
	r.URL.Path = "/v1/chat/completions"
	return a.next.RoundTrip(r)
}

// Each setting reaches the vendor where it is taken, and is refused before anything is sent
// where it is not.
func TestSettingsOnTheWire(t *testing.T) {
	t.Parallel()
	half, seven := 0.5, int64(7)
	two := 2.0
	tool := []model.ToolSpec{{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}
	astra := kind{model: "gpt-6-astra", api: openaitest.Responses}
	astraChat := kind{model: "gpt-6-astra", api: openaitest.Chat}
	newest := kind{model: "gpt-6.1-sol", api: openaitest.Responses}
	search := kind{model: "gpt-4o-search-preview", api: openaitest.Chat}
	raw := func(name, value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{name: json.RawMessage(value)}
	}
	for name, tc := range map[string]struct {
		k    kind
		opts []openai.Option
		o    model.Options
		with []model.ToolSpec
		want string          // in the body
		err  event.ErrorKind // or refused so
	}{
		"top_p":                           {k: talker, o: model.Options{TopP: &half}, want: `,"top_p":0.5`},
		"top_p in chat":                   {k: chatting, o: model.Options{TopP: &half, Temperature: &half}, want: `,"temperature":0.5,"top_p":0.5`},
		"top_p above 1":                   {k: chatting, o: model.Options{TopP: &two}, err: event.ErrInvalid},
		"top_p for one that reasons":      {k: reasoner, o: model.Options{TopP: &half}, err: event.ErrUnsupported},
		"top_p for one that need not":     {k: reasoner, o: model.Options{TopP: &half, Temperature: &half, Effort: "none"}, want: `,"temperature":0.5,"top_p":0.5`},
		"seed":                            {k: chatting, o: model.Options{Seed: &seven}, want: `,"seed":7`},
		"seed of another server":          {k: local, opts: []openai.Option{openai.Speaks(openai.Dialect{Seed: "random_seed"})}, o: model.Options{Seed: &seven}, want: `,"random_seed":7`},
		"seed in Responses":               {k: reasoner, o: model.Options{Seed: &seven}, err: event.ErrUnsupported},
		"verbosity":                       {k: reasoner, o: model.Options{Verbosity: "low"}, want: `,"text":{"verbosity":"low"}`},
		"verbosity in chat":               {k: kind{model: "gpt-5", api: openaitest.Chat}, o: model.Options{Verbosity: "high"}, want: `,"verbosity":"high"`},
		"verbosity of an older model":     {k: talker, o: model.Options{Verbosity: "low"}, err: event.ErrUnsupported},
		"verbosity of o3":                 {k: thinking, o: model.Options{Verbosity: "low"}, err: event.ErrUnsupported},
		"no verbosity":                    {k: reasoner, o: model.Options{Verbosity: "chatty"}, err: event.ErrInvalid},
		"tier":                            {k: reasoner, o: model.Options{ServiceTier: "flex"}, want: `,"service_tier":"flex"`},
		"tier in chat":                    {k: chatting, o: model.Options{ServiceTier: "priority"}, want: `,"service_tier":"priority"`},
		"no tier":                         {k: chatting, o: model.Options{ServiceTier: "a b"}, err: event.ErrInvalid},
		"shown thinking":                  {k: reasoner, o: model.Options{ShowThinking: true}, want: `,"reasoning":{"summary":"auto"}`},
		"shown thinking with an effort":   {k: reasoner, o: model.Options{ShowThinking: true, Effort: "low"}, want: `,"reasoning":{"effort":"low","summary":"auto"}`},
		"nothing to show":                 {k: talker, o: model.Options{ShowThinking: true}, want: `}],"store":false`},
		"shown thinking in chat":          {k: thinking, o: model.Options{ShowThinking: true}, want: `}],"stream":true`},
		"an effort where there is none":   {k: talker, o: model.Options{Effort: "low"}, err: event.ErrUnsupported},
		"no effort where there is none":   {k: talker, o: model.Options{Effort: "none"}, want: `}],"store":false`},
		"the model's own effort":          {k: reasoner, opts: []openai.Option{openai.Effort("low")}, want: `"reasoning":{"effort":"low"}`},
		"an effort before the model's":    {k: reasoner, opts: []openai.Option{openai.Effort("low")}, o: model.Options{Effort: "high"}, want: `"reasoning":{"effort":"high"}`},
		"extra":                           {k: reasoner, o: model.Options{Extra: raw("metadata", `{"a":"b"}`)}, want: `,"stream":true,"metadata":{"a":"b"}}`},
		"extra in chat":                   {k: chatting, o: model.Options{Extra: raw("metadata", `{"a":"b"}`)}, want: `,"metadata":{"a":"b"}}`},
		"extra that Braid writes":         {k: reasoner, o: model.Options{Extra: raw("input", `[]`)}, err: event.ErrInvalid},
		"extra that Braid writes in chat": {k: chatting, o: model.Options{Extra: raw("reasoning_effort", `"low"`)}, err: event.ErrInvalid},
		"a header with a credential":      {k: chatting, o: model.Options{Headers: map[string]string{"authorization": "x"}}, err: event.ErrInvalid},
		"truncation":                      {k: reasoner, o: model.Options{Context: model.ContextManagement{Truncate: true}}, want: `,"truncation":"auto"`},
		"truncation in chat":              {k: chatting, o: model.Options{Context: model.ContextManagement{Truncate: true}}, err: event.ErrUnsupported},
		"compaction": {
			k: reasoner, o: model.Options{Context: model.ContextManagement{Compact: 9000}},
			want: `,"context_management":[{"type":"compaction","compact_threshold":9000}]`,
		},
		"compaction in chat":        {k: chatting, o: model.Options{Context: model.ContextManagement{Compact: 9000}}, err: event.ErrUnsupported},
		"cleared results":           {k: reasoner, o: model.Options{Context: model.ContextManagement{ClearResults: 9}}, err: event.ErrUnsupported},
		"retention":                 {k: reasoner, opts: []openai.Option{openai.CacheRetention("in_memory")}, want: `,"prompt_cache_retention":"in_memory"`},
		"retention in chat":         {k: chatting, opts: []openai.Option{openai.CacheRetention("24h")}, want: `,"prompt_cache_retention":"24h"`},
		"a lifetime":                {k: newest, opts: []openai.Option{openai.CacheRetention("12h")}, want: `,"prompt_cache_options":{"ttl":"12h"}`},
		"a lifetime, old":           {k: reasoner, opts: []openai.Option{openai.CacheRetention("12h")}, err: event.ErrUnsupported},
		"memory, new":               {k: newest, opts: []openai.Option{openai.CacheRetention("in_memory")}, err: event.ErrUnsupported},
		"retention elsewhere":       {k: local, opts: []openai.Option{openai.CacheRetention("24h")}, want: `,"prompt_cache_retention":"24h"`},
		"tools without chat":        {k: astraChat, with: tool, err: event.ErrUnsupported},
		"tools with Responses":      {k: astra, with: tool, want: `"name":"f"`},
		"tools and effort in chat":  {k: kind{model: "gpt-5.5", api: openaitest.Chat}, with: tool, o: model.Options{Effort: "low"}, err: event.ErrUnsupported},
		"tools and none in chat":    {k: kind{model: "gpt-5.5", api: openaitest.Chat}, with: tool, o: model.Options{Effort: "none"}, want: `"reasoning_effort":"none"`},
		"web search":                {k: talker, o: own(model.ServerTool{Kind: model.WebSearch}), want: `,"tools":[{"type":"web_search"}]`},
		"web search, asked for":     {k: talker, o: own(model.ServerTool{Kind: model.WebSearch}), want: `,"include":["web_search_call.action.sources"]`},
		"web search beside tools":   {k: reasoner, with: tool, o: own(model.ServerTool{Kind: model.WebSearch}), want: `"strict":false},{"type":"web_search"}]`},
		"web search of few":         {k: talker, o: own(model.ServerTool{Kind: model.WebSearch, Domains: []string{"a.example", "b.example"}}), want: `"filters":{"allowed_domains":["a.example","b.example"]}`},
		"web search of all but few": {k: talker, o: own(model.ServerTool{Kind: model.WebSearch, Blocked: []string{"a.example"}}), want: `"filters":{"blocked_domains":["a.example"]}`},
		"few web searches":          {k: talker, o: own(model.ServerTool{Kind: model.WebSearch, MaxUses: 3}), want: `,"max_tool_calls":3`},
		"a bound among several": {
			k: talker, o: own(model.ServerTool{Kind: model.WebSearch, MaxUses: 3}, model.ServerTool{Kind: model.CodeExecution}), err: event.ErrUnsupported,
		},
		"an address as domain": {k: talker, o: own(model.ServerTool{Kind: model.WebSearch, Domains: []string{"https://a.example"}}), err: event.ErrInvalid},
		"both lists":           {k: talker, o: own(model.ServerTool{Kind: model.WebSearch, Domains: []string{"a"}, Blocked: []string{"b"}}), err: event.ErrInvalid},
		"twice":                {k: talker, o: own(model.ServerTool{Kind: model.WebSearch}, model.ServerTool{Kind: model.WebSearch}), err: event.ErrInvalid},
		"web fetch":            {k: talker, o: own(model.ServerTool{Kind: model.WebFetch}), err: event.ErrUnsupported},
		"a hologram":           {k: talker, o: own(model.ServerTool{Kind: "hologram"}), err: event.ErrUnsupported},
		"code":                 {k: reasoner, o: own(model.ServerTool{Kind: model.CodeExecution}), want: `{"type":"code_interpreter","container":{"type":"auto"}}`},
		"code, asked for":      {k: reasoner, o: own(model.ServerTool{Kind: model.CodeExecution}), want: `,"include":["reasoning.encrypted_content","code_interpreter_call.outputs"]`},
		"files":                {k: talker, o: own(model.ServerTool{Kind: model.FileSearch, Stores: []string{"vs_1"}}), want: `{"type":"file_search","vector_store_ids":["vs_1"]}`},
		"files of nowhere":     {k: talker, o: own(model.ServerTool{Kind: model.FileSearch}), err: event.ErrInvalid},
		"a server of tools": {
			k: talker, o: own(model.ServerTool{Kind: model.RemoteMCP, Name: "docs", URL: "https://mcp.example/x", Tools: []string{"find"}, Token: func() string { return "T" }}),
			want: `{"type":"mcp","server_label":"docs","server_url":"https://mcp.example/x","allowed_tools":["find"],"authorization":"T","require_approval":"never"}`,
		},
		"a server of tools without a name":  {k: talker, o: own(model.ServerTool{Kind: model.RemoteMCP, URL: "https://mcp.example"}), err: event.ErrInvalid},
		"a server of tools without https":   {k: talker, o: own(model.ServerTool{Kind: model.RemoteMCP, Name: "a", URL: "http://mcp.example"}), err: event.ErrInvalid},
		"a search in chat":                  {k: search, o: own(model.ServerTool{Kind: model.WebSearch}), want: `,"web_search_options":{}`},
		"a search of few in chat":           {k: search, o: own(model.ServerTool{Kind: model.WebSearch, Domains: []string{"a"}}), err: event.ErrUnsupported},
		"a search in chat of another model": {k: chatting, o: own(model.ServerTool{Kind: model.WebSearch}), err: event.ErrUnsupported},
		"a search of another server":        {k: local, o: own(model.ServerTool{Kind: model.WebSearch}), err: event.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, server := open(t, tc.k, tc.opts)
			req := question(tc.o)
			req.Tools = tc.with
			if tc.err != "" {
				if err := m.Check(req); !errors.Is(err, tc.err) {
					t.Errorf("Check: %v", err)
				}
				for _, err := range m.Stream(t.Context(), req) {
					if !errors.Is(err, tc.err) {
						t.Errorf("Stream: %v", err)
					}
				}
				if n := len(server.Asked()); n != 0 {
					t.Errorf("%d requests were sent", n)
				}
				return
			}
			if err := m.Check(req); err != nil {
				t.Errorf("Check: %v", err)
			}
			api := tc.k.api
			if tc.k.compatible {
				api = openaitest.Chat
			}
			if got := body(t, m, server, api, req); !strings.Contains(got, tc.want) {
				t.Errorf("%s\nhas no %s", got, tc.want)
			}
		})
	}
}

func own(tools ...model.ServerTool) model.Options { return model.Options{ServerTools: tools} }

// Check asks for no credential, and no error has one in it.
func TestTokensOfServersOfTools(t *testing.T) {
	t.Parallel()
	m, server := open(t, talker, nil, openaitest.Error(http.StatusBadRequest, "invalid_request_error", "", "no"))
	asked := 0
	req := question(own(model.ServerTool{Kind: model.RemoteMCP, Name: "docs", URL: "https://mcp.example", Token: func() string {
		asked++
		return "topsecret"
	}}))
	if err := m.Check(req); err != nil || asked != 0 {
		t.Errorf("%v, %d", err, asked)
	}
	for _, err := range m.Stream(t.Context(), req) {
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "topsecret") {
			t.Error(err)
		}
	}
	if got := server.Asked(); len(got) != 1 || !strings.Contains(string(got[0].Body), `"authorization":"topsecret"`) {
		t.Errorf("%v", got)
	}
}

// The vendor's tools may change within a conversation, whose encoding is kept.
func TestServerToolsChange(t *testing.T) {
	t.Parallel()
	m, server := open(t, reasoner, nil)
	req := question(model.Options{})
	for _, tools := range [][]model.ServerTool{nil, {{Kind: model.WebSearch}}, {{Kind: model.CodeExecution}}, nil} {
		req.Options.ServerTools = tools
		got := body(t, m, server, openaitest.Responses, req)
		for _, kind := range []model.ServerToolKind{model.WebSearch, model.CodeExecution} {
			word := strings.Replace(string(kind), "code_execution", "code_interpreter", 1)
			if has := strings.Contains(got, `{"type":"`+word+`"`); has != (len(tools) > 0 && tools[0].Kind == kind) {
				t.Errorf("%v: %s", tools, got)
			}
		}
	}
}

// A tool cannot be forced on a model that thinks, where its vendor says so.
func TestForcedToolsOfModelsThatThink(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		base, name string
		effort     model.Effort
		want       bool
	}{
		{"https://api.deepseek.com", "deepseek-v4-pro", "", false},
		{"https://api.deepseek.com", "deepseek-v4-pro", "none", true},
		{"https://openrouter.ai/api/v1", "deepseek/deepseek-v4-flash", "high", false},
		{"https://openrouter.ai/api/v1", "qwen/qwen3-235b-a22b-thinking-2507", "", false},
		{"https://openrouter.ai/api/v1", "meta/llama-4", "", true},
		{"http://127.0.0.1:8000/v1", "deepseek-ai/DeepSeek-V4", "", true},
	} {
		m, err := openai.New(tc.name, secret.New("k"), openai.BaseURL(tc.base))
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range []model.ToolChoice{{Mode: model.ToolsAny}, {Mode: model.ToolsOne, Tool: "f"}, {Mode: model.ToolsNone}, {}} {
			req := &model.Request{Tools: []model.ToolSpec{{Name: "f"}}, ToolChoice: choice, Options: model.Options{Effort: tc.effort}}
			err := m.Check(req)
			if want := tc.want || choice.Mode == model.ToolsNone || choice.Mode == ""; want != (err == nil) || err != nil && !errors.Is(err, event.ErrUnsupported) {
				t.Errorf("%s at %s, %q: %v", tc.name, tc.base, choice.Mode, err)
			}
		}
	}
}

// A request's beginning is that of the one before, up to the end of its messages, over 40
// turns with tools of the agent's and of the vendor's.
func TestPrefixesOverManyTurns(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{reasoner, chatting, local} {
		m, server := open(t, k, nil)
		api := k.api
		const end = `}],"max_`
		tools := []model.ToolSpec{
			{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`), Strict: !k.compatible},
			{Name: "sub", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`)},
		}
		options := model.Options{MaxTokens: 900, Extra: map[string]json.RawMessage{"metadata": json.RawMessage(`{"a":"b"}`)}}
		if k.api == openaitest.Responses {
			options.ServerTools = []model.ServerTool{{Kind: model.WebSearch}}
			options.Context.Compact = 100_000
		}
		if k.compatible {
			api = openaitest.Chat
		}
		var messages []event.Message
		var before string
		for turn := range 40 {
			messages = append(messages, event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: fmt.Sprintf("Question %d?", turn)}}})
			if turn%3 == 1 { // the newest message answers a call
				id := fmt.Sprintf("call_%d", turn)
				messages[len(messages)-1].Content = []event.Block{&event.ToolResult{Call: id, Content: []event.Block{&event.Text{Text: "3"}}}}
			}
			req := &model.Request{Instructions: "Be brief.", Tools: tools, Messages: slices.Clone(messages), Options: options}
			got := body(t, m, server, api, req)
			if !strings.HasPrefix(got, before) || before == "" && turn > 0 {
				t.Fatalf("%s, turn %d:\n%s\ndoes not begin with\n%s", k.name, turn, got, before)
			}
			before = got[:strings.LastIndex(got, end)+1]
			answer := []event.Block{&event.Text{Text: fmt.Sprintf("Answer %d.", turn)}}
			if turn%3 == 0 {
				answer = append(answer, &event.ToolCall{ID: fmt.Sprintf("call_%d", turn+1), Name: "add", Args: json.RawMessage(`{"a":1}`)})
			}
			if k.api == openaitest.Responses && turn%5 == 2 {
				raw := fmt.Sprintf(`{"kind":"openai.web_search_call","id":"ws_%d","type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}`, turn)
				answer = append([]event.Block{&event.UnknownBlock{Name: "openai.web_search_call", Raw: json.RawMessage(raw)}}, answer...)
			}
			messages = append(messages, event.Message{Role: event.RoleAssistant, Content: answer})
		}
	}
}
