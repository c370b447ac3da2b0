package fold

import (
	"strings"

	"github.com/braidrun/braid/event"
)

// gauge is the size of a transcript in tokens, as far as a provider has counted it.
type gauge struct {
	// tokens is a provider's count for its newest answer and everything before it; 0 if there is no count.
	tokens int64
	// messages is the number of messages that tokens covers.
	messages int
}

// count applies a provider's usage for an answer, after which the transcript has that many messages. The usage of an
// answer with a provider's own summary also includes the call for the summary, so count then resets the gauge.
func (g *gauge) count(u event.Usage, content []event.Block, messages int) {
	if compactedBy(content) {
		*g = gauge{}
		return
	}
	n := u.Input + u.CacheRead + u.CacheWrite + u.Output
	if n <= 0 {
		return
	}
	g.tokens, g.messages = n, messages
}

// compactedBefore returns the index of the first message that a model still reads: the newest message with a
// provider's own summary of the messages before it, or 0.
func compactedBefore(msgs []event.Message) int {
	for i := len(msgs) - 1; i > 0; i-- {
		if msgs[i].Role == event.RoleAssistant && compactedBy(msgs[i].Content) {
			return i
		}
	}
	return 0
}

// compactedBy reports whether an answer holds a provider's own summary of the messages before it. Braid's providers
// name such a block after the vendor's word.
func compactedBy(content []event.Block) bool {
	for _, b := range content {
		if b, ok := b.(*event.UnknownBlock); ok && (b.Name == "compaction" || strings.HasSuffix(string(b.Name), ".compaction")) {
			return true
		}
	}
	return false
}
