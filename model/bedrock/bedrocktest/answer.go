package bedrocktest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/awsframes"
	"github.com/braidrun/braid/internal/strictjson"
)

const streamType = "application/vnd.amazon.eventstream"

// Error is an error of the API as it comes instead of an answer, by the name of
// its exception.
func Error(status int, exception, message string) Answer {
	return Answer{
		Status: status,
		Header: map[string]string{
			"Content-Type": "application/json", "X-Amzn-Errortype": exception + ":http://internal.amazon.com/coral/com.amazon.bedrock/",
		},
		Body: `{"message":` + quote(message) + `}`,
	}
}

// Text is an answer of one text that ends the turn.
func Text(pieces ...string) Answer {
	chunks := make([]braid.Chunk, len(pieces))
	for i, p := range pieces {
		chunks[i] = braid.Chunk{Kind: braid.ChunkText, Text: p}
	}
	return Stream(chunks, "end_turn", event.Usage{Input: 12, Output: int64(3 * len(pieces))})
}

// Stream is a whole answer. The chunks come as they would in a stream of the API:
// a block of each index, which ends with its last chunk. The stop reason is the
// API's word for it. What a guardrail redacts stands in its trace.
func Stream(chunks []braid.Chunk, stop string, u event.Usage) Answer {
	return Answer{Body: Begun(chunks) + Stopped(stop) + Metadata(chunks, u)}
}

// Begun is the beginning of a stream, up to and with these chunks.
func Begun(chunks []braid.Chunk) string {
	b := &strings.Builder{}
	say(b, "messageStart", `{"p":"abcdefgh","role":"assistant"}`)
	last := map[int]int{}
	for i, c := range chunks {
		last[c.Index] = i
	}
	var open []int
	for i, c := range chunks {
		if c.Kind == braid.ChunkRedactInput || c.Kind == braid.ChunkRedactOutput {
			continue
		}
		if !slices.Contains(open, c.Index) {
			open = append(open, c.Index)
			if c.Kind == braid.ChunkCall {
				say(b, "contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"p":"ab","start":{"toolUse":{"name":%s,"toolUseId":%s}}}`,
					c.Index, quote(c.Text), quote(c.ID)))
			}
		}
		if d := delta(&c); d != "" {
			say(b, "contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":%s,"p":"abcdefghijkl"}`, c.Index, d))
		}
		if last[c.Index] == i {
			say(b, "contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d,"p":"abcd"}`, c.Index))
		}
	}
	return b.String()
}

// delta is a chunk as a piece of its block.
func delta(c *braid.Chunk) string {
	switch c.Kind {
	case braid.ChunkText:
		return `{"text":` + quote(c.Text) + `}`
	case braid.ChunkThinking:
		return `{"reasoningContent":{"text":` + quote(c.Text) + `}}`
	case braid.ChunkSignature:
		return `{"reasoningContent":{"signature":` + quote(c.Text) + `}}`
	case braid.ChunkCallInput:
		return `{"toolUse":{"input":` + quote(c.Text) + `}}`
	case braid.ChunkBlock:
		switch b := c.Block.(type) {
		case *event.RedactedThinking:
			return `{"reasoningContent":{"redactedContent":` + quote(b.Data) + `}}`
		case *event.Citation:
			return fmt.Sprintf(`{"citation":{"title":%s,"sourceContent":[{"text":%s}],"location":{"web":{"url":%s}}}}`,
				quote(b.Title), quote(b.Quote), quote(b.URL))
		}
	default:
	}
	return ""
}

// Stopped is the end signal of a stream.
func Stopped(stop string) string {
	b := &strings.Builder{}
	say(b, "messageStop", `{"p":"abcdefghijklm","stopReason":`+quote(stop)+`}`)
	return b.String()
}

// Metadata is what follows the end signal.
func Metadata(chunks []braid.Chunk, u event.Usage) string {
	b := &strings.Builder{}
	say(b, "metadata", `{"metrics":{"latencyMs":551},"p":"abcdefghijk",`+counted(u)+trace(chunks)+`}`)
	return b.String()
}

func counted(u event.Usage) string {
	s := fmt.Sprintf(`"usage":{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d,"cacheReadInputTokens":%d,"cacheWriteInputTokens":%d`,
		u.Input, u.Output, u.Total, u.CacheRead, u.CacheWrite)
	if u.CacheWriteHour > 0 {
		s += fmt.Sprintf(`,"cacheDetails":[{"ttl":"1h","inputTokens":%d},{"ttl":"5m","inputTokens":%d}]`,
			u.CacheWriteHour, u.CacheWrite-u.CacheWriteHour)
	}
	return s + "}"
}

// trace is what a guardrail saw, where it looked
// (API_runtime_GuardrailTraceAssessment).
func trace(chunks []braid.Chunk) string {
	const saw = `{"topicPolicy":{"topics":[{"name":"Heresy","type":"DENY","action":"BLOCKED"}]}}`
	in := slices.ContainsFunc(chunks, func(c braid.Chunk) bool { return c.Kind == braid.ChunkRedactInput })
	out := slices.ContainsFunc(chunks, func(c braid.Chunk) bool { return c.Kind == braid.ChunkRedactOutput })
	if !in && !out {
		return ""
	}
	var parts []string
	if in {
		parts = append(parts, `"inputAssessment":{"gr-1":`+saw+`}`)
	}
	if out {
		parts = append(parts, `"outputAssessments":{"gr-1":[`+saw+`]}`)
	}
	return `,"trace":{"guardrail":{` + strings.Join(parts, ",") + `}}`
}

// Watched is the metadata of a call that a guardrail looked at, and let through.
func Watched(u event.Usage) string {
	b := &strings.Builder{}
	say(b, "metadata", `{"metrics":{"latencyMs":551},`+counted(u)+`,"trace":{"guardrail":{"inputAssessment":{"gr-1":{"sensitiveInformationPolicy":`+
		`{"piiEntities":[{"action":"ANONYMIZED","match":"x","type":"NAME","detected":true},`+
		`{"action":"BLOCKED","match":"y","type":"AGE","detected":false}]}}}}}}`)
	return b.String()
}

// Exception is an error in the middle of a stream, by the name that it has there,
// which begins small.
func Exception(name, message string) string {
	return string(awsframes.Append(nil, "exception", name, []byte(`{"message":`+quote(message)+`}`)))
}

// Event is any event of a stream.
func Event(name, payload string) string {
	return string(awsframes.Append(nil, "event", name, []byte(payload)))
}

// Whole is an answer that does not stream (API_runtime_Converse). Chunks of one
// index make one block.
func Whole(chunks []braid.Chunk, stop string, u event.Usage) Answer {
	type block struct {
		index     int
		text      map[braid.ChunkKind]string
		call      *braid.Chunk
		redacted  string
		reasoning bool
	}
	var list []*block
	for i := range chunks {
		c := &chunks[i]
		at := slices.IndexFunc(list, func(b *block) bool { return b.index == c.Index })
		if at < 0 {
			at = len(list)
			list = append(list, &block{index: c.Index, text: map[braid.ChunkKind]string{}})
		}
		b := list[at]
		switch c.Kind {
		case braid.ChunkCall:
			b.call = c
		case braid.ChunkBlock:
			if r, ok := c.Block.(*event.RedactedThinking); ok {
				b.redacted = r.Data
			}
		default:
			b.reasoning = b.reasoning || c.Kind == braid.ChunkThinking || c.Kind == braid.ChunkSignature
			b.text[c.Kind] += c.Text
		}
	}
	var parts []string
	for _, b := range list {
		switch {
		case b.call != nil:
			input := b.text[braid.ChunkCallInput]
			if !json.Valid([]byte(input)) {
				input = "{}"
			}
			parts = append(parts, `{"toolUse":{"toolUseId":`+quote(b.call.ID)+`,"name":`+quote(b.call.Text)+`,"input":`+input+`}}`)
		case b.redacted != "":
			parts = append(parts, `{"reasoningContent":{"redactedContent":`+quote(b.redacted)+`}}`)
		case b.reasoning:
			parts = append(parts, `{"reasoningContent":{"reasoningText":{"text":`+quote(b.text[braid.ChunkThinking])+
				`,"signature":`+quote(b.text[braid.ChunkSignature])+`}}}`)
		case b.text[braid.ChunkText] != "":
			parts = append(parts, `{"text":`+quote(b.text[braid.ChunkText])+`}`)
		}
	}
	return Answer{
		Header: map[string]string{"Content-Type": "application/json"},
		Body: `{"metrics":{"latencyMs":551},"output":{"message":{"role":"assistant","content":[` + strings.Join(parts, ",") + `]}},"stopReason":` +
			quote(stop) + `,` + counted(u) + trace(chunks) + `}`,
	}
}

func say(b *strings.Builder, name, payload string) { b.WriteString(Event(name, payload)) }

// quote is s in JSON, as the API writes it: what is no ASCII stays.
func quote(s string) string { return string(strictjson.AppendString(nil, s)) }

// wireDelta is what the server must know of its own streams.
type wireDelta struct {
	Index int `json:"contentBlockIndex"`
	Delta struct {
		Reasoning struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningContent"`
	} `json:"delta"`
}

func readDelta(payload []byte) (d wireDelta, ok bool) {
	return d, json.Unmarshal(payload, &d) == nil
}

// decodes reports whether s is base64, as blobs are in JSON.
func decodes(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	return err == nil && len(b) > 0
}
