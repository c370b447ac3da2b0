package openai

import (
	"slices"
	"sync"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// A conversation is sent again with every request, and all but its end is what
// was sent before. So its encoding is kept: the blocks of a message are the same
// pieces of memory as long as a conversation is warm ([braid.ModelRequest]), and
// comparing pointers costs next to nothing.

// history is the encoding of one conversation as it was last seen.
type history struct {
	encoder
	marks  []mark
	blocks []event.Block // of all messages, one behind the other
	head   head
}

// mark is where a message of the history ends: in the encoding, the blocks, and
// the ids of calls.
type mark struct {
	role             event.Role
	end, blocks, ids int
}

// update makes the history that of messages, and encodes what is new.
func (h *history) update(messages []event.Message) {
	n := h.common(messages)
	if n > 0 && n < len(messages) && h.marks[n-1].role == event.RoleAssistant {
		n-- // results need the ids of the calls before them
	}
	if n < len(h.marks) {
		h.cut(n)
	}
	for i := n; i < len(messages); i++ {
		m := &messages[i]
		h.message(m)
		h.blocks = append(h.blocks, m.Content...)
		h.marks = append(h.marks, mark{role: m.Role, end: len(h.dst), blocks: len(h.blocks), ids: len(h.given)})
	}
}

// common counts the messages at the beginning that are the same.
func (h *history) common(messages []event.Message) int {
	at := 0
	for i := range min(len(messages), len(h.marks)) {
		m, end := &messages[i], h.marks[i].blocks
		if m.Role != h.marks[i].role || len(m.Content) != end-at || !slices.Equal(m.Content, h.blocks[at:end]) {
			return i
		}
		at = end
	}
	return min(len(messages), len(h.marks))
}

// cut forgets all but the first n messages.
func (h *history) cut(n int) {
	var m mark
	if n > 0 {
		m = h.marks[n-1]
	}
	for _, id := range h.given[m.ids:] {
		delete(h.taken, id)
	}
	clear(h.blocks[m.blocks:])
	h.marks, h.dst, h.blocks, h.given = h.marks[:n], h.dst[:m.end], h.blocks[:m.blocks], h.given[:m.ids]
}

// size is about how much memory the history holds.
func (h *history) size() int { return cap(h.dst) + cap(h.head.bytes) + 64*cap(h.marks) }

// histories keeps the histories of the last conversations. Its zero value is
// empty and ready.
type histories struct {
	mu   sync.Mutex
	kept []*history // the one that was used last stands last
	held int
}

// What is kept at most, by one model.
const (
	mostHistories = 256
	mostHeld      = 64 << 20
)

// take gives the history of the conversation that begins with the same block,
// or a new one. It is the caller's alone until [histories.put].
func (s *histories) take(req *braid.ModelRequest) *history {
	if len(req.Messages) == 0 || len(req.Messages[0].Content) == 0 {
		return &history{}
	}
	first := req.Messages[0].Content[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.kept) - 1; i >= 0; i-- {
		h := s.kept[i]
		if h.blocks[0] == first {
			s.kept = slices.Delete(s.kept, i, i+1)
			s.held -= h.size()
			return h
		}
	}
	return &history{}
}

// put keeps a history, and lets the oldest go where there is no room.
func (s *histories) put(h *history) {
	if len(h.blocks) == 0 || h.blocks[0] == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, h)
	s.held += h.size()
	n := 0
	for n < len(s.kept) && (len(s.kept)-n > mostHistories || s.held > mostHeld) {
		s.held -= s.kept[n].size()
		n++
	}
	if n > 0 {
		s.kept = slices.Delete(s.kept, 0, n)
	}
}
