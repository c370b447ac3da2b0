package anthropic

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/bound"
)

// binding computes the signatures' stamps while an answer streams. It encodes each block as
// later requests will send it, because a stamp covers everything before the thinking.
type binding struct {
	stamper *bound.Stamper
	e       encoder
	// lossy is set if a block was received that is not sent back unchanged. Later thinking then
	// gets no stamp, and is left out of later requests.
	lossy bool

	// The open block: its index and type, its content so far, and the stamp of everything
	// before it.
	index    int
	kind     string
	text     []byte
	opaque   []byte
	id, name string
	other    *event.UnknownBlock
	stamp    string
}

func newBinding(a *asked) *binding {
	b := &binding{stamper: a.kept.Stamper()}
	b.e.compacts = a.compacts
	if a.open != nil {
		b.e.dst = a.open
	} else {
		b.e.open()
	}
	return b
}

// begin opens a block.
func (b *binding) begin(index int, kind string) {
	b.lossy = b.lossy || b.kind != "" // two at once
	b.index, b.kind, b.text, b.opaque, b.id, b.name, b.other = index, kind, b.text[:0], b.opaque[:0], "", "", nil
	b.stamp = ""
	if !b.lossy && (kind == "thinking" || kind == "redacted_thinking") {
		b.stamp = b.stamper.Stamp(b.e.dst)
	}
}

// call sets the id and the tool name of the open block.
func (b *binding) call(id, name string) { b.id, b.name = id, name }

// piece appends a delta to the open block.
func (b *binding) piece(index int, kind, text string) {
	switch {
	case index != b.index || b.kind == "":
		b.lossy = true
	case kind == "signature_delta":
		b.opaque = append(b.opaque, text...)
	default:
		b.text = append(b.text, text...)
	}
}

// end closes the open block.
func (b *binding) end(index int) {
	if index != b.index || b.kind == "" {
		return
	}
	switch b.kind {
	case "thinking", "redacted_thinking":
		b.lossy = b.lossy || !utf8.Valid(b.text) || !ours(string(b.opaque))
		b.stamper.Made(string(b.opaque))
	case "text":
		b.lossy = b.lossy || !utf8.Valid(b.text) || strings.TrimSpace(string(b.text)) == ""
		b.e.text(string(b.text))
		if b.other != nil {
			b.e.vendors(b.other)
		}
	case "tool_use":
		args := bytes.TrimSpace(b.text)
		if len(args) == 0 {
			args = []byte("{}")
		}
		b.lossy = b.lossy || args[0] != '{' || strictjson.Check(args, strictjson.DefaultDepth) != nil
		b.e.call(&event.ToolCall{ID: b.id, Name: b.name, Args: args})
	default:
		if b.other == nil {
			b.lossy = true
		} else {
			b.e.vendors(b.other)
		}
	}
	b.kind = ""
}
