package toolservers

import (
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/unseen"
)

// ourTags matches tags that this service writes into prompts, or that models may take for its word.
var ourTags = lazyre.New(`(?i)<(\s*/?\s*(?:mcp_server_instructions|workspace|available_skills|skills?|system[-_ ]?(?:prompt|reminder|message)?|` +
	`instructions|(?:user|assistant|developer|human)|tool_(?:call|use|result)|function_(?:call|results?)|memory)\b)`)

// plain returns a text of a server as a text that people and models can read: without control
// characters and characters that turn the direction of writing, without tags that imitate ours, and
// at most so many bytes long.
func plain(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == utf8.RuneError, unseen.Rune(r):
			return -1
		}
		return r
	}, s)
	s = ourTags.ReplaceAllString(s, "‹$1")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
