package sqlite

import (
	"context"
	"math"

	"github.com/braidrun/braid/journal"
)

const (
	selectPlace = `SELECT newest FROM conversation WHERE id = ? AND tenant = ?`

	// n is the newest run, the first run gives the creation time, and o is the oldest open run.
	selectSummaries = `SELECT c.id, n.user, n.agent, c.turns, c.turns - c.ended, c.last, ifnull(o.status, n.status),
		f.admitted, n.admitted FROM conversation c
		JOIN run n ON n.key = c.newest
		JOIN run f ON f.conversation = c.key AND f.turn = 1
		LEFT JOIN run o ON o.conversation = c.key AND o.turn = c.ended + 1
		WHERE c.tenant = ? AND c.newest < ? ORDER BY c.newest DESC LIMIT ?`

	selectRuns = `SELECT ` + runColumns + ` FROM conversation c JOIN run r ON r.conversation = c.key
		WHERE c.id = ? AND r.turn > ? ORDER BY r.turn LIMIT ?`
)

// Conversations implements [journal.Catalog].
func (s *Store) Conversations(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
	return conversations(ctx, s.look, tenant, after, limit)
}

// Runs implements [journal.Catalog].
func (s *Store) Runs(ctx context.Context, conversation string, after, limit int) ([]journal.Run, error) {
	return runs(ctx, s.look, conversation, after, limit)
}

// looker is the look method of the store or of a reader.
type looker func(ctx context.Context, op string, do func(asker) error) error

func conversations(ctx context.Context, look looker, tenant, after string, limit int) ([]journal.Summary, error) {
	const op = "journal conversations"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = -1
	}
	var list []journal.Summary
	err := look(ctx, op, func(ask asker) (err error) {
		before := int64(math.MaxInt64)
		if after != "" {
			if before, err = placeOf(ask, op, tenant, after); err != nil {
				return err
			}
		}
		list, err = summaries(ask, tenant, before, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// placeOf returns the position of a conversation in the list.
func placeOf(ask asker, op, tenant, conversation string) (place int64, err error) {
	rows, err := ask(selectPlace, conversation, tenant)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return 0, err
		}
		return 0, notFound(op, "there is no such conversation")
	}
	err = rows.Scan(&place)
	return place, err
}

func summaries(ask asker, tenant string, before int64, limit int) ([]journal.Summary, error) {
	rows, err := ask(selectSummaries, tenant, before, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []journal.Summary
	for rows.Next() {
		s := journal.Summary{Tenant: tenant}
		var created, updated int64
		err := rows.Scan(&s.ID, &s.User, &s.Agent, &s.Turns, &s.Open, &s.Last, &s.Status, &created, &updated)
		if err != nil {
			return nil, err
		}
		s.Created, s.Updated = fromMicros(created), fromMicros(updated)
		list = append(list, s)
	}
	return list, rows.Err()
}

func runs(ctx context.Context, look looker, conversation string, after, limit int) ([]journal.Run, error) {
	const op = "journal runs"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	if limit <= 0 {
		limit = -1
	}
	var found []runRow
	err := look(ctx, op, func(ask asker) (err error) {
		found, err = runRows(ask(selectRuns, conversation, after, limit))
		return err
	})
	if err != nil {
		return nil, err
	}
	return readRuns(op, found)
}
