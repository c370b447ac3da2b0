package gemini

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/model/internal/schema"
)

// servers maps each server-side tool to the first generation that has it (the tables of
// supported models in docs/google-search, docs/url-context, docs/code-execution and
// docs/file-search).
var servers = map[model.ServerToolKind]int{
	model.WebSearch: 200, model.CodeExecution: 200, model.WebFetch: budgets, model.FileSearch: budgets, model.RemoteMCP: budgets,
}

// mostDomains bounds the domains that a search can exclude.
const mostDomains = 2000

var (
	stores   = lazyre.New(`^(fileSearchStores/)?[a-z0-9][a-z0-9-]{0,62}$`)
	mcpNames = lazyre.New(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	domains  = lazyre.New(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)
)

// mixes reports whether a request has server-side tools and the agent's tools. The Gemini API
// then returns the calls and results of its tools as parts, and requires them back
// (docs/tool-combination). Vertex AI does not.
func (m *Model) mixes(req *model.Request) bool {
	return len(req.Options.ServerTools) > 0 && len(req.Tools) > 0 && !m.vertex
}

// checkServerTools returns an error for server-side tools that the vendor would refuse.
func (m *Model) checkServerTools(req *model.Request) error {
	tools := req.Options.ServerTools
	if len(tools) == 0 {
		return nil
	}
	no := func(message, hint string, args ...any) error {
		return notSent(event.ErrUnsupported, message, hint, args...)
	}
	if m.cached != "" {
		return no("Gemini takes no tools of the vendor's beside cached content", "put them into the cache, or make the model without cached content")
	}
	seen := map[string]bool{}
	for i := range tools {
		t := &tools[i]
		if first, ok := servers[t.Kind]; !ok || m.generation < first {
			return no("this model has no tool %q of the vendor's", "leave it out, or take a newer model of Gemini", string(t.Kind))
		}
		key := string(t.Kind)
		if t.Kind == model.RemoteMCP {
			key += " " + t.Name
		}
		if seen[key] {
			return notSent(event.ErrInvalid, "the tool %q of the vendor's is there twice", "leave one of them out", string(t.Kind))
		}
		seen[key] = true
		if err := m.checkServerTool(t); err != nil {
			return err
		}
	}
	if m.generation >= levels {
		return nil
	}
	// docs/tool-combination: from Gemini 3 on. Before, Vertex AI says "Multiple tools are
	// supported only when they are all search tools".
	switch has := func(k model.ServerToolKind) bool { return seen[string(k)] }; {
	case len(req.Tools) > 0:
		return no("this model takes no tools of the vendor's beside the agent's", "take Gemini 3 or later, or leave one of the two out")
	case req.Output != nil:
		return no("this model takes no schema for its answer beside tools of the vendor's", "take Gemini 3 or later, or leave one of the two out")
	case has(model.FileSearch) && len(tools) > 1:
		return no("this model searches no files beside other tools of the vendor's", "take Gemini 3 or later, or leave the others out")
	case m.vertex && has(model.CodeExecution) && len(tools) > 1:
		return no("this model runs no code beside other tools of the vendor's", "take Gemini 3 or later, or leave the others out")
	}
	return nil
}

// checkServerTool returns an error for settings of a tool that the vendor lacks.
func (m *Model) checkServerTool(t *model.ServerTool) error {
	no := func(message, hint string, args ...any) error {
		return notSent(event.ErrUnsupported, message, hint, args...)
	}
	wrong := func(message, hint string, args ...any) error {
		return notSent(event.ErrInvalid, message, hint, args...)
	}
	switch {
	case t.MaxUses != 0:
		return no("Gemini cannot bound how often its tools are used", "leave MaxUses out")
	case len(t.Domains) > 0:
		return no("Gemini cannot hold the tool %q to some domains", "leave Domains out", string(t.Kind))
	case len(t.Blocked) > 0 && (t.Kind != model.WebSearch || !m.vertex):
		return no("Gemini cannot keep the tool %q from domains; Vertex AI can for searches of the web",
			"leave Blocked out, or use Vertex AI", string(t.Kind))
	case len(t.Blocked) > mostDomains || slices.ContainsFunc(t.Blocked, func(d string) bool { return !domains.MatchString(d) }):
		return wrong("the domains to leave out of searches are none, or more than %d", `name hosts, such as "example.com"`, mostDomains)
	}
	switch t.Kind {
	case model.FileSearch:
		switch {
		case m.vertex:
			return no("Vertex AI has no file search", "use the Gemini API, or leave it out")
		case len(t.Stores) == 0 || slices.ContainsFunc(t.Stores, func(s string) bool { return !stores.MatchString(s) }):
			return wrong("file search names no store, or one of no such name", "give Stores, as the vendor names them: fileSearchStores/…")
		}
	case model.RemoteMCP:
		switch {
		case m.vertex:
			return no("Vertex AI calls no servers of MCP", "use the Gemini API, or give the server to the agent")
		case t.Tools != nil:
			return no("Gemini cannot be held to some tools of an MCP server", "leave Tools out, or give the server to the agent")
		case !mcpNames.MatchString(t.Name) || !provider.Address(t.URL):
			return wrong("an MCP server has no name or no address", "give Name and URL, as https://host/path")
		}
	}
	return nil
}

// appendServerTools writes the server-side tools, each with a trailing comma.
func (m *Model) appendServerTools(b []byte, tools []model.ServerTool) []byte {
	for i := range tools {
		t := &tools[i]
		switch t.Kind {
		case model.WebSearch:
			b = append(b, `{"googleSearch":{`...)
			if len(t.Blocked) > 0 {
				b = appendStrings(append(b, `"excludeDomains":`...), t.Blocked)
			}
			b = append(b, `}},`...)
		case model.WebFetch:
			b = append(b, `{"urlContext":{}},`...)
		case model.CodeExecution:
			b = append(b, `{"codeExecution":{}},`...)
		case model.FileSearch:
			names := make([]string, len(t.Stores))
			for i, s := range t.Stores {
				names[i] = "fileSearchStores/" + strings.TrimPrefix(s, "fileSearchStores/")
			}
			b = appendStrings(append(b, `{"fileSearch":{"fileSearchStoreNames":`...), names)
			b = append(b, `}},`...)
		case model.RemoteMCP:
			b = strictjson.AppendString(append(b, `{"mcpServers":[{"name":`...), t.Name)
			b = strictjson.AppendString(append(b, `,"streamableHttpTransport":{"url":`...), t.URL)
			if t.Token != nil {
				b = strictjson.AppendString(append(b, `,"headers":{"Authorization":`...), "Bearer "+t.Token())
				b = append(b, '}')
			}
			b = append(b, `}}]},`...)
		}
	}
	return b
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strictjson.AppendString(b, s)
	}
	return append(b, ']')
}

// strict reports whether the request has a strict tool. The API can only make all tools of a
// request strict. The error is for a strict tool whose schema the API does not fully support.
func (m *Model) strict(req *model.Request) (bool, error) {
	held := false
	for i := range req.Tools {
		t := &req.Tools[i]
		if !t.Strict {
			continue
		}
		held = true
		if m.generation < budgets {
			return false, notSent(event.ErrUnsupported, "this model cannot be held to the parameters of the tool %q",
				"take Gemini 2.5 or later, or leave Strict out", t.Name)
		}
		_, problems := m.forms.Form(t.Schema, toolSchemas)
		for _, k := range []schema.Kind{schema.Fatal, schema.Widened} {
			if p, ok := schema.Worst(problems, k); ok {
				return false, notSent(event.ErrUnsupported, "Gemini cannot be held to the parameters of the tool %q: %s",
					"change the tool's schema at "+place(p.At)+", or leave Strict out", t.Name, p.Text)
			}
		}
	}
	return held, nil
}

// appendChoice writes the tool choice (docs/function-calling). The API cannot limit an answer
// to one call; see [decoder].
func (m *Model) appendChoice(b []byte, req *model.Request) ([]byte, error) {
	strict, err := m.strict(req)
	if err != nil {
		return nil, err
	}
	c := &req.ToolChoice
	if len(req.Tools) == 0 {
		if len(req.Options.ServerTools) > 0 && (c.Mode == model.ToolsAny || c.Mode == model.ToolsOne) {
			return nil, notSent(event.ErrUnsupported, "Gemini cannot be made to use the vendor's own tools", "leave the choice free")
		}
		return b, nil
	}
	mode, only := "", ""
	switch c.Mode {
	case model.ToolsFree:
		if strict || m.mixes(req) {
			// Holds calls to the schemas. AUTO is refused beside the vendor's tools
			// (docs/tool-combination).
			mode = "VALIDATED"
		}
	case model.ToolsAny:
		mode = "ANY"
	case model.ToolsNone:
		mode = "NONE"
	case model.ToolsOne:
		if !slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == c.Tool }) {
			return nil, notSent(event.ErrInvalid, "there is no tool %q to choose", "name one of the agent's tools", c.Tool)
		}
		mode, only = "ANY", toolNames.Wire(c.Tool)
	default:
		return nil, notSent(event.ErrUnsupported, "there is no such choice of tools: %q", "use one of the known ones", string(c.Mode))
	}
	if mode == "" {
		return b, nil
	}
	if m.cached != "" {
		return nil, notSent(event.ErrUnsupported, "Gemini takes no choice of tools, and no strict ones, beside cached content",
			"leave the choice free, or make the model without cached content")
	}
	b = append(append(append(b, `,"toolConfig":{"functionCallingConfig":{"mode":"`...), mode...), '"')
	if only != "" {
		b = strictjson.AppendString(append(b, `,"allowedFunctionNames":[`...), only)
		b = append(b, ']')
	}
	b = append(b, '}')
	if m.mixes(req) {
		b = append(b, `,"includeServerSideToolInvocations":true`...)
	}
	return append(b, '}'), nil
}
