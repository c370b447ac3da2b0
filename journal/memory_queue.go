package journal

import "context"

// Queue implements [Store].
func (m *Memory) Queue(ctx context.Context, id string) ([]Run, error) {
	const op = "journal queue"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[id]
	if c == nil {
		return nil, nil
	}
	var open []Run
	for r := c.head; r != nil; r = r.behind {
		open = append(open, handOut(r.row))
	}
	return open, nil
}
