package bedrock

import (
	"strings"

	"github.com/braidrun/braid/event"
)

// content writes a block of a user message or of a tool result.
func (e *encoder) content(b event.Block) {
	switch b := b.(type) {
	case *event.Text:
		e.text(b.Text)
	case *event.Image:
		e.image(b)
	case *event.Document:
		e.document(b)
	case *event.Media:
		e.media(b)
	case *event.Code:
		e.text("```" + b.Language + "\n" + b.Code + "\n```")
	case *event.CodeResult:
		e.text(b.Output)
	case *event.Citation:
		e.text(strings.TrimSpace(b.Quote + " " + b.URL))
	default: // thinking and calls belong to assistant messages; unknown kinds belong to other vendors
	}
}
