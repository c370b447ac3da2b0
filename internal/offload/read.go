package offload

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// Args are the arguments of the tool that reads off-loaded results.
type Args struct {
	Result int64  `json:"result"           jsonschema:"the number of the result, as it was shown"`
	Offset int    `json:"offset,omitempty" jsonschema:"the byte to begin at; 0 is the beginning"`
	Length int    `json:"length,omitempty" jsonschema:"how many bytes to read; 0 is as many as may be"`
	Find   string `json:"find,omitempty"   jsonschema:"a text to look for from offset on, instead of reading"`
}

// Invalid returns the error for arguments that name nothing to read.
func Invalid(message, hint string) error {
	return &event.Error{Op: ToolName, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// Read reads a part of the text of a result, or searches in it. It returns about most bytes at
// most.
func (in *Args) Read(text string, most int) (string, error) {
	if in.Offset < 0 || in.Offset > len(text) || in.Length < 0 {
		return "", Invalid(fmt.Sprintf("the result has %d bytes, and there is nothing at byte %d", len(text), in.Offset), "begin within it")
	}
	from := in.Offset
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	if in.Find != "" {
		return findAll(text, from, in.Find, most), nil
	}
	if in.Length > 0 {
		most = min(most, max(in.Length, utf8.UTFMax))
	}
	to := min(from+most, len(text))
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	return fmt.Sprintf("[bytes %d to %d of %d]\n%s", from, to, len(text), text[from:to]), nil
}

// findAll lists where a text occurs from a place on, in about so many bytes.
func findAll(text string, from int, what string, most int) string {
	const around = 80
	var sb strings.Builder
	found, last, at := 0, from, from
	for {
		i := strings.Index(text[at:], what)
		if i < 0 {
			break
		}
		at += i
		if found > 0 && sb.Len()+2*around+len(what) > most {
			return fmt.Sprintf("[found %d times before byte %d; there is more: look on from there]\n%s", found, at, sb.String())
		}
		found++
		begin, end := max(at-around, last), min(at+len(what)+around, len(text))
		for !utf8.RuneStart(text[begin]) {
			begin++
		}
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		fmt.Fprintf(&sb, "[byte %d] %s\n", at, fold.CutText(text[begin:end], most, most/2, most/4))
		at += len(what)
		last = at
	}
	if found == 0 {
		return fmt.Sprintf("[not found from byte %d on]", from)
	}
	return fmt.Sprintf("[found %d times from byte %d on]\n%s", found, from, sb.String())
}
