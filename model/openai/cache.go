package openai

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/reqcache"
)

// OpenAI caches prompt prefixes automatically. Claude and Gemini behind OpenRouter need
// explicit cache points (OpenRouter, features/prompt-caching). Braid sets them as package
// model/anthropic does with CacheExplicit: at the instructions, and at the three newest
// messages of users and tools. That makes four, which is Claude's maximum
// (pydantic/pydantic-ai#4604).

const cachePoint = `,"cache_control":{"type":"ephemeral"}`

// marks reports whether requests have cache points.
func (m *Model) marks() bool {
	if m.dialect.Cache != CacheAnthropic || m.api != ChatCompletions {
		return false
	}
	name := strings.ToLower(m.name)
	return strings.Contains(name, "claude") || strings.Contains(name, "gemini")
}

// appendInstructions writes the content of the system message.
func (m *Model) appendInstructions(b []byte, text string) []byte {
	if !m.marks() {
		return strictjson.AppendString(b, text)
	}
	b = strictjson.AppendString(append(b, `[{"type":"text","text":`...), text)
	return append(append(b, cachePoint...), `}]`...)
}

// points returns the positions of the cache points in the encoded messages, in order.
func (m *Model) points(h *reqcache.History[encoder, *encoder]) []int {
	if !m.marks() {
		return nil
	}
	const most = 3
	var places []int
	for i := h.Len() - 1; i >= 0 && len(places) < most; i-- {
		if role, at := h.At(i); role != event.RoleAssistant && at.Blocks > 0 {
			places = append(places, at.End-at.Blocks)
		}
	}
	slices.Reverse(places)
	return places
}

// The distance of a cache point from the end of its message. In a user message it is in the
// last text, before "}]},". In a tool message it is beside the content, before "},"; tool
// messages take it there (oguzbilgic/kern-ai#317).
const (
	pointInText = len(`}]},`)
	pointAtTool = len(`},`)
)

// appendPoints appends messages, with a cache point inserted at each place.
func appendPoints(b, messages []byte, places []int) []byte {
	from := 0
	for _, at := range places {
		b = append(append(b, messages[from:at]...), cachePoint...)
		from = at
	}
	return append(b, messages[from:]...)
}
