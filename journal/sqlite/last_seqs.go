package sqlite

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/journal"
)

const (
	selectHeads = `SELECT c.id, c.last FROM conversation c WHERE c.id IN (SELECT value FROM json_each(?))`

	// The key of mail rises with each post.
	selectPosted = `SELECT r.id, r.cancelled, ifnull((SELECT max(m.key) FROM mail m WHERE m.run = r.key AND m.read = 0), 0)
		FROM run r WHERE r.id IN (SELECT value FROM json_each(?)) AND r.status IN ('queued', 'running', 'waiting')`
)

// LastSeqs implements [journal.Catalog] in one statement for any number of conversations.
func (s *Store) LastSeqs(ctx context.Context, conversations []string) (map[string]int64, error) {
	heads := make(map[string]int64, len(conversations))
	err := s.each(ctx, "journal heads", selectHeads, conversations, func(scan func(...any) error) error {
		var id string
		var last int64
		err := scan(&id, &last)
		heads[id] = last
		return err
	})
	return heads, err
}

// Posted implements [journal.Store] in one statement for any number of runs.
func (s *Store) Posted(ctx context.Context, runs []string) (map[string]journal.Posted, error) {
	posted := make(map[string]journal.Posted)
	err := s.each(ctx, "journal posted", selectPosted, runs, func(scan func(...any) error) error {
		var id string
		var p journal.Posted
		err := scan(&id, &p.Cancelled, &p.Mark)
		if p != (journal.Posted{}) {
			posted[id] = p
		}
		return err
	})
	return posted, err
}

// each reads the rows that a query finds for ids. Rows may come twice, because the read may be
// repeated.
func (s *Store) each(ctx context.Context, op, query string, ids []string, row func(scan func(...any) error) error) error {
	if err := alive(ctx, op); err != nil {
		return err
	}
	wanted := make([]string, 0, len(ids))
	for _, id := range ids {
		if !strings.ContainsRune(id, 0) { // json_each would end the id at a zero byte
			wanted = append(wanted, id)
		}
	}
	list, err := json.Marshal(wanted)
	if err != nil {
		return fault(op, err)
	}
	return s.look(ctx, op, func(ask asker) error {
		rows, err := ask(query, string(list))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := row(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}
