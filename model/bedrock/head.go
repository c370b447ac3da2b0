package bedrock

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// withServed appends server-side tools to the others. It does not change tools.
func withServed(tools, served []byte) []byte {
	switch {
	case len(served) == 0:
		return tools
	case len(tools) == 0:
		tools = []byte(`"tools":[`)
	default:
		tools = append(slices.Clone(tools[:len(tools)-1]), ',')
	}
	return append(append(tools, served[:len(served)-1]...), ']')
}

// wasServed reports whether the history contains a call of a server-side tool that is sent
// back. The API then requires tool definitions.
func (m *setup) wasServed(messages []event.Message) bool {
	if !m.family.nova {
		return false
	}
	for i := range messages {
		for _, b := range messages[i].Content {
			if u, ok := b.(*event.UnknownBlock); ok && (u.Name == own+"toolUse" || u.Name == own+"toolResult") {
				return true
			}
		}
	}
	return false
}

// point returns a cache point (API_runtime_CachePointBlock).
func (m *setup) point() string {
	if m.cache == CacheHour {
		return `{"cachePoint":{"type":"default","ttl":"1h"}}`
	}
	return `{"cachePoint":{"type":"default"}}`
}

// caches reports whether requests have cache points.
func (m *setup) caches() bool { return m.cache != CacheOff && m.family.cache != noCache }

var placeholder = []model.ToolSpec{{Name: noTool, Description: "There is no tool any more. Do not call this one."}}

// choice returns the request with the tools to offer, and the tool choice
// (API_runtime_ToolChoice). If the API cannot express the choice, it restricts the list of
// tools.
func (m *setup) choice(req *model.Request, called bool) (shown model.Request, choose string) {
	shown = *req
	shown.Messages = nil
	if m.family.noSystem {
		shown.Instructions = ""
	}
	c := &req.ToolChoice
	switch {
	case len(req.Tools) == 0 || c.Mode == model.ToolsNone:
		shown.Tools = nil
		if called && !m.family.noTools {
			shown.Tools = placeholder
		}
	case c.Mode == model.ToolsAny:
		choose = `,"toolChoice":{"any":{}}`
	case c.Mode == model.ToolsOne && m.family.choice == someChoice:
		for _, t := range req.Tools {
			if t.Name == c.Tool {
				shown.Tools = []model.ToolSpec{t}
			}
		}
		choose = `,"toolChoice":{"any":{}}`
	case c.Mode == model.ToolsOne:
		b := strictjson.AppendString([]byte(`,"toolChoice":{"tool":{"name":`), m.family.names.Wire(c.Tool))
		choose = string(append(b, `}}`...))
	}
	return shown, choose
}

// newHead encodes tools and instructions, with the cache point after them.
func (m *setup) newHead(req *model.Request) (head, error) {
	var h head
	instructions := strings.TrimSpace(req.Instructions) != ""
	if len(req.Tools) > 0 {
		h.tools = append(h.tools, `"tools":[`...)
		for i := range req.Tools {
			var err error
			if h.tools, err = m.appendTool(h.tools, &req.Tools[i]); err != nil {
				return head{}, err
			}
			h.tools = append(h.tools, ',')
		}
		if !instructions && m.caches() && m.family.cache == wholeCache {
			h.tools = append(append(h.tools, m.point()...), ',')
		}
		h.tools[len(h.tools)-1] = ']'
	}
	if instructions {
		h.system = append(strictjson.AppendString(append(h.system, `"system":[{"text":`...), req.Instructions), '}')
		if m.caches() {
			h.system = append(append(h.system, ','), m.point()...)
		}
		h.system = append(h.system, `],`...)
	}
	return h, nil
}
