package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// serverTools returns the definitions of the server-side tools, each without its closing brace
// (agents-and-tools/tool-use/tool-reference). Code execution and the web tools of 2026, which
// filter their results with code, need Claude 4.6. Vertex AI has only the first version of web
// search. Amazon Bedrock has no server-side tools (agents-and-tools/tool-use/web-search-tool).
func (m *Model) serverTools(tools []model.ServerTool) ([][]byte, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	all := make([][]byte, 0, len(tools))
	seen := map[string]bool{}
	for i := range tools {
		t := &tools[i]
		if err := m.hasServerTool(t); err != nil {
			return nil, err
		}
		key := string(t.Kind)
		if t.Kind == model.RemoteMCP {
			key += " " + t.Name
		}
		if seen[key] {
			return nil, notSent(event.ErrInvalid, "the server-side tool %q is there twice", "name each tool and each MCP server once", key)
		}
		seen[key] = true
		all = append(all, m.serverTool(t))
	}
	return all, nil
}

// hasServerTool returns an error if the model or the platform does not have a tool.
func (m *Model) hasServerTool(t *model.ServerTool) error {
	web := t.Kind == model.WebSearch || t.Kind == model.WebFetch
	g := generation(m.name)
	switch {
	case !web && t.Kind != model.CodeExecution && t.Kind != model.RemoteMCP:
		return notSent(event.ErrUnsupported, "Claude has no server-side tool %q",
			"use web_search, web_fetch, code_execution or mcp", string(t.Kind))
	case m.platform() == onBedrock, m.platform() == onVertex && t.Kind != model.WebSearch:
		return notSent(event.ErrUnsupported, m.title()+" does not run the tool %q",
			"use Anthropic's own API, or give the agent a tool of its own", string(t.Kind))
	case g > 0 && g < 305:
		return notSent(event.ErrUnsupported, "the vendor runs no tools for this model", "take a newer one")
	case !web && (t.MaxUses != 0 || len(t.Domains) > 0 || len(t.Blocked) > 0):
		return notSent(event.ErrUnsupported, "the server-side tool %q has neither a bound of uses nor domains",
			"leave them out", string(t.Kind))
	case t.MaxUses < 0:
		return notSent(event.ErrInvalid, "the server-side tool %q has a negative number of uses",
			"leave it out, or set it above 0", string(t.Kind))
	case len(t.Domains) > 0 && len(t.Blocked) > 0:
		return notSent(event.ErrInvalid, "the server-side tool %q has domains that it may use and domains that it may not",
			"set one of the two", string(t.Kind))
	case len(t.Stores) > 0:
		return notSent(event.ErrUnsupported, "the server-side tool %q has no vector stores", "leave them out", string(t.Kind))
	case t.Kind == model.RemoteMCP && (t.Name == "" || !strings.HasPrefix(t.URL, "https://")):
		return notSent(event.ErrInvalid, "an MCP server that the vendor is to ask has no name, or no address with https",
			"set Name and URL; the server must be reachable from the internet")
	case t.Kind != model.RemoteMCP && (t.Name != "" || t.URL != "" || len(t.Tools) > 0 || t.Token != nil):
		return notSent(event.ErrInvalid, "the server-side tool %q is no MCP server", "leave Name, URL, Tools and Token out", string(t.Kind))
	}
	for _, d := range slices.Concat(t.Domains, t.Blocked) {
		host, _, _ := strings.Cut(d, "/")
		if host == "" || strings.ContainsAny(host, "*:@? \t") || strings.Contains(d, "://") {
			return notSent(event.ErrInvalid, "a domain of the server-side tool %q is not valid",
				"write it as example.com, without https:// and without * in it", string(t.Kind))
		}
	}
	return nil
}

// serverTool returns the definition of one tool, without its closing brace.
func (m *Model) serverTool(t *model.ServerTool) []byte {
	g := generation(m.name)
	newest := (g == 0 || g >= 406) && m.platform() == onAPI
	version := func(old, current string) string {
		if newest {
			return current
		}
		return old
	}
	var b []byte
	begin := func(kind, name string) { b = append(b, `{"type":"`+kind+`","name":"`+name+`"`...) }
	switch t.Kind {
	case model.WebSearch:
		begin(version("web_search_20250305", "web_search_20260318"), "web_search")
	case model.WebFetch:
		begin(version("web_fetch_20250910", "web_fetch_20260318"), "web_fetch")
	case model.CodeExecution:
		begin(version("code_execution_20250825", "code_execution_20260521"), "code_execution")
	default:
		b = strictjson.AppendString(append(b, `{"type":"mcp_toolset","mcp_server_name":`...), t.Name)
		if t.Tools != nil {
			b = append(b, `,"default_config":{"enabled":false},"configs":{`...)
			for i, name := range t.Tools {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(strictjson.AppendString(b, name), `:{"enabled":true}`...)
			}
			b = append(b, '}')
		}
	}
	if t.MaxUses > 0 {
		b = strconv.AppendInt(append(b, `,"max_uses":`...), int64(t.MaxUses), 10)
	}
	b = appendStrings(b, "allowed_domains", t.Domains)
	return appendStrings(b, "blocked_domains", t.Blocked)
}

// serverName returns the name of a server-side tool. It shares the namespace of the agent's
// tools.
func serverName(k model.ServerToolKind) string {
	if k == model.RemoteMCP {
		return "" // the vendor prefixes the names of its tools with the server's name
	}
	return string(k)
}

// appendServers writes mcp_servers. Only this member contains the servers' credentials.
func appendServers(b []byte, tools []model.ServerTool) []byte {
	n := 0
	for i := range tools {
		t := &tools[i]
		if t.Kind != model.RemoteMCP {
			continue
		}
		if n++; n == 1 {
			b = append(b, `,"mcp_servers":[`...)
		}
		b = strictjson.AppendString(append(b, `{"type":"url","name":`...), t.Name)
		b = strictjson.AppendString(append(b, `,"url":`...), t.URL)
		if t.Token != nil {
			if token := t.Token(); token != "" {
				b = strictjson.AppendString(append(b, `,"authorization_token":`...), token)
			}
		}
		b = append(b, `},`...)
	}
	if n > 0 {
		b[len(b)-1] = ']'
	}
	return b
}

// appendStrings writes a member with a list of strings. It skips an empty list.
func appendStrings(b []byte, member string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, `,"`+member+`":[`...)
	for _, s := range list {
		b = append(strictjson.AppendString(b, s), ',')
	}
	b[len(b)-1] = ']'
	return b
}
