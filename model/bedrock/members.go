package bedrock

import (
	"encoding/json"
	"maps"
	"slices"
)

// Blocks, pieces and places are unions: objects with one member, whose name is the kind. Some answers have more
// members, such as a "type" beside it, so the order of choice is fixed here.
var (
	contentKinds  = []string{"text", "toolUse", "reasoningContent", "citationsContent", "image"}
	startKinds    = []string{"toolUse", "image"}
	deltaKinds    = []string{"text", "toolUse", "reasoningContent", "citation", "image", "toolResult"}
	locationKinds = []string{"web", "documentChar", "documentPage", "documentChunk", "searchResultLocation"}
)

// members returns the known members of a union, in the order of known. If it has none, it returns the first by name,
// and "type" only if there is no other.
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

// serverTool reports whether the vendor itself runs the called tool (API_runtime_ToolUseBlock: server_tool_use is the
// only value of "type"). Claude from 4.5 on and Nova 2 write "type": "tool_use" on calls of the caller's tools, as
// recorded by pydantic-ai and ruby_llm.
func serverTool(kind string) bool { return kind == "server_tool_use" }

// calledTool is a tool call: complete, or its beginning in a stream.
type calledTool struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Input json.RawMessage `json:"input"`
}
