package sqlite

import "encoding/json"

const selectFence = `SELECT c.key, c.last, c.epoch, c.until IS NOT NULL AND c.generation = ?, c.steps,
	r.key, r.id, r.turn, r.status, r.wake, r.cancelled, r.tenant, r.user, r.lost
	FROM conversation c JOIN run r ON r.key = c.holder WHERE c.id = ?`

// fence returns an empty fence for a conversation that never had a lease.
func (s *Store) fence(x *tx, op, conversation string) (*fence, error) {
	if f := x.w.fences[conversation]; f != nil {
		return f, nil
	}
	f := &fence{id: conversation}
	var steps []byte
	there, err := x.row(selectFence, []any{s.generation, conversation}, &f.key, &f.last, &f.epoch, &f.held, &steps,
		&f.runKey, &f.run, &f.turn, &f.status, &f.wake, &f.cancelled, &f.tenant, &f.user, &f.lost)
	if err != nil || !there {
		return f, err
	}
	if err := f.readSteps(op, steps); err != nil {
		return nil, err
	}
	x.w.know(f)
	return f, nil
}

func (f *fence) readSteps(op string, steps []byte) error {
	if len(steps) == 0 {
		return nil
	}
	if err := json.Unmarshal(steps, &f.steps); err != nil {
		return damaged(op, "the open steps of a run cannot be read", err)
	}
	return nil
}

// setLost sets how many drivers a run has lost.
const setLost = `UPDATE run SET lost = ? WHERE key = ?`
