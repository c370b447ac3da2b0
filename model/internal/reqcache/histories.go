package reqcache

import (
	"slices"
	"sync"

	"github.com/braidrun/braid/model"
)

// These bound the cache of one model.
const (
	mostHistories = 256
	mostHeld      = 64 << 20
)

// Histories cache the histories of the conversations that a model was last called for, at most 64
// MiB and 256 of them. The zero value is ready for use. It is safe for concurrent use.
type Histories[E any, P Encoder[E]] struct {
	mu   sync.Mutex
	kept []*History[E, P] // the most recently used is last
	held int
}

// Take returns the history of the conversation that begins with the same block, or a new one. It
// belongs to the caller until [Histories.Put].
func (s *Histories[E, P]) Take(req *model.Request) *History[E, P] {
	if len(req.Messages) == 0 || len(req.Messages[0].Content) == 0 {
		return &History[E, P]{}
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
	return &History[E, P]{}
}

// Put returns a history to the cache, which drops the oldest ones if there is no room.
func (s *Histories[E, P]) Put(h *History[E, P]) {
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

// Len returns the number of cached histories.
func (s *Histories[E, P]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept)
}
