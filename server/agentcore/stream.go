package agentcore

import (
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/shorten"
	"github.com/braidrun/braid/server/front"
)

// Stream selects the optional parts of a stream.
type Stream struct {
	// Data repeats each piece as {"data", "delta"} and as tool_use_stream, as Strands derives
	// them (the seed's kind 4, as JSON and never as a printed dict).
	Data bool
	// ToolUse announces each call as {"tool_name", "type": "tool_use", "debug_data"} (the seed's
	// kind 7).
	ToolUse bool
	// ASCII escapes all other characters as \uXXXX.
	ASCII bool
}

// ParseStream parses a list of the words data, tool_use and ascii. The error is
// [event.ErrInvalid].
func ParseStream(list []string) (Stream, error) {
	var s Stream
	for _, word := range list {
		switch strings.TrimSpace(word) {
		case "":
		case "data":
			s.Data = true
		case "tool_use":
			s.ToolUse = true
		case "ascii":
			s.ASCII = true
		default:
			return Stream{}, front.Bad("there is no stream option "+strconv.Quote(shorten.Text(word, 40, "…")), "use data, tool_use or ascii")
		}
	}
	return s, nil
}
