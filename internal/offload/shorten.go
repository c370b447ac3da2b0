// Package offload shortens large results of tools for a model, and reads the rest of them for it.
package offload

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
)

// ToolName is the name of the tool that reads off-loaded results.
const ToolName = "read_result"

// Sizes say which results are off-loaded.
type Sizes struct {
	// Over is the size in bytes of text that a result may have.
	Over int
	// Preview is how many bytes of a larger one a model sees, as JSON has them.
	Preview int
}

// Shorten returns what a model sees of a result that the event seq has. It returns nil for a result that is shown as it is.
func (s Sizes) Shorten(seq int64, r *event.ToolResult) []event.Block {
	if !s.large(r) {
		return nil
	}
	text := Text(r)
	head, tail := fitFront(text, s.Preview*2/3), fitBack(text, s.Preview/3)
	if len(head)+len(tail) >= len(text) {
		head, tail = text, ""
	}
	note := fmt.Sprintf("[Result %d has %d bytes. Its beginning and end follow; call %s with {\"result\":%d,\"offset\":%d} for the rest.]\n",
		seq, len(text), ToolName, seq, len(head))
	shown := note + head
	if tail != "" {
		shown += "\n…\n" + tail
	}
	blocks := []event.Block{&event.Text{Text: shown}}
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
		case *event.Document:
			if b.Text == "" {
				blocks = append(blocks, b)
			}
		default:
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// large reports whether the text of a result is over the size.
func (s Sizes) large(r *event.ToolResult) bool {
	n := len(r.Structured)
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			n += len(b.Text)
		case *event.Document:
			n += len(b.Text)
		}
	}
	return n > s.Over
}

// Text returns the text of a result, as the tool reads it.
func Text(r *event.ToolResult) string {
	var parts []string
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			parts = append(parts, b.Text)
		case *event.Document:
			if b.Text != "" {
				parts = append(parts, b.Text)
			}
		}
	}
	if s := string(r.Structured); s != "" && (len(parts) != 1 || parts[0] != s) {
		parts = append(parts, s)
	}
	return strings.Join(parts, "\n")
}

// jsonSize is how many bytes a letter takes in JSON at most.
func jsonSize(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\t' || r == '\r':
		return 2
	case r < 0x20 || r == '<' || r == '>' || r == '&' || r == 0x2028 || r == 0x2029:
		return 6
	default:
		return utf8.RuneLen(r)
	}
}

// fitFront is the longest beginning of a text that takes no more than size bytes in JSON,
// fitBack the longest end.
func fitFront(text string, size int) string {
	for i, r := range text {
		if size -= jsonSize(r); size < 0 {
			return text[:i]
		}
	}
	return text
}

func fitBack(text string, size int) string {
	at := len(text)
	for at > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:at])
		if size -= jsonSize(r); size < 0 {
			break
		}
		at -= n
	}
	return text[at:]
}
