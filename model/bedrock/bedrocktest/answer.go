package bedrocktest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awsframe"
)

const streamType = "application/vnd.amazon.eventstream"

// Error returns an error of the API in place of an answer, by the name of its exception.
func Error(status int, exception, message string) Answer {
	return Answer{
		Status: status,
		Header: map[string]string{
			"Content-Type": "application/json", "X-Amzn-Errortype": exception + ":http://internal.amazon.com/coral/com.amazon.bedrock/",
		},
		Body: `{"message":` + quote(message) + `}`,
	}
}

// Counted returns the answer to a count of tokens.
func Counted(tokens int64) Answer {
	return Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: fmt.Sprintf(`{"inputTokens":%d}`, tokens)}
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
// its last chunk. The stop reason is the API's name for it. The trace contains what a guardrail redacts.
func Stream(chunks []model.Chunk, stop string, u event.Usage) Answer {
	return Answer{Body: Begun(chunks) + Stopped(stop) + Metadata(chunks, u)}
}

// Begun returns the beginning of a stream, up to and including these chunks.
func Begun(chunks []model.Chunk) string {
	b := &strings.Builder{}
	say(b, "messageStart", `{"p":"abcdefgh","role":"assistant"}`)
	last := map[int]int{}
	for i, c := range chunks {
		last[c.Index] = i
	}
	var open []int
	for i, c := range chunks {
		if c.Kind == model.ChunkRedactInput || c.Kind == model.ChunkRedactOutput {
			continue
		}
		if !slices.Contains(open, c.Index) {
			open = append(open, c.Index)
			if c.Kind == model.ChunkCall {
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

// delta returns a chunk as a piece of its block.
func delta(c *model.Chunk) string {
	switch c.Kind {
	case model.ChunkText:
		return `{"text":` + quote(c.Text) + `}`
	case model.ChunkThinking:
		return `{"reasoningContent":{"text":` + quote(c.Text) + `}}`
	case model.ChunkSignature:
		return `{"reasoningContent":{"signature":` + quote(c.Text) + `}}`
	case model.ChunkCallInput:
		return `{"toolUse":{"input":` + quote(c.Text) + `}}`
	case model.ChunkBlock:
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

// Stopped returns the end signal of a stream.
func Stopped(stop string) string {
	b := &strings.Builder{}
	say(b, "messageStop", `{"p":"abcdefghijklm","stopReason":`+quote(stop)+`}`)
	return b.String()
}

// Metadata returns what follows the end signal.
func Metadata(chunks []model.Chunk, u event.Usage) string {
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

// trace returns what a guardrail found (API_runtime_GuardrailTraceAssessment).
func trace(chunks []model.Chunk) string {
	const saw = `{"topicPolicy":{"topics":[{"name":"Heresy","type":"DENY","action":"BLOCKED"}]}}`
	in := slices.ContainsFunc(chunks, func(c model.Chunk) bool { return c.Kind == model.ChunkRedactInput })
	out := slices.ContainsFunc(chunks, func(c model.Chunk) bool { return c.Kind == model.ChunkRedactOutput })
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

// Watched returns the metadata of a call that a guardrail allowed.
func Watched(u event.Usage) string {
	b := &strings.Builder{}
	say(b, "metadata", `{"metrics":{"latencyMs":551},`+counted(u)+`,"trace":{"guardrail":{"inputAssessment":{"gr-1":{"sensitiveInformationPolicy":`+
		`{"piiEntities":[{"action":"ANONYMIZED","match":"x","type":"NAME","detected":true},`+
		`{"action":"BLOCKED","match":"y","type":"AGE","detected":false}]}}}}}}`)
	return b.String()
}

// Exception returns an error in the middle of a stream, by its name there, which begins with a lower-case letter.
func Exception(name, message string) string {
	return string(awsframe.Append(nil, "exception", name, []byte(`{"message":`+quote(message)+`}`)))
}

// Event returns any event of a stream.
func Event(name, payload string) string {
	return string(awsframe.Append(nil, "event", name, []byte(payload)))
}

// Whole returns an answer that is not streamed (API_runtime_Converse). Its calls have the "type" of recorded answers
// of Claude 4.5 and later. Chunks with one index make one block.
func Whole(chunks []model.Chunk, stop string, u event.Usage) Answer {
	type block struct {
		index     int
		text      map[model.ChunkKind]string
		call      *model.Chunk
		redacted  string
		reasoning bool
	}
	var list []*block
	for i := range chunks {
		c := &chunks[i]
		at := slices.IndexFunc(list, func(b *block) bool { return b.index == c.Index })
		if at < 0 {
			at = len(list)
			list = append(list, &block{index: c.Index, text: map[model.ChunkKind]string{}})
		}
		b := list[at]
		switch c.Kind {
		case model.ChunkCall:
			b.call = c
		case model.ChunkBlock:
			if r, ok := c.Block.(*event.RedactedThinking); ok {
				b.redacted = r.Data
			}
		default:
			b.reasoning = b.reasoning || c.Kind == model.ChunkThinking || c.Kind == model.ChunkSignature
			b.text[c.Kind] += c.Text
		}
	}
	var parts []string
	for _, b := range list {
		switch {
		case b.call != nil:
			input := b.text[model.ChunkCallInput]
			if !json.Valid([]byte(input)) {
				input = "{}"
			}
			parts = append(parts, `{"toolUse":{"toolUseId":`+quote(b.call.ID)+`,"name":`+quote(b.call.Text)+`,"input":`+input+`,"type":"tool_use"}}`)
		case b.redacted != "":
			parts = append(parts, `{"reasoningContent":{"redactedContent":`+quote(b.redacted)+`}}`)
		case b.reasoning:
			parts = append(parts, `{"reasoningContent":{"reasoningText":{"text":`+quote(b.text[model.ChunkThinking])+
				`,"signature":`+quote(b.text[model.ChunkSignature])+`}}}`)
		case b.text[model.ChunkText] != "":
			parts = append(parts, `{"text":`+quote(b.text[model.ChunkText])+`}`)
		}
	}
	return Answer{
		Header: map[string]string{"Content-Type": "application/json"},
		Body: `{"metrics":{"latencyMs":551},"output":{"message":{"role":"assistant","content":[` + strings.Join(parts, ",") + `]}},"stopReason":` +
			quote(stop) + `,` + counted(u) + trace(chunks) + `}`,
	}
}

func say(b *strings.Builder, name, payload string) { b.WriteString(Event(name, payload)) }

// quote returns s as JSON in the API's form, which does not escape non-ASCII characters.
func quote(s string) string { return string(strictjson.AppendString(nil, s)) }

// wireDelta holds the parts of the server's own streams that it reads.
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
