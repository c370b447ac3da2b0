package service

import (
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
)

// warm keeps the folds of the conversations that are in use, so that a turn costs
// the same however long the log is.
type warm struct {
	mu   sync.Mutex
	used map[string]*warmth
	// order is a clock: the least recently used one goes.
	clock int64
}

type warmth struct {
	conv *braid.Conversation
	// life is the conversation's that it is the fold of: another one may have had its id.
	life string
	// agent is the one that is driven.
	agent atomic.Pointer[braid.Agent]
	// seen is the Seq of the last event that a drive here has sent, 0 if none.
	seen atomic.Int64
	// titled says that the conversation has a title.
	titled atomic.Bool
	// drives is how many use it now.
	drives int
	last   int64
}

// mostWarm bounds the folds that are kept.
const mostWarm = 1024

// take gives what is kept of a conversation in this life of it; done gives it back.
func (w *warm) take(store journal.Store, id, life string) (h *warmth, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used == nil {
		w.used = make(map[string]*warmth)
	}
	h = w.used[id]
	if h == nil || h.life != life {
		w.trim()
		h = &warmth{life: life}
		h.conv = braid.Open(TrackTools(store, h.source), id)
		w.used[id] = h
	}
	w.clock++
	h.drives++
	h.last = w.clock
	return h, func() {
		w.mu.Lock()
		h.drives--
		w.mu.Unlock()
	}
}

// seen is the Seq of the last event that a drive here has sent; 0 if it is not known.
func (w *warm) seen(id string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.used[id]; h != nil {
		return h.seen.Load()
	}
	return 0
}

// retitled says that somebody may have taken a conversation's title away.
func (w *warm) retitled(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.used[id]; h != nil {
		h.titled.Store(false)
	}
}

// trim makes room: the eighth that was used longest ago goes.
func (w *warm) trim() {
	if len(w.used) < mostWarm {
		return
	}
	bound := w.clock - mostWarm + mostWarm/8
	for id, h := range w.used {
		if h.drives == 0 && h.last <= bound {
			delete(w.used, id)
		}
	}
}

// forget drops a conversation's fold.
func (w *warm) forget(id string) {
	w.mu.Lock()
	delete(w.used, id)
	w.mu.Unlock()
}
