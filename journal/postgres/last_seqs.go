package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/journal"
)

// LastSeqs implements [journal.Catalog]. However many conversations there are, it is one statement.
func (s *Store) LastSeqs(ctx context.Context, conversations []string) (map[string]int64, error) {
	const op = "journal heads"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	wanted := texts(conversations)
	heads := make(map[string]int64, len(wanted))
	if len(wanted) == 0 {
		return heads, nil
	}
	err := s.look(ctx, op, ofTenant(""), list(`SELECT id, last FROM heads_of_conversations($1)`, []any{wanted}, func(rows pgx.Rows) error {
		var id string
		var last int64
		err := rows.Scan(&id, &last)
		heads[id] = last
		return err
	}))
	return heads, err
}

// Posted implements [journal.Store]. However many runs there are, it is one statement.
func (s *Store) Posted(ctx context.Context, runs []string) (map[string]journal.Posted, error) {
	const op = "journal posted"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	wanted := texts(runs)
	posted := make(map[string]journal.Posted)
	if len(wanted) == 0 {
		return posted, nil
	}
	err := s.look(ctx, op, ofTenant(""), list(`SELECT id, mark, cancelled FROM posted_to_runs($1)`, []any{wanted}, func(rows pgx.Rows) error {
		var id string
		var p journal.Posted
		err := rows.Scan(&id, &p.Mark, &p.Cancelled)
		posted[id] = p
		return err
	}))
	return posted, err
}

// texts omits ids that the database cannot hold as text: nothing has such an id.
func texts(ids []string) []string {
	if !slices.ContainsFunc(ids, func(id string) bool { return !isText(id) }) {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !isText(id) })
}
