package fold

import (
	"crypto/sha256"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// older are the first messages of a transcript that began with a stored fold. They stay in the store until a request needs
// them ([Conversation.Complete]).
type older struct {
	// messages is how many there are; 0 if all messages are in memory.
	messages int
	// uncounted estimates those that the gauge does not cover.
	uncounted int64
	// in says where they are; nil for nowhere.
	in *kept
}

// kept says what a stored fold has of a transcript, so that the next one adds only what is new. It does not change after it
// was made.
type kept struct {
	// seq is the position of the stored fold.
	seq int64
	// messages are the first messages of the transcript, which lie in so many parts. sum is the sum of the last part.
	messages, parts int
	sum             [sha256.Size]byte
	// bytes is the size of the parts.
	bytes int64
	// tokens estimates these messages, from the newest with a provider's own summary on.
	tokens int64
	// served are the calls in these messages of tools that a provider ran.
	served []string
}

// served returns the calls in these messages of tools that a provider ran.
func (o *older) served() []string {
	if o.in == nil {
		return nil
	}
	return o.in.served
}

// keeping is what a fold knows for the decision to store it.
type keeping struct {
	// from is the Seq after which an opening would fold the log without a stored fold.
	from int64
	// tried is the position at which the fold was stored last, or should have been.
	tried int64
	// weighed is the number of messages whose size is in bytes.
	weighed int
	bytes   int64
}

// Len returns the number of messages, also of those that are not in memory.
func (t *Transcript) Len() int { return t.older.messages + len(t.Messages) }

// Whole reports whether all messages are in memory.
func (t *Transcript) Whole() bool { return t.older.messages == 0 }

// Missing returns the number of messages that are not in memory.
func (v *Conversation) Missing() int {
	n := v.Past.older.messages
	if v.Run != nil {
		n = max(n, v.Run.Scopes[0].Transcript.older.messages)
	}
	return n
}

// Complete adds the messages that a stored fold left in the store: the first [Conversation.Missing] messages of the
// session. Slices that were returned before do not change.
func (v *Conversation) Complete(first []event.Message) {
	var root *Transcript
	if v.Run != nil {
		root = &v.Run.Scopes[0].Transcript
		root.complete(first, nil)
	}
	v.Past.complete(first, root)
	v.base.complete(first, &v.Past)
}

// complete adds the messages. It shares the memory of another transcript that begins with the same ones.
func (t *Transcript) complete(first []event.Message, like *Transcript) {
	if t.older.messages == 0 || t.older.messages != len(first) {
		return
	}
	n := len(first) + len(t.Messages)
	t.older = older{}
	if like != nil && like.older.messages == 0 && len(like.Messages) >= n && sharesContent(like.Messages[len(first):n], t.Messages) {
		t.Messages = like.Messages[:n:n]
		return
	}
	// A run adds a few.
	t.Messages = append(append(make([]event.Message, 0, n+n/8+8), first...), t.Messages...)
}

// sharesContent reports whether messages of the same number have the same content in memory.
func sharesContent(a, b []event.Message) bool {
	for i := range a {
		if len(a[i].Content) != len(b[i].Content) || len(a[i].Content) > 0 && &a[i].Content[0] != &b[i].Content[0] {
			return false
		}
	}
	return true
}

// tokensOf estimates a transcript whose size g a provider has counted in part. whole is as in [Scope.Tokens].
func (t *Transcript) tokensOf(g *gauge) (tokens int64, whole bool) {
	n := t.older.messages
	switch {
	case g.tokens > 0 && g.messages > t.Len():
	case g.tokens > 0 && g.messages >= n:
		return g.tokens + model.MessagesTokens(t.Messages[g.messages-n:]), true
	case g.tokens > 0:
		return g.tokens + t.older.uncounted + model.MessagesTokens(t.Messages), true
	}
	if n == 0 {
		return model.MessagesTokens(t.Messages[compactedBefore(t.Messages):]), false
	}
	for i := len(t.Messages) - 1; i >= 0; i-- {
		if m := &t.Messages[i]; m.Role == event.RoleAssistant && compactedBy(m.Content) {
			return model.MessagesTokens(t.Messages[i:]), false
		}
	}
	return t.older.in.tokens + model.MessagesTokens(t.Messages), false
}

// unkeep forgets what a stored fold has if the message at i changes, which it holds.
func (t *Transcript) unkeep(i int) {
	if t.kept != nil && i < t.kept.messages {
		t.kept = nil
	}
}
