package sqlite

import (
	"context"

	"github.com/braidrun/braid/journal"
)

const (
	// Reports whether a run from the given turn on was admitted to begin a session.
	selectBegun = `SELECT 1 FROM run WHERE conversation = ? AND turn >= ? AND new_session ORDER BY turn LIMIT 1`

	// The session of the newest run that has begun, plus the number of later runs that begin
	// one. A conversation's first run always begins one.
	selectStanding = `SELECT c.turns, ifnull(b.session, 0) + (
			SELECT count(*) FROM run n WHERE n.conversation = c.key AND n.turn > ifnull(b.turn, 0) AND (n.new_session OR n.turn = 1)
		), ?2 > 0 AND EXISTS (SELECT 1 FROM run r WHERE r.conversation = c.key AND r.turn >= ?2 AND r.new_session), c.epoch
		FROM conversation c LEFT JOIN run b ON b.key = (
			SELECT key FROM run WHERE conversation = c.key AND first IS NOT NULL ORDER BY turn DESC LIMIT 1
		) WHERE c.id = ?1`
)

// Position implements [journal.Catalog].
func (s *Store) Position(ctx context.Context, conversation string, since int) (journal.Position, error) {
	const op = "journal place"
	if err := alive(ctx, op); err != nil {
		return journal.Position{}, err
	}
	if conversation == "" {
		return journal.Position{}, noID(op, "a conversation needs an id")
	}
	var p journal.Position
	err := s.look(ctx, op, func(ask asker) error {
		rows, err := ask(selectStanding, conversation, since)
		if err != nil {
			return err
		}
		defer rows.Close()
		if rows.Next() {
			if err := rows.Scan(&p.Turns, &p.Session, &p.Begun, &p.Epoch); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return p, fault(op, err)
}
