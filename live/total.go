package live

// This file bounds what the watchers of all conversations leave unread together.

// settleStep is how many bytes a topic's line may change by before the hub's total follows: a watcher that keeps up changes
// the total never.
const settleStep = 4 << 10

// settle has the hub's total follow the topic's line. The caller holds the topic's lock.
func (t *topic) settle() {
	now, before := int64(t.line.bytes), t.counted.Load()
	if now == before || now > 0 && now-before < settleStep && before-now < settleStep {
		return
	}
	t.counted.Store(now)
	t.hub.total.Add(now - before)
}

// Buffered returns about how many bytes of events wait for watchers.
func (h *Hub) Buffered() int64 { return h.total.Load() }

// relieve makes room while all lines together take more than they may: it cuts off the watchers of the conversation with
// the most unread bytes, who get a [Sync] with their next Read.
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

// largest returns the topic whose line takes the most; nil if none takes anything.
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
