package anthropictest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// Error returns an error of the API (api/errors) in place of a stream.
func Error(status int, kind, message string) Answer {
	return Answer{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Body: errorBody(kind, message)}
}

func errorBody(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_test"}`, kind, quote(message))
}

// Text returns an answer with one text that ends the turn.
func Text(pieces ...string) Answer {
	chunks := make([]model.Chunk, len(pieces))
	for i, p := range pieces {
		chunks[i] = model.Chunk{Kind: model.ChunkText, Text: p}
	}
	return Stream(chunks, "end_turn", event.Usage{Input: 12, Output: int64(3 * len(pieces))})
}

// Stream returns a complete answer. The chunks come as in a stream of the API: one block per index, which ends with
// its last chunk. A [model.ChunkBlock] without a block is a citation, which its Text contains. The stop reason is the
// API's name for it.
func Stream(chunks []model.Chunk, stop string, u event.Usage) Answer {
	return Answer{Body: Events(chunks, stop, u) + stopEvent}
}

const stopEvent = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// Events returns the body of [Stream] without the end signal.
func Events(chunks []model.Chunk, stop string, u event.Usage) string {
	return events(chunks, stop, u, fmt.Sprintf(`,"output_tokens_details":{"thinking_tokens":%d}`, u.Reasoning))
}

func events(chunks []model.Chunk, stop string, u event.Usage, details string) string {
	b := &strings.Builder{}
	begin(b, u)
	body(b, chunks)
	say(b, "message_delta", fmt.Sprintf(`{"type":"message_delta",`+
		`"delta":{"container":null,"stop_reason":%s,"stop_sequence":null,"stop_details":null},`+
		`"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d%s}}`,
		quote(stop), u.Input, u.CacheWrite, u.CacheRead, u.Output, details))
	return b.String()
}

// Begun returns the beginning of a stream, up to and including these chunks.
func Begun(chunks []model.Chunk, u event.Usage) string {
	b := &strings.Builder{}
	begin(b, u)
	body(b, chunks)
	return b.String()
}

// ErrorEvent returns an error in the middle of a stream.
func ErrorEvent(kind, message string) string {
	b := &strings.Builder{}
	say(b, "error", errorBody(kind, message))
	return b.String()
}

func begin(b *strings.Builder, u event.Usage) {
	say(b, "message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_test","type":"message","role":"assistant","content":[],`+
		`"model":"claude-test","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,`+
		`"cache_read_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d},`+
		`"output_tokens":1,"service_tier":"standard"}}}`, u.Input, u.CacheWrite, u.CacheRead, u.CacheWrite-u.CacheWriteHour, u.CacheWriteHour))
}

func body(b *strings.Builder, chunks []model.Chunk) {
	last := map[int]int{}
	for i, c := range chunks {
		last[c.Index] = i
	}
	var open []int
	for i, c := range chunks {
		if !slices.Contains(open, c.Index) {
			open = append(open, c.Index)
			say(b, "content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, c.Index, start(c)))
			if i == 0 {
				say(b, "ping", `{"type": "ping"}`)
			}
		}
		kind, member := "", ""
		switch c.Kind {
		case model.ChunkText:
			kind, member = "text_delta", "text"
		case model.ChunkThinking:
			kind, member = "thinking_delta", "thinking"
		case model.ChunkSignature:
			kind, member = "signature_delta", "signature"
		case model.ChunkCallInput:
			kind, member = "input_json_delta", "partial_json"
		case model.ChunkBlock:
			if c.Block == nil { // a citation of a text
				say(b, "content_block_delta", fmt.Sprintf(
					`{"type":"content_block_delta","index":%d,"delta":{"type":"citations_delta","citation":%s}}`, c.Index, c.Text))
			}
		default:
		}
		if kind != "" {
			say(b, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`,
				c.Index, kind, member, quote(c.Text)))
		}
		if last[c.Index] == i {
			say(b, "content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, c.Index))
		}
	}
}

// start returns the beginning of a chunk's block.
func start(c model.Chunk) string {
	switch c.Kind {
	case model.ChunkThinking, model.ChunkSignature:
		return `{"type":"thinking","thinking":"","signature":""}`
	case model.ChunkCall:
		return fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{},"caller":{"type":"direct"}}`, quote(c.ID), quote(c.Text))
	case model.ChunkBlock:
		if r, ok := c.Block.(*event.RedactedThinking); ok {
			return fmt.Sprintf(`{"type":"redacted_thinking","data":%s}`, quote(r.Data))
		}
		if u, ok := c.Block.(*event.UnknownBlock); ok {
			return string(u.Raw) // a block of a tool that the vendor runs itself
		}
	default:
	}
	return `{"type":"text","text":""}`
}

func say(b *strings.Builder, name, data string) {
	b.WriteString("event: " + name + "\ndata: " + data + "\n\n")
}

// quote returns s as JSON in the API's form, which does not escape non-ASCII characters.
func quote(s string) string { return string(strictjson.AppendString(nil, s)) }

// streamEvent holds the parts of the server's own streams that it reads.
type streamEvent struct {
	Index int `json:"index"`
	Delta struct {
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	} `json:"delta"`
	Block struct {
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	} `json:"content_block"`
}

func readEvent(line []byte) (e streamEvent, ok bool) {
	data, ok := bytes.CutPrefix(line, []byte("data: "))
	return e, ok && json.Unmarshal(data, &e) == nil
}
