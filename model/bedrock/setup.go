package bedrock

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/schema"
)

// Streaming selects whether an answer streams.
type Streaming string

const (
	// StreamAuto streams wherever the model can, also with tools.
	StreamAuto Streaming = "auto"
	// Stream always streams.
	Stream Streaming = "stream"
	// Whole never streams: it calls Converse instead of ConverseStream.
	Whole Streaming = "whole"
)

// CachePoints selects the cache points of a request
// (bedrock/latest/userguide/prompt-caching).
type CachePoints string

const (
	// CacheAuto sets points if the model is known to take them: after the
	// instructions, or else the tools; after the newest message; and after the two
	// user messages before it. The cache lasts five minutes.
	CacheAuto CachePoints = "auto"
	// CacheHour is [CacheAuto] with a cache of one hour. Writing it costs more, and only
	// newer Claude models have it.
	CacheHour CachePoints = "hour"
	// CacheOff sets no points. Use it for prompts that are never sent twice.
	CacheOff CachePoints = "off"
)

// setup is how a model was made: what encoding a request needs. It can neither call the API nor keep a conversation.
type setup struct {
	name string
	// plain is the model's id without a profile, if it is known.
	plain     string
	family    family
	cache     CachePoints
	streaming Streaming
	guard     *Guardrail
	fields    map[string]json.RawMessage
	metadata  []byte
	tier      string
	latency   string
	// forms caches the schemas of tools in the form that the API takes.
	forms schema.Forms
}

// whole reports whether the answer to req does not stream.
func (m *setup) whole(req *model.Request) bool {
	switch m.streaming {
	case Stream:
		return false
	case Whole:
		return true
	default:
		return m.family.noStream || m.family.noToolStream && (len(req.Tools) > 0 || called(req.Messages))
	}
}

// called reports whether the history has a tool call. The API then requires tool
// definitions.
func called(messages []event.Message) bool {
	for i := range messages {
		for _, b := range messages[i].Content {
			if _, ok := b.(*event.ToolCall); ok {
				return true
			}
		}
	}
	return false
}
