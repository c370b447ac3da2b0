package journal

import "context"

// Place implements [Catalog].
func (m *Memory) Place(ctx context.Context, id string, since int) (Place, error) {
	const op = "journal place"
	if err := alive(ctx, op); err != nil {
		return Place{}, err
	}
	if id == "" {
		return Place{}, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[id]
	if c == nil {
		return Place{}, nil
	}
	p := Place{Turns: len(c.runs), Epoch: c.epoch, Begun: since > 0 && c.begins(since)}
	// Those that have begun say which session they are in; those behind them may begin some.
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

// begins reports whether a run from a turn on was admitted to begin a session.
func (c *conversation) begins(turn int) bool {
	for _, r := range c.runs[min(max(turn-1, 0), len(c.runs)):] {
		if r.row.NewSession {
			return true
		}
	}
	return false
}
