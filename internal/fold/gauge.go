package fold

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// gauge is how much of a model's context a transcript takes, as far as it is known.
type gauge struct {
	// tokens is what a provider has counted for its newest answer and all that stands before
	// it, which are the first messages; 0 where nobody has counted.
	tokens   int64
	messages int
}

// count takes in what a provider says of an answer behind which so many messages stand. One that has
// summed the conversation up counts that call, too, so that the rest is estimated.
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

// compactedBefore is the first of the messages that a model still reads: the one in which its provider has summed up what
// stands before.
func compactedBefore(msgs []event.Message) int {
	for i := len(msgs) - 1; i > 0; i-- {
		if msgs[i].Role == event.RoleAssistant && compactedBy(msgs[i].Content) {
			return i
		}
	}
	return 0
}

// compactedBy reports whether an answer holds a provider's own summary of what stands before it. The providers of Braid
// keep it under their own name and the vendor's word.
func compactedBy(content []event.Block) bool {
	for _, b := range content {
		if b, ok := b.(*event.UnknownBlock); ok && (b.Name == "compaction" || strings.HasSuffix(string(b.Name), ".compaction")) {
			return true
		}
	}
	return false
}

// Tokens estimates how many tokens the messages of the scope's next model call have. whole says that a provider has
// counted them, so that what stands before the messages of each call is among them.
func (s *Scope) Tokens() (tokens int64, whole bool) {
	g, msgs := &s.gauge, s.Transcript.Messages
	if g.tokens > 0 && g.messages <= len(msgs) {
		return g.tokens + model.MessagesTokens(msgs[g.messages:]), true
	}
	return model.MessagesTokens(msgs[compactedBefore(msgs):]), false
}
