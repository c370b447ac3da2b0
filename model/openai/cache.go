package openai

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/reqcache"
)

// OpenAI caches the beginnings of prompts by itself. Claude and Gemini behind OpenRouter want
// marks of what to cache (OpenRouter, features/prompt-caching). They stand where package
// model/anthropic sets its explicit ones: at the instructions, and at the three newest
// messages of users and tools, which makes four, the most that Claude takes
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

// points gives the places of the cache points in what the encoder wrote, in order.
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

// How far in front of the end of a message its cache point stands: in the last text of a
// user's message, which ends with "}]},", and beside the content of a tool's, which ends with
// "},". Tool messages take it there (oguzbilgic/kern-ai#317).
const (
	pointInText = len(`}]},`)
	pointAtTool = len(`},`)
)

// appendPoints appends messages with a cache point at each place.
func appendPoints(b, messages []byte, places []int) []byte {
	from := 0
	for _, at := range places {
		b = append(append(b, messages[from:at]...), cachePoint...)
		from = at
	}
	return append(b, messages[from:]...)
}
