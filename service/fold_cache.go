package service

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service/webhooks"
)

// foldCache keeps the folds of conversations in use, so that the cost of a turn does not depend on
// the length of the log. Unused folds are bounded in bytes: the least recently used go first.
type foldCache struct {
	// most bounds the bytes of unused folds.
	most int64
	// webhooks learns of the events that are about to be committed; nil if there are none.
	webhooks *webhooks.Outbox

	mu   sync.Mutex
	used map[string]*cachedFold
	// idle are the unused folds, the most recently used in front.
	idle list.List
	// idleBytes is their weight.
	idleBytes int64
}

type cachedFold struct {
	id   string
	conv *braid.Conversation
	// store is what conv writes to.
	store foldStore
	// life is the life of the conversation: another one may have had its id.
	life string
	// owner is the conversation's tenant.
	owner atomic.Pointer[owner]
	// agent is the agent of the current drive; nil if there is none.
	agent atomic.Pointer[braid.Agent]
	// seen is the Seq of the last event that a drive here has sent; 0 if none.
	seen atomic.Int64
	// titled reports that the conversation has a title.
	titled atomic.Bool
	// tracker makes the ledger rows of conv's commits.
	tracker *ToolTracker
	// turn is the turn of the last run that was driven here.
	turn atomic.Int64
	// bytes is the approximate size of the fold's texts.
	bytes atomic.Int64
	// drives counts its users.
	drives int
	// at is its place among the idle; nil while it is in use.
	at *list.Element
}

// source returns the source of a tool of the driven agent or of one of its sub-agents. It returns
// "" if there is no such tool.
func (h *cachedFold) source(agent, tool string) string { return sourceIn(h.agent.Load(), agent, tool) }

const (
	// foldBytes is the approximate size of an empty fold.
	foldBytes = 24 << 10
	// eventBytes is the approximate size of an event beside its texts.
	eventBytes = 512
)

// weight returns the approximate size of the fold in memory.
func (h *cachedFold) weight() int64 { return foldBytes + h.bytes.Load() }

// add counts an event of the fold.
func (h *cachedFold) add(e *event.Event) { h.bytes.Add(eventBytes + sizeOf(e)) }

// find returns the size of a cached fold's texts. known is false if there is none.
func (w *foldCache) find(id, life string) (bytes int64, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.used[id]
	if h == nil || h.life != life {
		return 0, false
	}
	return h.bytes.Load(), true
}

// take returns the cached fold of a conversation with that life, or a new one. The caller must call
// done. bytes is the expected size of a new fold.
func (w *foldCache) take(store journal.Store, id, life string, bytes int64) (h *cachedFold, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used == nil {
		w.used = make(map[string]*cachedFold)
	}
	h = w.used[id]
	if h == nil || h.life != life {
		if h != nil {
			w.rest(h)
		}
		h = &cachedFold{id: id, life: life}
		h.bytes.Store(bytes)
		h.store.Store = store
		h.conv = braid.Open(&h.store, id)
		h.tracker = NewToolTracker(store, h.source)
		h.conv.BeforeCommit(h.tracker.Fill)
		if w.webhooks != nil {
			h.conv.BeforeCommit(func(ctx context.Context, l journal.Lease, b *journal.Batch) error { return w.fill(ctx, h, l, b) })
		}
		w.used[id] = h
	}
	w.wake(h)
	h.drives++
	return h, func() { w.done(h) }
}

// fill adds the rows of a batch that is about to be committed, and notes its events for webhooks.
func (w *foldCache) fill(ctx context.Context, h *cachedFold, l journal.Lease, b *journal.Batch) error {
	if err := h.tracker.Fill(ctx, l, b); err != nil {
		return err
	}
	return w.webhooks.Note(ctx, h.owner.Load().tenant, b.Events)
}

// wake removes a fold from the idle ones.
func (w *foldCache) wake(h *cachedFold) {
	if h.at != nil {
		w.idleBytes -= w.idle.Remove(h.at).(idleFold).bytes //nolint:forcetypeassert // nothing else is in it
		h.at = nil
	}
}

// rest drops a fold that no longer belongs to its conversation.
func (w *foldCache) rest(h *cachedFold) {
	w.wake(h)
	if w.used[h.id] == h {
		delete(w.used, h.id)
	}
}

// idleFold is an idle fold with its weight at that time.
type idleFold struct {
	fold  *cachedFold
	bytes int64
}

// done releases a fold. The least recently used folds are dropped if there is no room.
func (w *foldCache) done(h *cachedFold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.drives--; h.drives > 0 || w.used[h.id] != h {
		return
	}
	h.agent.Store(nil) // it may be large, and the next run brings its own
	weight := h.weight()
	h.at = w.idle.PushFront(idleFold{h, weight})
	w.idleBytes += weight
	for w.idleBytes > w.most && w.idle.Len() > 0 {
		w.rest(w.idle.Back().Value.(idleFold).fold) //nolint:forcetypeassert // nothing else is in it
	}
}

// seen returns the Seq of the last event that a drive here has sent; 0 if it is not known.
func (w *foldCache) seen(id string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.used[id]; h != nil {
		return h.seen.Load()
	}
	return 0
}

// place returns where the conversation's next run begins if nobody else has driven one. known is false
// if that is not known here.
func (w *foldCache) place(id, life string) (at journal.Place, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.used[id]
	if h == nil || h.life != life || h.drives > 0 || h.seen.Load() == 0 || h.turn.Load() == 0 {
		return journal.Place{}, false
	}
	return journal.Place{Turn: int(h.turn.Load()) + 1, Last: h.seen.Load(), Epoch: h.tracker.lastEpoch() + 1}, true
}

// retitled records that a caller may have removed a conversation's title.
func (w *foldCache) retitled(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.used[id]; h != nil {
		h.titled.Store(false)
	}
}

// forget drops a conversation's fold.
func (w *foldCache) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.used[id]; h != nil {
		w.rest(h)
	}
}

// owner is the tenant of a cached fold.
type owner struct{ tenant, life string }

// keptFold names a cached fold that no run uses.
type keptFold struct {
	owner

	id, conversationLife string
}

// resting lists the cached folds that no run uses.
func (w *foldCache) resting() (list []keptFold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, h := range w.used {
		if o := h.owner.Load(); o != nil && h.drives == 0 {
			list = append(list, keptFold{*o, id, h.life})
		}
	}
	return list
}
