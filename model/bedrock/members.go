package bedrock

import (
	"encoding/json"
	"maps"
	"slices"
)

// Contents of blocks, pieces and places are unions: objects with one member, whose name says
// what it is. Some answers have more members, such as a "type" beside it, so the order in which
// they are taken is fixed here.
var (
	contentKinds  = []string{"text", "toolUse", "reasoningContent", "citationsContent", "image"}
	startKinds    = []string{"toolUse", "image"}
	deltaKinds    = []string{"text", "toolUse", "reasoningContent", "citation", "image", "toolResult"}
	locationKinds = []string{"web", "documentChar", "documentPage", "documentChunk", "searchResultLocation"}
)

// members lists the members of a union that are known, in the order of known. If none is, it is
// the first by name, and "type" only where nothing else is there.
func members[V any](union map[string]V, known []string) []string {
	var names []string
	for _, name := range known {
		if _, ok := union[name]; ok {
			names = append(names, name)
		}
	}
	if names != nil {
		return names
	}
	names = slices.Sorted(maps.Keys(union))
	if len(names) > 1 {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "type" })
	}
	return names[:min(len(names), 1)]
}

// serverTool reports whether a call is the vendor's own, which it also answers
// (API_runtime_ToolUseBlock: server_tool_use is the only value of "type"). Claude from 4.5 on
// and Nova 2 write "type": "tool_use" on calls of the caller's tools, as recorded by
// pydantic-ai and ruby_llm.
func serverTool(kind string) bool { return kind == "server_tool_use" }

// calledTool is the call of a tool: whole, or its beginning in a stream.
type calledTool struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Input json.RawMessage `json:"input"`
}
