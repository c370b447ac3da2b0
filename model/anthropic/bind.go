package anthropic

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/bound"
)

// binding stamps the thinking of an answer while it comes. It writes the answer's
// blocks as they will be sent back, because that is what stands before later ones.
type binding struct {
	stamper *bound.Stamper
	e       encoder
	// lossy says that something came that is not sent back as it came. What the model
	// thought behind it cannot be sent at all.
	lossy bool

	// Of the block that is open: its index and type, what came of it, and the stamp of
	// what stands before it.
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

// call says which tool the open block calls.
func (b *binding) call(id, name string) { b.id, b.name = id, name }

// piece adds to the open block.
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
