package telemetry

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"

	"github.com/braidrun/braid/event"
)

// talk is what an agent has heard since its model answered last, and its last answer. It is
// kept only where content is wanted.
//
// A call's input is what is new to the model: what was said before stands on the spans of
// the calls before, because a conversation of n cycles would else be sent n times over.
type talk struct {
	news []said
	// first is what the agent was asked, answer what it said last.
	first  []said
	answer []event.Block
}

// said is one message, and where it stands in the log.
type said struct {
	seq    int64
	role   string
	blocks []event.Block
}

// heard takes in what a person, or an agent, says to the agent.
func (d *drive) heard(a *agentSpan, e *event.Event, blocks []event.Block) {
	if !d.content {
		return
	}
	one := said{e.Seq, string(event.RoleUser), blocks}
	a.talk.news = append(a.talk.news, one)
	a.talk.first = append(a.talk.first, one)
}

// redacted puts what stands in its place where something was taken back.
func (d *drive) redacted(b *event.Redacted) {
	if b.Clean {
		return
	}
	for t := range d.outline.Threads() {
		for _, list := range [][]said{t.Own.talk.news, t.Own.talk.first} {
			for i := range list {
				if list[i].seq == b.Target {
					list[i].blocks = b.Shown()
				}
			}
		}
	}
}

// result takes in a tool's result.
func (t *talk) result(seq int64, r *event.ToolResult) {
	t.news = append(t.news, said{seq, "tool", []event.Block{r}})
}

// said takes in an answer.
func (t *talk) said(blocks []event.Block) {
	t.news, t.answer = nil, blocks
}

// arguments are those of a call of the last answer.
func (t *talk) arguments(call string) []byte {
	for _, c := range event.CallsOf(t.answer) {
		if c.ID == call {
			return c.Args
		}
	}
	return nil
}

// asked is what a model was told since its last answer.
func (t *talk) asked() attribute.KeyValue {
	return attribute.String(keyInputMessages, messages(t.news))
}

// answered is what it said.
func answered(b *event.AssistantMessage) attribute.KeyValue {
	return attribute.String(keyOutputMessages, toJSON([]message{{Role: "assistant", Parts: partsOf(b.Content), Finish: finishReason(b.Stop)}}))
}

// whole is what the agent was asked, and what it said at last.
func (t *talk) whole() []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String(keyInputMessages, messages(t.first))}
	if t.answer != nil {
		list = append(list, attribute.String(keyOutputMessages, toJSON([]message{{Role: "assistant", Parts: partsOf(t.answer)}})))
	}
	return list
}

// called is what a tool was given, and what it gave back.
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

// message and part are the conventions' form of what is said.
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

func messages(list []said) string {
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

// responseOf is a tool's result: JSON where it is some, else its text.
func responseOf(r *event.ToolResult) any {
	if len(r.Structured) > 0 {
		return r.Structured
	}
	if parts := partsOf(r.Content); len(parts) != 1 || parts[0].Type != "text" {
		return parts
	}
	return event.TextOf(r.Content)
}

// toJSON writes what is made of parts, which always can be.
func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "[]"
	}
	return string(b)
}
