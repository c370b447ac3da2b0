package geminitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// Error returns an error of the API (docs/troubleshooting) in place of a stream. Details are objects of google.rpc,
// such as [RetryIn] and [Reason].
func Error(status int, kind, message string, details ...string) Answer {
	return Answer{
		Status: status, Header: map[string]string{"Content-Type": "application/json; charset=UTF-8"},
		Body: errorBody(status, kind, message, details),
	}
}

func errorBody(status int, kind, message string, details []string) string {
	b := "{\n  \"error\": {\n    \"code\": " + strconv.Itoa(status) + ",\n    \"message\": " + quote(message) + ",\n    \"status\": " + quote(kind)
	if len(details) > 0 {
		b += ",\n    \"details\": [\n      " + strings.Join(details, ",\n      ") + "\n    ]"
	}
	return b + "\n  }\n}\n"
}

// RetryIn returns the detail that asks to wait.
func RetryIn(d time.Duration) string {
	return `{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "` + strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + `s"}`
}

// Reason returns the detail with an error's reason.
func Reason(reason string) string {
	return fmt.Sprintf(`{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": %q, "domain": "googleapis.com", `+
		`"metadata": {"service": "generativelanguage.googleapis.com"}}`, reason)
}

// Text returns an answer with one text that ends the turn.
func Text(pieces ...string) Answer {
	chunks := make([]model.Chunk, len(pieces))
	for i, p := range pieces {
		chunks[i] = model.Chunk{Kind: model.ChunkText, Text: p}
	}
	return Stream(chunks, "STOP", event.Usage{Input: 12, Output: int64(3 * len(pieces))})
}

// Stream returns a complete answer. The chunks come as in a stream of the API: each in its own event, except a call,
// which comes complete with its last chunk. Signatures are without the mark that Braid adds to them. The reason is
// the API's name for the stop reason.
func Stream(chunks []model.Chunk, reason string, u event.Usage) Answer {
	return Answer{Body: Begun(chunks, u) + End(reason, u)}
}

// End returns the last event of a stream, which has the stop reason.
func End(reason string, u event.Usage) string {
	return say(`"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": `+quote(reason)+`,"index": 0}]`, u)
}

// Blocked returns the only event of an answer to a blocked prompt.
func Blocked(reason string, u event.Usage) string {
	return say(`"promptFeedback": {"blockReason": `+quote(reason)+`}`, event.Usage{Input: u.Input, Total: u.Input})
}

// Begun returns the beginning of a stream, up to and including these chunks.
func Begun(chunks []model.Chunk, u event.Usage) string {
	b := &strings.Builder{}
	last := map[int]int{}
	calls := map[int]*called{}
	kinds := map[int]model.ChunkKind{}
	for i, c := range chunks {
		last[c.Index] = i
	}
	for i, c := range chunks {
		if k, ok := kinds[c.Index]; !ok || (k == model.ChunkSignature && c.Kind != model.ChunkSignature) {
			kinds[c.Index] = c.Kind
		}
		if call := calls[c.Index]; call != nil || c.Kind == model.ChunkCall {
			if call == nil {
				call = &called{}
				calls[c.Index] = call
			}
			call.take(c)
			if last[c.Index] == i {
				b.WriteString(said(call.part(), u))
			}
			continue
		}
		if p := partOf(c, kinds[c.Index]); p != "" {
			b.WriteString(said(p, u))
		}
	}
	return b.String()
}

// called is a call that is being collected.
type called struct{ id, name, args, signature string }

func (c *called) take(k model.Chunk) {
	switch k.Kind {
	case model.ChunkCall:
		c.id, c.name = k.ID, k.Text
	case model.ChunkCallInput:
		c.args += k.Text
	case model.ChunkSignature:
		c.signature += k.Text
	default:
	}
}

func (c *called) part() string {
	args := c.args
	if args == "" {
		args = "{}"
	}
	p := `{"functionCall": {"name": ` + quote(c.name) + `,"args": ` + args
	if c.id != "" {
		p += `,"id": ` + quote(c.id)
	}
	return p + `}` + signature(c.signature) + `}`
}

// id returns the member for an id; "" means none.
func id(s string) string {
	if s == "" {
		return ""
	}
	return `,"id": ` + quote(s)
}

func signature(s string) string {
	if s == "" {
		return ""
	}
	return `,"thoughtSignature": ` + quote(s)
}

// partOf returns a chunk as a part. kind is the kind of its block.
func partOf(c model.Chunk, kind model.ChunkKind) string {
	switch c.Kind {
	case model.ChunkText:
		return `{"text": ` + quote(c.Text) + `}`
	case model.ChunkThinking:
		return `{"text": ` + quote(c.Text) + `,"thought": true}`
	case model.ChunkSignature:
		if kind == model.ChunkText {
			return `{"text": ""` + signature(c.Text) + `}`
		}
		return `{"text": "","thought": true` + signature(c.Text) + `}`
	case model.ChunkBlock:
		switch k := c.Block.(type) {
		case *event.Code:
			return `{"executableCode": {"language": ` + quote(strings.ToUpper(k.Language)) + `,"code": ` + quote(k.Code) + id(k.ID) + `}` +
				signature(k.Signature) + `}`
		case *event.CodeResult:
			return `{"codeExecutionResult": {"outcome": "OUTCOME_OK","output": ` + quote(k.Output) + id(k.ID) + `}` +
				signature(k.Signature) + `}`
		case *event.UnknownBlock:
			return string(k.Raw) // a part of the vendor's own
		case *event.Image:
			return `{"inlineData": {"mimeType": ` + quote(k.MIME) + `,"data": "` + base64.StdEncoding.EncodeToString(k.Data) + `"}}`
		}
	default:
	}
	return ""
}

func said(part string, u event.Usage) string {
	return say(`"candidates": [{"content": {"parts": [`+part+`],"role": "model"},"index": 0}]`, u)
}

// say returns an event with these members and the token counts.
func say(members string, u event.Usage) string {
	total := u.Total
	prompt := u.Input + u.CacheRead
	if total == 0 {
		total = prompt + u.Output
	}
	counts := fmt.Sprintf(`{"promptTokenCount": %d,"candidatesTokenCount": %d,"totalTokenCount": %d`, prompt, u.Output-u.Reasoning, total)
	if u.CacheRead > 0 {
		counts += fmt.Sprintf(`,"cachedContentTokenCount": %d`, u.CacheRead)
	}
	counts += fmt.Sprintf(`,"promptTokensDetails": [{"modality": "TEXT","tokenCount": %d}]`, prompt)
	if u.Reasoning > 0 {
		counts += fmt.Sprintf(`,"thoughtsTokenCount": %d`, u.Reasoning)
	}
	return "data: {" + members + `,"usageMetadata": ` + counts + `},"modelVersion": "gemini-test","responseId": "resp-test"}` + "\r\n\r\n"
}

// ErrorEvent returns an error as an event in the middle of a stream.
func ErrorEvent(status int, kind, message string) string {
	return fmt.Sprintf("data: {\"error\": {\"code\": %d,\"message\": %s,\"status\": %q}}\r\n\r\n", status, quote(message), kind)
}

// ErrorText returns an error at the end of a stream that is not an event. The API uses both forms.
func ErrorText(status int, kind, message string, details ...string) string {
	return errorBody(status, kind, message, details)
}

// quote returns s as JSON in the API's form, which does not escape non-ASCII characters.
func quote(s string) string { return string(strictjson.AppendString(nil, s)) }

// learn records the signatures in a stream, because the server accepts no others.
func (s *Server) learn(a Answer) {
	for line := range bytes.Lines([]byte(a.Body)) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var e struct {
			Candidates []struct {
				Content struct {
					Parts []object `json:"parts"`
				} `json:"content"`
			} `json:"candidates"`
		}
		if !ok || json.Unmarshal(data, &e) != nil {
			continue
		}
		for _, c := range e.Candidates {
			for _, p := range c.Content.Parts {
				var signature string
				if json.Unmarshal(p["thoughtSignature"], &signature) == nil && signature != "" {
					s.Trust(signature, labelOf(p))
				}
			}
		}
	}
}

// labelOf returns a part's label for [Server.Trust].
func labelOf(p object) string {
	for _, kind := range dataMembers {
		switch {
		case p[kind] == nil:
		case kind == "functionCall":
			var call struct {
				Name string `json:"name"`
			}
			_ = json.Unmarshal(p[kind], &call) // a call without a name was refused before
			return "call " + call.Name
		case kind == "text" && string(p["thought"]) == "true":
			return "thought"
		default:
			return kind
		}
	}
	return ""
}
