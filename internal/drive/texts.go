package drive

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/guardrail"
)

func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// size writes a number of bytes for people.
func size(n int) string {
	switch {
	case n >= 10<<20:
		return strconv.Itoa(n>>20) + " MiB"
	case n >= 10<<10:
		return strconv.Itoa(n>>10) + " KiB"
	default:
		return strconv.Itoa(n) + " bytes"
	}
}

// orRedacted returns a guardrail's replacement text, or Braid's own.
func orRedacted(text string) string {
	if strings.TrimSpace(text) == "" {
		return guardrail.Redacted
	}
	return validText(text)
}

// bytesOf returns the size of the blocks' payload.
func bytesOf(blocks []event.Block) int {
	n := 0
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			n += len(b.Text)
		case *event.Image:
			n += len(b.Data)
		case *event.Document:
			n += len(b.Data) + len(b.Text)
		case *event.UnknownBlock:
			n += len(b.Raw)
		}
	}
	return n
}
