package service

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// warm keeps the folds of the conversations that are in use, so that a turn costs
// the same however long the log is. What nobody uses is bounded in bytes: the least
// recently used folds go first.
type warm struct {
	// most bounds the bytes of the folds that nobody uses.
	most int64

	mu   sync.Mutex
	used map[string]*warmth
	// idle are those that no drive uses, the most recently used in front; idleBytes is their weight.
	idle      list.List
	idleBytes int64
}

type warmth struct {
	id   string
	conv *braid.Conversation
	// life is the conversation's that it is the fold of: another one may have had its id.
	life string
	// owner is whose the conversation is.
	owner atomic.Pointer[owner]
	// agent is the one that is driven; nil while none is.
	agent atomic.Pointer[braid.Agent]
	// seen is the Seq of the last event that a drive here has sent, 0 if none.
	seen atomic.Int64
	// titled says that the conversation has a title.
	titled atomic.Bool
	// bytes is about what the fold holds, without what every fold has.
	bytes atomic.Int64
	// drives is how many use it now.
	drives int
	// at is its place among the idle; nil while it is used.
	at *list.Element
}

const (
	// foldBytes is about what every fold holds, eventBytes what each event adds beside its texts.
	foldBytes  = 24 << 10
	eventBytes = 512
)

// weight is about how much memory the fold holds.
func (h *warmth) weight() int64 { return foldBytes + h.bytes.Load() }

// add counts an event that the fold has taken in.
func (h *warmth) add(e *event.Event) { h.bytes.Add(eventBytes + sizeOf(e)) }

// sizeOf is about how long the texts of an event are.
func sizeOf(e *event.Event) int64 {
	switch b := e.Body.(type) {
	case *event.UserMessage:
		return sizeOfBlocks(b.Content)
	case *event.AssistantMessage:
		return sizeOfBlocks(b.Content)
	case *event.StepEnded:
		if b.Result != nil {
			return sizeOfBlocks(b.Result.Content) + int64(len(b.Result.Structured))
		}
	case *event.StateChanged:
		var n int64
		for _, value := range b.Set {
			n += int64(len(value))
		}
		return n
	}
	return 0
}

// sizeOfBlocks is about how long the texts and the files of blocks are.
func sizeOfBlocks(blocks []event.Block) int64 {
	n := 0
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			n += len(b.Text) + len(b.Signature)
		case *event.Thinking:
			n += len(b.Text) + len(b.Signature)
		case *event.RedactedThinking:
			n += len(b.Data)
		case *event.Image:
			n += len(b.Data)
		case *event.Document:
			n += len(b.Data) + len(b.Text)
		case *event.ToolCall:
			n += len(b.Args) + len(b.Invalid)
		case *event.ToolResult:
			n += int(sizeOfBlocks(b.Content)) + len(b.Structured)
		case *event.Citation:
			n += len(b.Quote)
		case *event.Code:
			n += len(b.Code)
		case *event.CodeResult:
			n += len(b.Output)
		case *event.UnknownBlock:
			n += len(b.Raw)
		}
		n += 64
	}
	return int64(n)
}

// find gives the weight of a fold without what every fold has; known is false where there is none.
func (w *warm) find(id, life string) (bytes int64, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.used[id]
	if h == nil || h.life != life {
		return 0, false
	}
	return h.bytes.Load(), true
}

// take gives what is kept of a conversation in this life of it; done gives it back. bytes is about what
// it will hold once it is read, where nothing is kept yet.
func (w *warm) take(store journal.Store, id, life string, bytes int64) (h *warmth, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used == nil {
		w.used = make(map[string]*warmth)
	}
	h = w.used[id]
	if h == nil || h.life != life {
		if h != nil {
			w.rest(h)
		}
		h = &warmth{id: id, life: life}
		h.bytes.Store(bytes)
		h.conv = braid.Open(store, id)
		h.conv.BeforeCommit(NewToolTracker(store, h.source).Fill)
		w.used[id] = h
	}
	w.wake(h)
	h.drives++
	return h, func() { w.done(h) }
}

// wake takes a fold out of the idle ones.
func (w *warm) wake(h *warmth) {
	if h.at != nil {
		w.idleBytes -= w.idle.Remove(h.at).(idleFold).bytes //nolint:forcetypeassert // nothing else is in it
		h.at = nil
	}
}

// rest drops a fold that is not the one of its conversation any more.
func (w *warm) rest(h *warmth) {
	w.wake(h)
	if w.used[h.id] == h {
		delete(w.used, h.id)
	}
}

// idleFold is a place among the idle, with the weight that it was given there.
type idleFold struct {
	fold  *warmth
	bytes int64
}

// done gives a fold back. It is kept while there is room for it, and those that were used longest ago go.
func (w *warm) done(h *warmth) {
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

// forget drops a conversation's fold.
func (w *warm) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.used[id]; h != nil {
		w.rest(h)
	}
}
