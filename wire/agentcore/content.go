package agentcore

import (
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
)

// appendMessage appends an assistant's message.
func (enc *Encoder) appendMessage(dst []byte, content []event.Block) []byte {
	dst = append(dst, `{"role": "assistant", "content": [`...)
	first := true
	for _, b := range content {
		before := len(dst)
		if !first {
			dst = append(dst, ", "...)
		}
		from := len(dst)
		if dst = enc.appendBlock(dst, b); len(dst) == from {
			dst = dst[:before]
			continue
		}
		first = false
	}
	return append(dst, "]}"...)
}

// appendBlock appends a block; nothing if Strands has no form for it.
func (enc *Encoder) appendBlock(dst []byte, b event.Block) []byte {
	switch b := b.(type) {
	case *event.Text:
		dst = append(dst, `{"text": `...)
		return append(appendQuoted(dst, b.Text, enc.ASCII), '}')
	case *event.ToolCall:
		dst = append(dst, `{"toolUse": `...)
		return append(enc.appendUse(dst, b), '}')
	case *event.Thinking:
		dst = append(dst, `{"reasoningContent": {"reasoningText": {"text": `...)
		dst = appendQuoted(dst, b.Text, enc.ASCII)
		if b.Signature != "" {
			dst = append(dst, `, "signature": `...)
			dst = appendQuoted(dst, b.Signature, enc.ASCII)
		}
		return append(dst, "}}}"...)
	case *event.RedactedThinking:
		dst = append(dst, `{"reasoningContent": {"redactedContent": `...)
		return append(appendQuoted(dst, b.Data, enc.ASCII), "}}"...)
	default:
		return dst
	}
}

func (enc *Encoder) appendUse(dst []byte, c *event.ToolCall) []byte {
	dst = append(dst, `{"toolUseId": `...)
	dst = appendQuoted(dst, c.ID, enc.ASCII)
	dst = append(dst, `, "name": `...)
	dst = appendQuoted(dst, c.Name, enc.ASCII)
	dst = append(dst, `, "input": `...)
	if len(c.Args) == 0 {
		return append(dst, "{}}"...)
	}
	return append(appendValue(dst, c.Args, enc.ASCII), '}')
}

func (enc *Encoder) appendResult(dst []byte, r *event.ToolResult) []byte {
	dst = append(dst, `{"toolResult": {"toolUseId": `...)
	dst = appendQuoted(dst, r.Call, enc.ASCII)
	status := `, "status": "success", "content": [`
	if r.IsError {
		status = `, "status": "error", "content": [`
	}
	dst = append(dst, status...)
	first := true
	for _, b := range r.Content {
		t, ok := b.(*event.Text)
		if !ok {
			continue
		}
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(dst, `{"text": `...)
		dst = append(appendQuoted(dst, t.Text, enc.ASCII), '}')
	}
	if len(r.Structured) > 0 {
		if !first {
			dst = append(dst, ", "...)
		}
		dst = append(dst, `{"json": `...)
		dst = append(appendValue(dst, r.Structured, enc.ASCII), '}')
	}
	return append(dst, "]}}"...)
}

// appendSeconds appends a duration in seconds, as a Python int if it is whole.
func appendSeconds(dst []byte, d time.Duration) []byte {
	if d%time.Second == 0 {
		return strconv.AppendInt(dst, int64(d/time.Second), 10)
	}
	return appendFloat(dst, d.Seconds())
}

// stopWord returns Strands' word for a stop reason. Reasons that Strands lacks keep our word,
// because the set is open.
func stopWord(s event.StopReason) string {
	switch s {
	case event.StopQuestion:
		return "interrupt"
	case event.StopLimitCycles:
		return "limit_turns"
	case "":
		return string(event.StopEndTurn)
	default:
		return string(s)
	}
}
