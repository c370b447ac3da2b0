package telemetry

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"

	"github.com/braidrun/braid/event"
)

// contents are the messages that an agent got since its model's last answer, and that answer. They
// are kept only for Options.Content.
//
// The input of a call contains only the messages that are new to the model. Earlier messages are on
// the spans of earlier calls: otherwise a conversation of n cycles would be sent n times.
type contents struct {
	news []content
	// first is the agent's input.
	first []content
	// answer is its last answer.
	answer []event.Block
}

// content is one message with its Seq.
type content struct {
	seq    int64
	role   string
	blocks []event.Block
}

// input adds a message to the agent.
func (d *drive) input(a *agentSpan, e *event.Event, blocks []event.Block) {
	if !d.content {
		return
	}
	one := content{e.Seq, string(event.RoleUser), blocks}
	a.contents.news = append(a.contents.news, one)
	a.contents.first = append(a.contents.first, one)
}

// redacted replaces a redacted message.
func (d *drive) redacted(b *event.Redacted) {
	if b.Clean {
		return
	}
	for t := range d.outline.Threads() {
		for _, list := range [][]content{t.Own.contents.news, t.Own.contents.first} {
			for i := range list {
				if list[i].seq == b.Target {
					list[i].blocks = b.Shown()
				}
			}
		}
	}
}

// result adds a tool's result.
func (t *contents) result(seq int64, r *event.ToolResult) {
	t.news = append(t.news, content{seq, "tool", []event.Block{r}})
}

// answered records an answer.
func (t *contents) answered(blocks []event.Block) {
	t.news, t.answer = nil, blocks
}

// arguments returns the arguments of a call in the last answer.
func (t *contents) arguments(call string) []byte {
	for _, c := range event.CallsOf(t.answer) {
		if c.ID == call {
			return c.Args
		}
	}
	return nil
}

// newInput returns the messages that the model got since its last answer.
func (t *contents) newInput() attribute.KeyValue {
	return attribute.String(keyInputMessages, messages(t.news))
}

// answered returns the answer as an attribute.
func answered(b *event.AssistantMessage) attribute.KeyValue {
	return attribute.String(keyOutputMessages, toJSON([]message{{Role: "assistant", Parts: partsOf(b.Content), Finish: finishReason(b.Stop)}}))
}

// whole returns the agent's input and its last answer.
func (t *contents) whole() []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String(keyInputMessages, messages(t.first))}
	if t.answer != nil {
		list = append(list, attribute.String(keyOutputMessages, toJSON([]message{{Role: "assistant", Parts: partsOf(t.answer)}})))
	}
	return list
}

// called returns a tool's arguments and its result.
func called(args []byte, r *event.ToolResult) []attribute.KeyValue {
	var list []attribute.KeyValue
	if len(args) > 0 {
		list = append(list, attribute.String(keyToolArguments, string(args)))
	}
	if r != nil {
		list = append(list, attribute.String(keyToolResult, toJSON(responseOf(r))))
	}
	return list
}

// message and part are the conventions' form of a message.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  any             `json:"response,omitempty"`
	MIME      string          `json:"mime_type,omitempty"`
	Bytes     int             `json:"bytes,omitempty"`
}

func messages(list []content) string {
	out := make([]message, len(list))
	for i := range list {
		out[i] = message{Role: list[i].role, Parts: partsOf(list[i].blocks)}
	}
	return toJSON(out)
}

func partsOf(blocks []event.Block) []part {
	parts := make([]part, 0, len(blocks))
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			parts = append(parts, part{Type: "text", Content: b.Text})
		case *event.Thinking:
			parts = append(parts, part{Type: "reasoning", Content: b.Text})
		case *event.ToolCall:
			parts = append(parts, part{Type: "tool_call", ID: b.ID, Name: b.Name, Arguments: b.Args})
		case *event.ToolResult:
			parts = append(parts, part{Type: "tool_call_response", ID: b.Call, Response: responseOf(b)})
		case *event.Image:
			parts = append(parts, part{Type: "image", MIME: b.MIME, Bytes: len(b.Data)})
		case *event.Document:
			parts = append(parts, part{Type: "document", MIME: b.MIME, Name: b.Name, Bytes: len(b.Data) + len(b.Text)})
		default:
			parts = append(parts, part{Type: "other"})
		}
	}
	return parts
}

// responseOf returns a tool's result: JSON if possible, else its text.
func responseOf(r *event.ToolResult) any {
	if len(r.Structured) > 0 {
		return r.Structured
	}
	if parts := partsOf(r.Content); len(parts) != 1 || parts[0].Type != "text" {
		return parts
	}
	return event.TextOf(r.Content)
}

// toJSON encodes parts, which never fails.
func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "[]"
	}
	return string(b)
}
