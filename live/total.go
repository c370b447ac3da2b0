package live

// This file bounds the unread events of all watchers together.

// settleStep is how many bytes a line may change by before the hub's total is updated. A watcher
// that keeps up never changes the total.
const settleStep = 4 << 10

// settle updates the hub's total. The caller holds the topic's lock.
func (t *topic) settle() {
	now, before := int64(t.line.bytes), t.counted.Load()
	if now == before || now > 0 && now-before < settleStep && before-now < settleStep {
		return
	}
	t.counted.Store(now)
	t.hub.total.Add(now - before)
}

// Buffered returns the approximate size in bytes of the events that wait for watchers.
func (h *Hub) Buffered() int64 { return h.total.Load() }

// relieve makes room while all lines together are too large. It cuts off the watchers of the
// conversation with the most unread bytes, and their next Read returns a [Sync].
func (h *Hub) relieve() {
	most := h.options.Total
	if most <= 0 {
		most = DefaultTotal
	}
	if h.total.Load() <= most || !h.relieving.TryLock() {
		return
	}
	defer h.relieving.Unlock()
	for h.total.Load() > most {
		t := h.largest()
		if t == nil {
			return
		}
		t.mu.Lock()
		t.cut(t.line.tail)
		t.settle()
		t.mu.Unlock()
	}
}

// largest returns the topic with the largest line; nil if all are empty.
func (h *Hub) largest() (found *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var most int64
	for _, t := range h.topics {
		if n := t.counted.Load(); n > most {
			found, most = t, n
		}
	}
	return found
}
