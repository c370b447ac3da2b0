package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/modeltest"
)

var (
	onVertex = gemini.Vertex("my-project", "global", nil)
	inEurope = gemini.Vertex("my-project", "europe-west4", nil)
	weather  = []model.ToolSpec{{Name: "weather", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}
)

// Each effort is sent in a form that the stand-in accepts for that model, or refused before
// anything is sent.
func TestEfforts(t *testing.T) {
	t.Parallel()
	const no = "no"
	level := func(l string) string { return `"thinkingConfig":{"thinkingLevel":"` + l + `"}` }
	budget := func(n int) string { return fmt.Sprintf(`"thinkingConfig":{"thinkingBudget":%d}`, n) }
	efforts := []model.Effort{"none", "minimal", "low", "medium", "high", "max", "extreme"}
	for name, want := range map[string][]string{
		"gemini-3.6-flash":      {level("MINIMAL"), level("MINIMAL"), level("LOW"), level("MEDIUM"), level("HIGH"), level("HIGH"), no},
		"gemini-3.5-flash-lite": {level("MINIMAL"), level("MINIMAL"), level("LOW"), level("MEDIUM"), level("HIGH"), level("HIGH"), no},
		"gemini-3.8-flash":      {no, no, level("LOW"), level("MEDIUM"), level("HIGH"), level("HIGH"), no},
		"gemini-3.1-pro":        {no, no, level("LOW"), level("MEDIUM"), level("HIGH"), level("HIGH"), no},
		"gemini-flash-latest":   {no, no, level("LOW"), level("MEDIUM"), level("HIGH"), level("HIGH"), no},
		"gemini-2.5-flash":      {budget(0), budget(1024), budget(1024), budget(8192), budget(24576), budget(24576), no},
		"gemini-2.5-flash-lite": {budget(0), budget(1024), budget(1024), budget(8192), budget(24576), budget(24576), no},
		"gemini-2.5-pro":        {no, budget(1024), budget(1024), budget(8192), budget(24576), budget(32768), no},
		"gemini-2.0-flash":      {"", no, no, no, no, no, no},
	} {
		for i, e := range efforts {
			for _, show := range []bool{false, true} {
				m, server := open(t, name, nil, geminitest.Text("Yes."))
				req := hello()
				// The effort takes precedence over the budget.
				req.Options = model.Options{Effort: e, Thinking: 5000, ShowThinking: show}
				checked := m.Check(req)
				r := modeltest.Call(t.Context(), m, req)
				asked := server.Asked()
				if want[i] == no {
					if !errors.Is(checked, event.ErrUnsupported) || !errors.Is(r.Err, event.ErrUnsupported) || len(asked) != 0 {
						t.Errorf("%s %s: %v, %v", name, e, checked, r.Err)
					}
					continue
				}
				if checked != nil || r.Err != nil {
					t.Fatalf("%s %s: %v, %v", name, e, checked, r.Err)
				}
				body := string(asked[0].Body)
				expected := want[i]
				if show && expected != "" && expected != budget(0) {
					expected = strings.Replace(expected, `{"`, `{"includeThoughts":true,"`, 1)
				}
				if !strings.Contains(body, expected) || expected == "" && strings.Contains(body, "thinking") {
					t.Errorf("%s %s: %s\nwant %s", name, e, body, expected)
				}
			}
		}
	}
}

// The stand-in accepts the settings, or they are refused before anything is sent.
func TestSettings(t *testing.T) {
	t.Parallel()
	half, two, zero, seven, large := 0.5, 2.0, 0.0, int64(-7), int64(1)<<40
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	strict := []model.ToolSpec{weather[0]}
	strict[0].Strict = true
	loose := []model.ToolSpec{{Name: "f", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^a$"}}}`)}}
	for name, tc := range map[string]struct {
		model  string
		opts   []gemini.Option
		change func(*model.Request)
		want   string // a part of the body or the header
		err    event.ErrorKind
	}{
		"top_p and seed":      {flash, nil, func(r *model.Request) { r.Options.TopP, r.Options.Seed = &half, &seven }, `"generationConfig":{"topP":0.5,"seed":-7}`, ""},
		"top_p of 2":          {flash, nil, func(r *model.Request) { r.Options.TopP = &two }, "", event.ErrInvalid},
		"top_p of 0":          {flash, nil, func(r *model.Request) { r.Options.TopP = &zero }, "", event.ErrInvalid},
		"a large seed":        {flash, nil, func(r *model.Request) { r.Options.Seed = &large }, "", event.ErrUnsupported},
		"verbosity":           {flash, nil, func(r *model.Request) { r.Options.Verbosity = "low" }, "", event.ErrUnsupported},
		"truncation":          {flash, nil, func(r *model.Request) { r.Options.Context.Truncate = true }, "", event.ErrUnsupported},
		"compaction":          {flash, nil, func(r *model.Request) { r.Options.Context.Compact = 9 }, "", event.ErrUnsupported},
		"results cleared":     {flash, nil, func(r *model.Request) { r.Options.Context.ClearResults = 9 }, "", event.ErrUnsupported},
		"a tier":              {flash, nil, func(r *model.Request) { r.Options.ServiceTier = "flex" }, `"serviceTier":"flex"`, ""},
		"another tier":        {flash, nil, func(r *model.Request) { r.Options.ServiceTier = "auto" }, "", event.ErrUnsupported},
		"a tier on Vertex":    {flash, []gemini.Option{onVertex}, func(r *model.Request) { r.Options.ServiceTier = "priority" }, "X-Vertex-Ai-Llm-Shared-Request-Type: priority", ""},
		"standard on Vertex":  {flash, []gemini.Option{inEurope}, func(r *model.Request) { r.Options.ServiceTier = "standard" }, `"contents"`, ""},
		"a tier in a region":  {flash, []gemini.Option{inEurope}, func(r *model.Request) { r.Options.ServiceTier = "flex" }, "", event.ErrUnsupported},
		"shown thoughts":      {flash, nil, func(r *model.Request) { r.Options.ShowThinking = true }, `"thinkingConfig":{"includeThoughts":true}`, ""},
		"shown against never": {flash, []gemini.Option{gemini.IncludeThoughts(false)}, func(r *model.Request) { r.Options.ShowThinking = true }, `"includeThoughts":true`, ""},
		"no thoughts to show": {"gemini-2.0-flash", nil, func(r *model.Request) { r.Options.ShowThinking = true }, `{"contents":[{"role":"user","parts":[{"text":"Hello."}]}]}`, ""},
		"another member":      {flash, nil, func(r *model.Request) { r.Options.Extra = map[string]json.RawMessage{"labels": raw(`{"a":"b"}`)} }, `"labels":{"a":"b"}`, ""},
		"a member of the config": {flash, nil, func(r *model.Request) {
			r.Options.MaxTokens = 5
			r.Options.Extra = map[string]json.RawMessage{"generationConfig": raw(`{"topK":3,"candidateCount":1}`), "labels": raw(`{}`)}
		}, "", event.ErrInvalid},
		"members of the config": {flash, nil, func(r *model.Request) {
			r.Options.MaxTokens = 5
			r.Options.Extra = map[string]json.RawMessage{"generationConfig": raw(`{"topK":3}`), "labels": raw(`{}`)}
		}, `"generationConfig":{"maxOutputTokens":5,"topK":3},"labels":{}`, ""},
		"no members of the config":  {flash, nil, func(r *model.Request) { r.Options.Extra = map[string]json.RawMessage{"generationConfig": raw(`{}`)} }, `"Hello."}]}]}`, ""},
		"no object for the config":  {flash, nil, func(r *model.Request) { r.Options.Extra = map[string]json.RawMessage{"generationConfig": raw(`3`)} }, "", event.ErrInvalid},
		"a member of ours":          {flash, nil, func(r *model.Request) { r.Options.Extra = map[string]json.RawMessage{"tools": raw(`[]`)} }, "", event.ErrInvalid},
		"ours in another spelling":  {flash, nil, func(r *model.Request) { r.Options.Extra = map[string]json.RawMessage{"system_instruction": raw(`{}`)} }, "", event.ErrInvalid},
		"a member that is no JSON":  {flash, nil, func(r *model.Request) { r.Options.Extra = map[string]json.RawMessage{"labels": raw(`{`)} }, "", event.ErrInvalid},
		"a header":                  {flash, nil, func(r *model.Request) { r.Options.Headers = map[string]string{"x-a": "b"} }, "X-A: b", ""},
		"a header of ours":          {flash, nil, func(r *model.Request) { r.Options.Headers = map[string]string{"x-goog-api-key": "b"} }, "", event.ErrInvalid},
		"strict tools":              {flash, nil, func(r *model.Request) { r.Tools = strict }, `"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}}`, ""},
		"strict and forced":         {flash, nil, func(r *model.Request) { r.Tools, r.ToolChoice.Mode = strict, model.ToolsAny }, `"mode":"ANY"`, ""},
		"strict before 2.5":         {"gemini-2.0-flash", nil, func(r *model.Request) { r.Tools = strict }, "", event.ErrUnsupported},
		"strict, not expressible":   {flash, nil, func(r *model.Request) { r.Tools = loose }, "", event.ErrUnsupported},
		"strict beside a cache":     {flash, []gemini.Option{gemini.CachedContent("cachedContents/a")}, func(r *model.Request) { r.Tools = strict }, "", event.ErrUnsupported},
		"a cache":                   {flash, []gemini.Option{gemini.CachedContent("cachedContents/a")}, func(r *model.Request) { r.Tools, r.Instructions = weather, "Be brief." }, `{"cachedContent":"cachedContents/a","contents":[`, ""},
		"the vendor's beside cache": {flash, []gemini.Option{gemini.CachedContent("cachedContents/a")}, server(model.WebSearch), "", event.ErrUnsupported},
	} {
		m, server := open(t, tc.model, tc.opts, geminitest.Text("Yes."))
		req := hello()
		tc.change(req)
		checked := m.Check(req)
		r := modeltest.Call(t.Context(), m, req)
		asked := server.Asked()
		if tc.err != "" {
			if !errors.Is(checked, tc.err) || !errors.Is(r.Err, tc.err) || len(asked) != 0 {
				t.Errorf("%s: %v, %v, %d requests", name, checked, r.Err, len(asked))
			}
			continue
		}
		if checked != nil || r.Err != nil || len(asked) != 1 {
			t.Errorf("%s: %v, %v", name, checked, r.Err)
			continue
		}
		all := string(asked[0].Body)
		for k, v := range asked[0].Header {
			all += "\n" + k + ": " + v[0]
		}
		if !strings.Contains(all, tc.want) {
			t.Errorf("%s: %s\nwant %s", name, all, tc.want)
		}
	}
}

// server returns options for tools that the vendor runs.
func server(kinds ...model.ServerToolKind) func(*model.Request) {
	return func(r *model.Request) {
		for _, k := range kinds {
			t := model.ServerTool{Kind: k}
			switch k {
			case model.FileSearch:
				t.Stores = []string{"fileSearchStores/a", "b"}
			case model.RemoteMCP:
				t.Name, t.URL, t.Token = "docs", "https://mcp.example.com/mcp", func() string { return "secret-token" }
			default:
			}
			r.Options.ServerTools = append(r.Options.ServerTools, t)
		}
	}
}

// The vendor's tools that each model accepts, and the combinations (docs/tool-combination).
func TestServerTools(t *testing.T) {
	t.Parallel()
	const search, fetch, run, files, mcp = model.WebSearch, model.WebFetch, model.CodeExecution, model.FileSearch, model.RemoteMCP
	both := func(change func(*model.Request)) func(*model.Request) {
		return func(r *model.Request) { change(r); r.Tools = weather }
	}
	with := func(change func(*model.ServerTool), k model.ServerToolKind) func(*model.Request) {
		return func(r *model.Request) { server(k)(r); change(&r.Options.ServerTools[0]) }
	}
	schema := func(change func(*model.Request)) func(*model.Request) {
		return func(r *model.Request) {
			change(r)
			r.Output = &model.OutputSchema{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
		}
	}
	const declared = `"tools":[{"functionDeclarations":[{"name":"weather","parametersJsonSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}`
	const older = "gemini-2.5-flash"
	for name, tc := range map[string]struct {
		model  string
		vertex gemini.Option
		change func(*model.Request)
		want   []string
		err    event.ErrorKind
	}{
		"all":              {flash, nil, server(search, fetch, run, files, mcp), []string{`{"tools":[{"googleSearch":{}},{"urlContext":{}},{"codeExecution":{}},{"fileSearch":{"fileSearchStoreNames":["fileSearchStores/a","fileSearchStores/b"]}},{"mcpServers":[{"name":"docs","streamableHttpTransport":{"url":"https://mcp.example.com/mcp","headers":{"Authorization":"Bearer secret-token"}}}]}],"contents":[`}, ""},
		"beside functions": {flash, nil, both(server(search, run)), []string{declared + `,{"googleSearch":{}},{"codeExecution":{}}],"contents":[`, `"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"},"includeServerSideToolInvocations":true}`}, ""},
		"beside a forced one": {flash, nil, func(r *model.Request) {
			both(server(search))(r)
			r.ToolChoice = model.ToolChoice{Mode: model.ToolsOne, Tool: "weather"}
		}, []string{`{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["weather"]},"includeServerSideToolInvocations":true}`}, ""},
		"beside functions, older": {older, nil, both(server(search)), nil, event.ErrUnsupported},
		"on Vertex":               {flash, onVertex, both(server(search, fetch, run)), []string{declared}, ""},
		"older on Vertex":         {older, onVertex, both(server(search)), nil, event.ErrUnsupported},
		"older, alone":            {older, nil, server(search, fetch, run), []string{`"tools":[{"googleSearch":{}},{"urlContext":{}},{"codeExecution":{}}],`}, ""},
		"code beside, on Vertex":  {older, onVertex, server(search, run), nil, event.ErrUnsupported},
		"files beside, older":     {older, nil, server(files, search), nil, event.ErrUnsupported},
		"a schema":                {flash, nil, schema(server(search)), []string{`"responseJsonSchema"`}, ""},
		"a schema, older":         {older, nil, schema(server(search)), nil, event.ErrUnsupported},
		"before 2.5":              {"gemini-2.0-flash", nil, server(fetch), nil, event.ErrUnsupported},
		"search before 2.5":       {"gemini-2.0-flash", nil, server(search), []string{`"googleSearch":{}`}, ""},
		"another family":          {"gemma-4-31b-it", nil, server(search), nil, event.ErrUnsupported},
		"files on Vertex":         {flash, onVertex, server(files), nil, event.ErrUnsupported},
		"MCP on Vertex":           {flash, onVertex, server(mcp), nil, event.ErrUnsupported},
		"twice":                   {flash, nil, server(search, search), nil, event.ErrInvalid},
		"an unknown one":          {flash, nil, server("maps"), nil, event.ErrUnsupported},
		"a bound":                 {flash, nil, with(func(t *model.ServerTool) { t.MaxUses = 1 }, search), nil, event.ErrUnsupported},
		"some domains":            {flash, onVertex, with(func(t *model.ServerTool) { t.Domains = []string{"e.com"} }, search), nil, event.ErrUnsupported},
		"blocked domains":         {flash, nil, with(func(t *model.ServerTool) { t.Blocked = []string{"e.com"} }, search), nil, event.ErrUnsupported},
		"blocked on Vertex":       {flash, onVertex, with(func(t *model.ServerTool) { t.Blocked = []string{"e.com", "b.org"} }, search), []string{`{"googleSearch":{"excludeDomains":["e.com","b.org"]}}`}, ""},
		"blocked, no domain":      {flash, onVertex, with(func(t *model.ServerTool) { t.Blocked = []string{"https://e.com/"} }, search), nil, event.ErrInvalid},
		"blocked for pages":       {flash, onVertex, with(func(t *model.ServerTool) { t.Blocked = []string{"e.com"} }, fetch), nil, event.ErrUnsupported},
		"no stores":               {flash, nil, with(func(t *model.ServerTool) { t.Stores = nil }, files), nil, event.ErrInvalid},
		"a strange store":         {flash, nil, with(func(t *model.ServerTool) { t.Stores = []string{"a/../b"} }, files), nil, event.ErrInvalid},
		"some tools of MCP":       {flash, nil, with(func(t *model.ServerTool) { t.Tools = []string{"a"} }, mcp), nil, event.ErrUnsupported},
		"no address of MCP":       {flash, nil, with(func(t *model.ServerTool) { t.URL = "mcp" }, mcp), nil, event.ErrInvalid},
		"MCP without a token":     {flash, nil, with(func(t *model.ServerTool) { t.Token = nil }, mcp), []string{`"streamableHttpTransport":{"url":"https://mcp.example.com/mcp"}`}, ""},
		"forced":                  {flash, nil, func(r *model.Request) { server(search)(r); r.ToolChoice.Mode = model.ToolsAny }, nil, event.ErrUnsupported},
		"forbidden":               {flash, nil, func(r *model.Request) { server(search)(r); r.ToolChoice.Mode = model.ToolsNone }, []string{`"googleSearch"`}, ""},
	} {
		opts := []gemini.Option{}
		if tc.vertex != nil {
			opts = append(opts, tc.vertex)
		}
		m, server := open(t, tc.model, opts, geminitest.Text("Yes."))
		req := hello()
		tc.change(req)
		checked := m.Check(req)
		r := modeltest.Call(t.Context(), m, req)
		asked := server.Asked()
		if tc.err != "" {
			if !errors.Is(checked, tc.err) || !errors.Is(r.Err, tc.err) || len(asked) != 0 || strings.Contains(fmt.Sprint(checked), "secret") {
				t.Errorf("%s: %v, %v, %d requests", name, checked, r.Err, len(asked))
			}
			continue
		}
		if checked != nil || r.Err != nil || len(asked) != 1 {
			t.Errorf("%s: %v, %v", name, checked, r.Err)
			continue
		}
		for _, want := range tc.want {
			if body := string(asked[0].Body); !strings.Contains(body, want) || tc.vertex != nil && strings.Contains(body, "Invocations") {
				t.Errorf("%s: %s\nwant %s", name, body, want)
			}
		}
	}
}
