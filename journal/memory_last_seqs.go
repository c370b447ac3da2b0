package journal

import "context"

// LastSeqs implements [Catalog].
func (m *Memory) LastSeqs(ctx context.Context, conversations []string) (map[string]int64, error) {
	if err := alive(ctx, "journal heads"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	heads := make(map[string]int64, len(conversations))
	for _, id := range conversations {
		if c := m.conversations[id]; c != nil {
			heads[id] = int64(len(c.events))
		}
	}
	return heads, nil
}

// Posted implements [Store].
func (m *Memory) Posted(ctx context.Context, runs []string) (map[string]Posted, error) {
	if err := alive(ctx, "journal posted"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var posted map[string]Posted
	for _, id := range runs {
		r := m.runs[id]
		if r == nil || r.row.Status.Ended() {
			continue
		}
		p := Posted{Cancelled: r.row.Cancelled}
		if len(r.inbox.unread) > 0 {
			p.Mark = int64(len(r.inbox.known))
		}
		if p == (Posted{}) {
			continue
		}
		if posted == nil {
			posted = make(map[string]Posted)
		}
		posted[id] = p
	}
	return posted, nil
}
