package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// xai is the host of xAI, the other vendor of Responses. Its tools differ in two members.
const xai = "api.x.ai"

// labels matches the label of an MCP server in the vendor's items.
var labels = lazyre.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// serverTools writes the server-side tools, each with a trailing comma
// (api-reference/responses/create, tools). Chat Completions has only web search, which is not
// in the list of tools: certain models always search.
//
// If sent is false, serverTools only checks the tools and resolves no credentials.
func (m *Model) serverTools(tools []model.ServerTool, sent bool) ([]byte, error) {
	var b []byte
	seen := map[string]bool{}
	for i := range tools {
		t := &tools[i]
		if err := m.hasServerTool(t, len(tools)); err != nil {
			return nil, err
		}
		key := string(t.Kind) + " " + t.Name
		if seen[key] {
			return nil, notSent(event.ErrInvalid, "the server-side tool %q is there twice",
				"name each tool and each MCP server once", strings.TrimSpace(key))
		}
		seen[key] = true
		if m.api == Responses && sent {
			b = m.appendServerTool(b, t)
		}
	}
	return b, nil
}

// hasServerTool returns an error if the model lacks a tool. count is the number of tools.
func (m *Model) hasServerTool(t *model.ServerTool, count int) error {
	unsupported := func(message, hint string, args ...any) error {
		return notSent(event.ErrUnsupported, message, hint, args...)
	}
	kind := string(t.Kind)
	switch t.Kind {
	case model.WebSearch, model.CodeExecution, model.FileSearch, model.RemoteMCP:
	case model.WebFetch:
		return unsupported("%s has no server-side tool that fetches pages", "use web_search, which opens pages too", m.title)
	default:
		return unsupported("%s has no server-side tool %q", "use web_search, code_execution, file_search or mcp", m.title, kind)
	}
	if m.api == ChatCompletions {
		switch {
		case t.Kind != model.WebSearch || !m.vendors || !searching.MatchString(plainModel(cmp.Or(m.family, m.name))):
			return unsupported("the server runs no tool %q by Chat Completions", "use Responses, api=responses, where the server has it", kind)
		case t.MaxUses != 0 || len(t.Domains) > 0 || len(t.Blocked) > 0:
			return unsupported("the web search of Chat Completions has neither a bound of uses nor domains", "leave them out, or use Responses")
		}
	}
	switch {
	case t.MaxUses < 0:
		return notSent(event.ErrInvalid, "the server-side tool %q has a negative number of uses", "leave it out, or set it above 0", kind)
	case t.MaxUses > 0 && count > 1:
		// max_tool_calls bounds the calls of all tools together.
		return unsupported("%s does not bound the uses of one server-side tool among several",
			"leave the bound out, or ask for that tool alone", m.title)
	case t.Kind != model.WebSearch && (len(t.Domains) > 0 || len(t.Blocked) > 0):
		return unsupported("the server-side tool %q has no domains", "leave them out", kind)
	case len(t.Domains) > 0 && len(t.Blocked) > 0:
		return notSent(event.ErrInvalid, "the server-side tool %q has domains that it may use and domains that it may not",
			"set one of the two", kind)
	case t.Kind == model.FileSearch && len(t.Stores) == 0:
		return notSent(event.ErrInvalid, "the file search has no vector store", "set Stores to the vendor's ids of vector stores")
	case t.Kind != model.FileSearch && len(t.Stores) > 0:
		return unsupported("the server-side tool %q has no vector stores", "leave them out", kind)
	case t.Kind == model.RemoteMCP && (!labels.MatchString(t.Name) || !strings.HasPrefix(t.URL, "https://")):
		return notSent(event.ErrInvalid, "an MCP server that the vendor is to ask has no usable name, or no address with https",
			"set Name to letters and digits, and URL; the server must be reachable from the internet")
	case t.Kind != model.RemoteMCP && (t.Name != "" || t.URL != "" || len(t.Tools) > 0 || t.Token != nil):
		return notSent(event.ErrInvalid, "the server-side tool %q is no MCP server", "leave Name, URL, Tools and Token out", kind)
	}
	for _, d := range append(slices.Clip(t.Domains), t.Blocked...) {
		if d == "" || strings.ContainsAny(d, "*:@? \t") {
			return notSent(event.ErrInvalid, "a domain of the web search is not valid", "write it as example.com, without https://")
		}
	}
	return nil
}

// appendServerTool writes a tool for Responses.
func (m *Model) appendServerTool(b []byte, t *model.ServerTool) []byte {
	switch t.Kind {
	case model.WebSearch:
		b = append(b, `{"type":"web_search"`...)
		// The SDK does not have blocked_domains; the API does (vercel/ai#18035).
		name, list := "allowed_domains", t.Domains
		if len(t.Blocked) > 0 {
			name, list = "blocked_domains", t.Blocked
			if m.host == xai {
				name = "excluded_domains"
			}
		}
		if len(list) > 0 {
			b = appendStrings(append(b, `,"filters":{`...), name, list)
			b = append(b, '}')
		}
	case model.FileSearch:
		b = appendStrings(append(b, `{"type":"file_search",`...), "vector_store_ids", t.Stores)
	case model.CodeExecution:
		b = append(b, `{"type":"code_interpreter"`...)
		if m.host != xai {
			b = append(b, `,"container":{"type":"auto"}`...)
		}
	default:
		b = strictjson.AppendString(append(b, `{"type":"mcp","server_label":`...), t.Name)
		b = strictjson.AppendString(append(b, `,"server_url":`...), t.URL)
		if t.Tools != nil {
			b = appendStrings(append(b, ','), "allowed_tools", t.Tools)
		}
		if t.Token != nil {
			if token := t.Token(); token != "" {
				b = strictjson.AppendString(append(b, `,"authorization":`...), token)
			}
		}
		if m.host != xai {
			b = append(b, `,"require_approval":"never"`...)
		}
	}
	return append(b, '}', ',')
}

func appendStrings(b []byte, name string, list []string) []byte {
	b = append(strictjson.AppendString(b, name), ':', '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strictjson.AppendString(b, s)
	}
	return append(b, ']')
}

// mostUses returns the bound for the calls of the only server-side tool; 0 for no bound.
func mostUses(tools []model.ServerTool) int {
	if len(tools) != 1 {
		return 0
	}
	return tools[0].MaxUses
}

// appendInclude requests content that answers leave out by default: the encrypted reasoning,
// and the results of server-side tools.
func (m *Model) appendInclude(b []byte, tools []model.ServerTool) []byte {
	var list []string
	if m.thinks {
		list = append(list, "reasoning.encrypted_content")
	}
	for i := range tools {
		switch {
		case m.host == xai:
		case tools[i].Kind == model.WebSearch:
			list = append(list, "web_search_call.action.sources")
		case tools[i].Kind == model.FileSearch:
			list = append(list, "file_search_call.results")
		case tools[i].Kind == model.CodeExecution:
			list = append(list, "code_interpreter_call.outputs")
		}
	}
	if len(list) == 0 {
		return b
	}
	return appendStrings(append(b, ','), "include", list)
}

// The item types of this vendor that Braid interprets.
const (
	codeItem   = "code_interpreter_call"
	customItem = "custom_tool_call"
	webItem    = "web_search_call"
	filesItem  = "file_search_call"
	compacted  = "compaction"
)

// ran is a program that the vendor ran.
type ran struct {
	Code    *string `json:"code"`
	Status  string  `json:"status"`
	Outputs []struct {
		Type string `json:"type"`
		Logs string `json:"logs"`
	} `json:"outputs"`
}

// searches returns how many billed web searches an item contains. Opening a page and searching
// in it are not billed (guides/tools-web-search, output and citations).
func searches(raw json.RawMessage) int64 {
	var i struct {
		Action struct {
			Type string `json:"type"`
		} `json:"action"`
	}
	if json.Unmarshal(raw, &i) == nil && i.Action.Type != "" && i.Action.Type != "search" {
		return 0
	}
	return 1
}

// Indexes of blocks that show the content of an item, above those of all citations.
const (
	shownCode = 1<<21 + iota
	shownResult
)

// foreignCalls are the item types that require a result from the client. Braid cannot run these
// calls, and the API refuses a conversation without their results.
var foreignCalls = map[string]bool{
	own + "computer_call": true, own + "local_shell_call": true, own + "shell_call": true, own + "apply_patch_call": true,
	own + customItem: true, own + "mcp_approval_request": true,
}

// returns reports whether an item of a vendor's kind is sent back.
func returns(b *event.UnknownBlock) bool {
	if !strings.HasPrefix(string(b.Name), own) || foreignCalls[string(b.Name)] {
		return false
	}
	var i struct {
		Execution string `json:"execution"`
	}
	// The vendor or the client may run a tool search.
	return json.Unmarshal(b.Raw, &i) == nil && i.Execution != "client"
}
