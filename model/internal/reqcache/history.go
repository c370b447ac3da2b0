package reqcache

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Encoder writes messages one after the other. The zero value is ready for use. E is the type,
// whose pointer implements the methods.
type Encoder[E any] interface {
	*E
	// Encode writes a message after the previous ones. Its output may depend only on these.
	Encode(m *event.Message)
	// Mark returns the current position, and Cut goes back to one. The zero mark is the beginning.
	Mark() Mark
	Cut(to Mark)
	// Size returns the approximate size in memory in bytes. It changes only by the other methods,
	// and by what is done between Take and Put.
	Size() int
}

// Mark is the end of a message in the output of an [Encoder].
type Mark struct {
	// End is in the encoder's own unit: bytes or values.
	End int
	// IDs is the number of calls' ids: Len of toolname.IDs.
	IDs int
	// Blocks counts the message's blocks up to there, for encoders that need it.
	Blocks int
}

// History is the encoding of one conversation at its last request. The zero value is ready for use.
// It is not safe for concurrent use.
type History[E any, P Encoder[E]] struct {
	// Encoder holds the encoding.
	Encoder E

	entries []entry
	blocks  []event.Block // of all messages, one after the other
}

type entry struct {
	Mark

	role   event.Role
	blocks int
}

// Update makes h the history of messages and encodes the new ones.
func (h *History[E, P]) Update(messages []event.Message) {
	e := P(&h.Encoder)
	n := h.common(messages)
	if n < len(h.entries) {
		h.cut(n)
	}
	for i := n; i < len(messages); i++ {
		m := &messages[i]
		e.Encode(m)
		h.blocks = append(h.blocks, m.Content...)
		h.entries = append(h.entries, entry{Mark: e.Mark(), role: m.Role, blocks: len(h.blocks)})
	}
}

// common returns the number of equal messages at the beginning.
func (h *History[E, P]) common(messages []event.Message) int {
	at := 0
	for i := range min(len(messages), len(h.entries)) {
		m, end := &messages[i], h.entries[i].blocks
		if m.Role != h.entries[i].role || len(m.Content) != end-at || !slices.Equal(m.Content, h.blocks[at:end]) {
			return i
		}
		at = end
	}
	return min(len(messages), len(h.entries))
}

// cut drops all but the first n messages.
func (h *History[E, P]) cut(n int) {
	var last entry
	if n > 0 {
		last = h.entries[n-1]
	}
	P(&h.Encoder).Cut(last.Mark)
	clear(h.blocks[last.blocks:])
	h.entries, h.blocks = h.entries[:n], h.blocks[:last.blocks]
}

// Len returns the number of messages.
func (h *History[E, P]) Len() int { return len(h.entries) }

// At returns the role and the end of message i.
func (h *History[E, P]) At(i int) (event.Role, Mark) { return h.entries[i].role, h.entries[i].Mark }

// size returns the approximate size of the history in memory.
func (h *History[E, P]) size() int { return P(&h.Encoder).Size() + 64*cap(h.entries) }
