package fold

import (
	"fmt"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
)

// A cut keeps the first and the last cutEnds characters of a tool's text that is longer than cutOver characters. These
// are the figures of Strands.
const (
	cutOver = 400
	cutEnds = 200
)

// cutResult returns a shortened result: both ends of long text, and a placeholder for media. It returns r itself if
// nothing is shortened.
func cutResult(r *event.ToolResult) *event.ToolResult {
	cut := *r
	cut.Content = nil
	changed := false
	for _, b := range r.Content {
		c := cutBlock(b)
		changed = changed || c != b
		cut.Content = append(cut.Content, c)
	}
	if len(r.Structured) > cutOver {
		cut.Structured, changed = nil, true
	}
	if !changed {
		return r
	}
	return &cut
}

func cutBlock(b event.Block) event.Block {
	switch b := b.(type) {
	case *event.Text:
		if text := CutText(b.Text, cutOver, cutEnds, cutEnds); text != b.Text {
			return &event.Text{Text: text}
		}
	case *event.Image, *event.Document, *event.Media:
		return &event.Text{Text: MediaText(b)}
	}
	return b
}

// CutText removes the middle of a text with more than over characters. It keeps the first head and the last tail
// characters.
func CutText(text string, over, head, tail int) string {
	if len(text) <= over {
		return text
	}
	n := utf8.RuneCountInString(text)
	if n <= over {
		return text
	}
	from, to := 0, len(text)
	for range head {
		_, size := utf8.DecodeRuneInString(text[from:])
		from += size
	}
	for range tail {
		_, size := utf8.DecodeLastRuneInString(text[:to])
		to -= size
	}
	return fmt.Sprintf("%s\n… [%d characters are left out here] …\n%s", text[:from], n-head-tail, text[to:])
}

// MediaText returns the text that replaces an image or a file that is not shown.
func MediaText(b event.Block) string {
	switch b := b.(type) {
	case *event.Image:
		return fmt.Sprintf("[image: %s, %d bytes]", b.MIME, len(b.Data))
	case *event.Document:
		return fmt.Sprintf("[document: %s, %d bytes]", b.Name, len(b.Data)+len(b.Text))
	case *event.Media:
		return fmt.Sprintf("[%s: %s]", b.Media, b.MIME)
	default:
		return "[something that is no text]"
	}
}

// cutResults returns the blocks with shortened tool results.
func cutResults(blocks []event.Block) []event.Block {
	cut := make([]event.Block, len(blocks))
	for i, b := range blocks {
		cut[i] = b
		if r, ok := b.(*event.ToolResult); ok {
			cut[i] = cutResult(r)
		}
	}
	return cut
}
