package postgres

import (
	"context"

	"github.com/braidrun/braid/journal"
)

const (
	// Reports whether a run from the given turn on was admitted to begin a session.
	selectBegun = `SELECT 1 FROM run WHERE conversation = $1 AND turn >= $2 AND new_session ORDER BY turn LIMIT 1`

	// The session of the newest run that has begun, plus the number of later runs that begin
	// one. A conversation's first run always begins one.
	selectStanding = `SELECT c.turns, coalesce(b.session, 0) + (
			SELECT count(*) FROM run n WHERE n.conversation = c.key AND n.turn > coalesce(b.turn, 0) AND (n.new_session OR n.turn = 1)
		), $2::integer > 0 AND EXISTS (SELECT 1 FROM run r WHERE r.conversation = c.key AND r.turn >= $2 AND r.new_session), c.epoch
		FROM conversation c LEFT JOIN LATERAL (
			SELECT session, turn FROM run WHERE conversation = c.key AND first IS NOT NULL ORDER BY turn DESC LIMIT 1
		) b ON true WHERE c.id = $1`
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
	if err := names(op, conversation); err != nil {
		return journal.Position{}, err
	}
	var p journal.Position
	var there bool
	err := s.look(ctx, op, ofConversation(conversation),
		ask(selectStanding, []any{conversation, since}, &there, &p.Turns, &p.Session, &p.Begun, &p.Epoch))
	if err != nil {
		return journal.Position{}, err
	}
	return p, nil
}
