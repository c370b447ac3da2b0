package journal

import "context"

// Position implements [Catalog].
func (m *Memory) Position(ctx context.Context, id string, since int) (Position, error) {
	const op = "journal place"
	if err := alive(ctx, op); err != nil {
		return Position{}, err
	}
	if id == "" {
		return Position{}, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[id]
	if c == nil {
		return Position{}, nil
	}
	p := Position{Turns: len(c.runs), Epoch: c.epoch, Begun: since > 0 && c.begins(since)}
	// A run that has begun knows its session. The queued runs after it may begin further
	// sessions.
	for i := len(c.runs) - 1; i >= 0; i-- {
		row := &c.runs[i].row
		if row.Session > 0 {
			p.Session += row.Session
			break
		}
		if row.NewSession && i > 0 || i == 0 {
			p.Session++
		}
	}
	return p, nil
}

// begins reports whether a run from the given turn on was admitted to begin a session.
func (c *conversation) begins(turn int) bool {
	for _, r := range c.runs[min(max(turn-1, 0), len(c.runs)):] {
		if r.row.NewSession {
			return true
		}
	}
	return false
}
