package reqcache

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Encoder writes messages, one behind the other. Its zero value is empty and
// ready. E is the type, which implements the methods on its pointer.
type Encoder[E any] interface {
	*E
	// Encode writes a message behind those before it. What it writes may depend on
	// these, and on nothing else.
	Encode(m *event.Message)
	// Mark tells where it stands, and Cut goes back there; the zero mark is the
	// beginning.
	Mark() Mark
	Cut(to Mark)
	// Size is about how much memory it holds, in bytes. It does not change but by
	// the other methods, and by what is done between Take and Put.
	Size() int
}

// Mark is where a message ends in what an [Encoder] has written.
type Mark struct {
	// End is in the encoder's own measure: bytes, or values.
	End int
	// IDs is where the ids of the calls stand: Len of toolname.IDs.
	IDs int
	// Blocks counts those that the message has there, for encoders who care.
	Blocks int
}

// History is the encoding of one conversation as it was last seen. Its zero value
// is empty and ready. It is used by one goroutine at a time.
type History[E any, P Encoder[E]] struct {
	// Encoder holds the encoding.
	Encoder E

	entries []entry
	blocks  []event.Block // of all messages, one behind the other
}

type entry struct {
	Mark

	role   event.Role
	blocks int
}

// Update makes the history that of messages, and encodes what is new.
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

// common counts the messages at the beginning that are the same.
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

// cut forgets all but the first n messages.
func (h *History[E, P]) cut(n int) {
	var last entry
	if n > 0 {
		last = h.entries[n-1]
	}
	P(&h.Encoder).Cut(last.Mark)
	clear(h.blocks[last.blocks:])
	h.entries, h.blocks = h.entries[:n], h.blocks[:last.blocks]
}

// Len counts the messages.
func (h *History[E, P]) Len() int { return len(h.entries) }

// At tells whose message i is, and where it ends.
func (h *History[E, P]) At(i int) (event.Role, Mark) { return h.entries[i].role, h.entries[i].Mark }

// size is about how much memory the history holds.
func (h *History[E, P]) size() int { return P(&h.Encoder).Size() + 64*cap(h.entries) }
