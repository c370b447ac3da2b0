package printer

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// vendorTool is a block of a tool that the provider ran, in the providers' forms: server tools of Anthropic
// and Bedrock, and items of OpenAI's Responses API.
type vendorTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Input       map[string]any `json:"input"`
	Arguments   string         `json:"arguments"`
	ServerName  string         `json:"server_name"`
	ServerLabel string         `json:"server_label"`
	Queries     []string       `json:"queries"`
	Action      map[string]any `json:"action"`
	ToolUse     *vendorTool    `json:"toolUse"`
}

// vendorsWords describes the tool and its input in a line; "" for any other block.
func vendorsWords(b event.Block) string {
	switch b := b.(type) {
	case *event.Code:
		return "the provider ran " + cmp.Or(term.CleanLine(b.Language), "code") + ": " + brief(b.Code)
	case *event.CodeResult:
		return "the program ended: " + strings.TrimSuffix(cmp.Or(term.CleanLine(b.Outcome), "ok")+", "+brief(b.Output), ", ")
	case *event.UnknownBlock:
		var t vendorTool
		if json.Unmarshal(b.Raw, &t) != nil {
			return ""
		}
		return t.words()
	}
	return ""
}

func (t *vendorTool) words() string {
	name := term.CleanLine(t.Name)
	var what string
	switch t.Type {
	case "server_tool_use", "mcp_tool_use":
		what = subject(t.Input)
	case "web_search_call":
		name, what = "web_search", subject(t.Action)
	case "file_search_call":
		name, what = "file_search", strings.Join(t.Queries, "; ")
	case "mcp_call":
		what = t.Arguments
	default:
		if t.ToolUse != nil && t.ToolUse.ToolUse == nil {
			return t.ToolUse.words()
		}
		return ""
	}
	if name == "" {
		return ""
	}
	if server := cmp.Or(t.ServerName, t.ServerLabel); server != "" {
		name += " of " + term.CleanLine(server)
	}
	return strings.TrimSuffix("the provider ran "+name+": "+brief(what), ": ")
}

// subject returns the most telling member of a tool's input, or all members.
func subject(input map[string]any) string {
	var said []string
	for _, member := range []string{"query", "url", "pattern", "command", "path", "code"} {
		if s, ok := input[member].(string); ok && s != "" {
			said = append(said, s)
		}
	}
	if len(said) > 0 {
		return strings.Join(said, " ")
	}
	if len(input) == 0 {
		return ""
	}
	b, err := json.Marshal(input)
	if err != nil { // it was JSON
		return ""
	}
	return string(b)
}

// brief shortens a provider's text to one line.
func brief(s string) string {
	const most = 160
	r := []rune(term.CleanLine(strings.TrimSpace(s)))
	if len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(r)
}
