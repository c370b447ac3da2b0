package sqlite

import (
	"context"

	"github.com/braidrun/braid/journal"
)

const selectQueue = `SELECT ` + runColumns + ` FROM run r JOIN conversation c ON c.key = r.conversation
	WHERE c.id = ? AND r.turn > c.ended ORDER BY r.turn`

// Queue implements [journal.Store].
func (s *Store) Queue(ctx context.Context, conversation string) ([]journal.Run, error) {
	const op = "journal queue"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	var found []runRow
	err := s.write(ctx, op, true, func(x *tx) (err error) {
		found, err = runRows(x.query(selectQueue, conversation))
		return err
	})
	if err != nil {
		return nil, fault(op, err)
	}
	open := make([]journal.Run, len(found))
	for i := range found {
		if open[i], err = found[i].read(op); err != nil {
			return nil, err
		}
	}
	return open, nil
}
