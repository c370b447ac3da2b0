package openaitest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// API selects the API of an answer.
type API string

// The APIs.
const (
	Chat      API = "chat completions"
	Responses API = "responses"
)

// Error returns an error (guides/error-codes) in place of a stream; "" means no code.
func Error(status int, kind, code, message string) Answer {
	return Answer{
		Status: status, Header: map[string]string{"Content-Type": "application/json"},
		Body: `{"error":` + errorBody(kind, code, message) + `}`,
	}
}

func errorBody(kind, code, message string) string {
	return fmt.Sprintf(`{"message":%s,"type":%q,"param":null,"code":%s}`, quote(message), kind, orNull(code))
}

// Text returns an answer with one text that ends the turn.
func Text(api API, pieces ...string) Answer {
	chunks := make([]model.Chunk, len(pieces))
	for i, p := range pieces {
		chunks[i] = model.Chunk{Kind: model.ChunkText, Text: p}
	}
	return Stream(api, chunks, event.StopEndTurn, event.Usage{Input: 12, Output: int64(3 * len(pieces)), Total: 12 + int64(3*len(pieces))})
}

// Stream returns a complete answer: one block per index, which ends with its last chunk. A signature is the encrypted
// content of the reasoning. In Responses, a [model.ChunkBlock] with an [event.UnknownBlock] is an item: its Raw,
// unchanged. With the stop reason refusal, texts are refusals.
func Stream(api API, chunks []model.Chunk, stop event.StopReason, u event.Usage) Answer {
	return Answer{Body: Events(api, chunks, stop, u) + End(api, stop, u)}
}

// Events returns the body of [Stream] without the end signal.
func Events(api API, chunks []model.Chunk, stop event.StopReason, u event.Usage) string {
	b := Begun(api, chunks, stop)
	if api == Chat {
		b += data(chatEvent(`"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":`+quote(finish(stop))+`}]`)) +
			data(chatEvent(fmt.Sprintf(`"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
				`"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d,"audio_tokens":0},`+
				`"completion_tokens_details":{"reasoning_tokens":%d,"audio_tokens":0}}`,
				u.Input+u.CacheRead+u.CacheWrite, u.Output, u.Total, u.CacheRead, u.CacheWrite, u.Reasoning)))
	}
	return b
}

// End returns the end signal. In Responses it contains the reason and the usage.
func End(api API, stop event.StopReason, u event.Usage) string {
	if api == Chat {
		return "data: [DONE]\n\n"
	}
	kind, status, details := "response.completed", "completed", "null"
	switch stop {
	case event.StopEndTurn, event.StopToolUse, event.StopRefusal:
	default:
		kind, status = "response.incomplete", "incomplete"
		details = `{"reason":` + quote(finish(stop)) + `}`
		if stop == event.StopMaxTokens {
			details = `{"reason":"max_output_tokens"}`
		}
	}
	return named(kind, fmt.Sprintf(`{"type":%q,"response":{"id":"resp_test","object":"response","status":%q,"error":null,`+
		`"incomplete_details":%s,"model":"gpt-test","output":[],"usage":{"input_tokens":%d,`+
		`"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},`+
		`"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}},"sequence_number":99}`,
		kind, status, details, u.Input+u.CacheRead+u.CacheWrite, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.Total))
}

// finish returns the vendor's name for a stop reason.
func finish(stop event.StopReason) string {
	switch stop {
	case event.StopEndTurn, event.StopRefusal, event.StopSequence:
		return "stop"
	case event.StopToolUse:
		return "tool_calls"
	case event.StopMaxTokens:
		return "length"
	case event.StopContentFiltered:
		return "content_filter"
	default:
		return string(stop)
	}
}

// Begun returns the beginning of a stream, up to and including these chunks.
func Begun(api API, chunks []model.Chunk, stop event.StopReason) string {
	b := &strings.Builder{}
	if api == Chat {
		beginChat(b, chunks, stop)
	} else {
		beginResponses(b, chunks, stop)
	}
	return b.String()
}

// ErrorEvent returns an error in the middle of a stream.
func ErrorEvent(api API, kind, code, message string) string {
	if api == Chat {
		return data(`{"error":` + errorBody(kind, code, message) + `}`)
	}
	return named("error", `{"type":"error","error":`+errorBody(kind, code, message)+`,"sequence_number":7}`)
}

// Failed returns the end of a failed answer in Responses.
func Failed(code, message string) string {
	return named("response.failed", fmt.Sprintf(`{"type":"response.failed","response":{"id":"resp_test","status":"failed",`+
		`"error":{"code":%q,"message":%s},"model":"gpt-test","output":[],"usage":null},"sequence_number":7}`, code, quote(message)))
}

func chatEvent(rest string) string {
	return `{"id":"chatcmpl-test","object":"chat.completion.chunk","created":1782321900,"model":"gpt-test","service_tier":"default",` +
		`"system_fingerprint":"fp_test",` + rest + `,"obfuscation":"x"}`
}

func delta(member string) string {
	return chatEvent(`"usage":null,"choices":[{"index":0,"delta":{` + member + `},"logprobs":null,"finish_reason":null}]`)
}

func beginChat(b *strings.Builder, chunks []model.Chunk, stop event.StopReason) {
	b.WriteString(data(delta(`"role":"assistant","content":null,"refusal":null`)))
	var calls []int
	for _, c := range chunks {
		switch c.Kind {
		case model.ChunkText:
			member := "content"
			if stop == event.StopRefusal {
				member = "refusal"
			}
			b.WriteString(data(delta(quote(member) + `:` + quote(c.Text))))
		case model.ChunkThinking:
			b.WriteString(data(delta(`"reasoning_content":` + quote(c.Text))))
		case model.ChunkCall:
			b.WriteString(data(delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]`,
				len(calls), quote(c.ID), quote(c.Text)))))
			calls = append(calls, c.Index)
		case model.ChunkCallInput:
			b.WriteString(data(delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`,
				slices.Index(calls, c.Index), quote(c.Text)))))
		default:
		}
	}
}

// script writes the events of Responses.
type script struct {
	*strings.Builder

	n    int
	stop event.StopReason
}

// say writes an event. The members after type and number follow format.
func (s *script) say(kind, format string, args ...any) {
	s.WriteString(named(kind, fmt.Sprintf(`{"type":%q,%s,"sequence_number":%d}`, kind, fmt.Sprintf(format, args...), s.n)))
	s.n++
}

func beginResponses(b *strings.Builder, chunks []model.Chunk, stop event.StopReason) {
	s := &script{Builder: b, stop: stop}
	for _, kind := range []string{"response.created", "response.in_progress"} {
		s.say(kind, `"response":{"id":"resp_test","object":"response","status":"in_progress","error":null,"incomplete_details":null,`+
			`"model":"gpt-test","output":[],"usage":null}`)
	}
	last := map[int]int{}
	for i, c := range chunks {
		last[c.Index] = i
	}
	items := map[int]*said{}
	for i, c := range chunks {
		it := items[c.Index]
		if it == nil {
			it = &said{output: len(items), first: c}
			items[c.Index] = it
			s.begin(it)
		}
		s.more(it, &c)
		if last[c.Index] == i {
			s.finish(it)
		}
	}
}

// said is an item that is being written.
type said struct {
	output int
	first  model.Chunk
	text   string
	sealed string
	parts  bool
}

func (s *script) begin(it *said) {
	switch it.first.Kind {
	case model.ChunkThinking, model.ChunkSignature:
		s.say("response.output_item.added", `"item":{"id":"rs_%d","type":"reasoning","content":[],"summary":[]},"output_index":%d`,
			it.output, it.output)
	case model.ChunkCall:
		s.say("response.output_item.added", `"item":{"id":"fc_%d","type":"function_call","status":"in_progress","arguments":"","call_id":%s,`+
			`"name":%s},"output_index":%d`, it.output, quote(it.first.ID), quote(it.first.Text), it.output)
	case model.ChunkBlock:
	default:
		s.say("response.output_item.added", `"item":{"id":"msg_%d","type":"message","status":"in_progress","content":[],"role":"assistant"},`+
			`"output_index":%d`, it.output, it.output)
		s.say("response.content_part.added", `"content_index":0,"item_id":"msg_%d","output_index":%d,"part":%s`, it.output, it.output, s.part(""))
	}
}

func (s *script) part(text string) string {
	if s.stop == event.StopRefusal {
		return `{"type":"refusal","refusal":` + quote(text) + `}`
	}
	return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quote(text) + `}`
}

func (s *script) more(it *said, c *model.Chunk) {
	switch c.Kind {
	case model.ChunkText:
		it.text += c.Text
		kind := "response.output_text.delta"
		if s.stop == event.StopRefusal {
			kind = "response.refusal.delta"
		}
		s.say(kind, `"content_index":0,"delta":%s,"item_id":"msg_%d","logprobs":[],"obfuscation":"xy","output_index":%d`,
			quote(c.Text), it.output, it.output)
	case model.ChunkThinking:
		if !it.parts {
			it.parts = true
			s.say("response.reasoning_summary_part.added", `"item_id":"rs_%d","output_index":%d,`+
				`"part":{"type":"summary_text","text":""},"summary_index":0`,
				it.output, it.output)
		}
		it.text += c.Text
		s.say("response.reasoning_summary_text.delta", `"delta":%s,"item_id":"rs_%d","output_index":%d,"summary_index":0`,
			quote(c.Text), it.output, it.output)
	case model.ChunkSignature:
		it.sealed += c.Text
	case model.ChunkCallInput:
		it.text += c.Text
		s.say("response.function_call_arguments.delta", `"delta":%s,"item_id":"fc_%d","obfuscation":"z","output_index":%d`,
			quote(c.Text), it.output, it.output)
	default:
	}
}

func (s *script) finish(it *said) {
	switch it.first.Kind {
	case model.ChunkThinking, model.ChunkSignature:
		summary, sealed := "", ""
		if it.text != "" {
			summary = `{"type":"summary_text","text":` + quote(it.text) + `}`
			s.say("response.reasoning_summary_text.done", `"item_id":"rs_%d","output_index":%d,"summary_index":0,"text":%s`,
				it.output, it.output, quote(it.text))
		}
		if it.sealed != "" {
			sealed = `,"encrypted_content":` + quote(it.sealed)
		}
		s.say("response.output_item.done", `"item":{"id":"rs_%d","type":"reasoning","content":[],"summary":[%s]%s},"output_index":%d`,
			it.output, summary, sealed, it.output)
	case model.ChunkCall:
		s.say("response.function_call_arguments.done", `"arguments":%s,"item_id":"fc_%d","output_index":%d`, quote(it.text), it.output, it.output)
		s.say("response.output_item.done", `"item":{"id":"fc_%d","type":"function_call","status":"completed","arguments":%s,"call_id":%s,`+
			`"name":%s},"output_index":%d`, it.output, quote(it.text), quote(it.first.ID), quote(it.first.Text), it.output)
	case model.ChunkBlock:
		if u, ok := it.first.Block.(*event.UnknownBlock); ok {
			s.say("response.output_item.done", `"item":%s,"output_index":%d`, u.Raw, it.output)
		}
	default:
		s.say("response.content_part.done", `"content_index":0,"item_id":"msg_%d","output_index":%d,"part":%s`, it.output, it.output, s.part(it.text))
		s.say("response.output_item.done", `"item":{"id":"msg_%d","type":"message","status":"completed","content":[%s],"role":"assistant"},`+
			`"output_index":%d`, it.output, s.part(it.text), it.output)
	}
}

func data(s string) string { return "data: " + s + "\n\n" }

func named(name, s string) string { return "event: " + name + "\ndata: " + s + "\n\n" }

// quote returns s as JSON.
func quote(s string) string { return string(strictjson.AppendString(nil, s)) }

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return quote(s)
}
