package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/braidrun/braid/internal/ledgerrow"
	"github.com/braidrun/braid/journal"
)

// A statement takes only some thousand values, so the rows come as one JSON list.
const insertMessages = `INSERT INTO message_logs (conversation, run, seq, part, type, subtype, tool_use_id, parent_tool_use_id, content, at)
	SELECT ?1, ?2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, CAST(value ->> 6 AS BLOB), value ->> 7
	FROM json_each(?3)`

// countMessages updates the byte counts for messages that replace a run's existing ones.
const countMessages = `UPDATE conversation SET bytes = bytes + ?1
		- (SELECT ifnull(sum(length(content)), 0) FROM message_logs WHERE conversation = ?2 AND run = ?3)
	WHERE key = ?2`

// longMessage is the length from which a message is written by itself.
const longMessage = 64 << 10

const setMessage = `UPDATE message_logs SET content = CAST(? AS BLOB) WHERE conversation = ? AND run = ? AND seq = ? AND part = ?`

// KeepMessages implements [journal.Ledger].
func (s *Store) KeepMessages(ctx context.Context, run string, list []journal.MessageEntry) error {
	const op = "journal keep messages"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if run == "" {
		return noID(op, "a run needs an id")
	}
	rows, size := make([][8]any, len(list)), 0
	long := map[int]string{} // in the list, a long message would be copied four times
	clean := journal.LedgerText
	for i := range list {
		m := &list[i]
		var content any
		if m.Content != nil {
			text := clean(string(m.Content))
			size += len(text)
			if content = text; len(text) > longMessage {
				content, long[i] = "", text
			}
		}
		rows[i] = [8]any{
			m.Seq, m.Part, clean(m.Type), clean(m.Subtype), clean(m.Call), clean(m.Parent), content, m.Time.UnixMicro(),
		}
	}
	packed, err := json.Marshal(rows)
	if err != nil {
		return fault(op, err)
	}
	// Messages lost in a power cut are rebuilt on the next request.
	return s.write(ctx, op, true, func(x *tx) error {
		var key, conversation int64
		there, err := x.row(`SELECT key, conversation FROM run WHERE id = ?`, []any{run}, &key, &conversation)
		if err != nil {
			return err
		}
		if !there {
			return notFound(op, "there is no such run")
		}
		if _, err := x.exec(countMessages, size, conversation, key); err != nil {
			return err
		}
		if _, err := x.exec(`DELETE FROM message_logs WHERE conversation = ? AND run = ?`, conversation, key); err != nil {
			return err
		}
		if _, err = x.exec(insertMessages, conversation, key, string(packed)); err != nil {
			return err
		}
		for i, text := range long {
			if _, err := x.exec(setMessage, text, conversation, key, list[i].Seq, list[i].Part); err != nil {
				return err
			}
		}
		return nil
	})
}

// Messages implements [journal.Ledger].
func (s *Store) Messages(ctx context.Context, q journal.MessageQuery) ([]journal.MessageEntry, error) {
	const op = "journal messages"
	if q.Conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	text, args := dialect.Messages(&q)
	var found []journal.MessageEntry
	err := s.rows(ctx, op, text, args, func(rows *sql.Rows) error {
		var r ledgerrow.MessageRow
		err := rows.Scan(r.Into()...)
		found = append(found, r.Entry())
		return err
	}, func() { found = nil })
	return found, err
}

const selectUnkept = `SELECT r.id FROM run r JOIN conversation c ON c.key = r.conversation
	WHERE c.id = ?1 AND c.tenant = ?2 AND r.turn <= c.ended AND r.first IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM message_logs m WHERE m.conversation = c.key AND m.seq = r.first)
	ORDER BY r.turn`

// Unkept implements [journal.Ledger].
func (s *Store) Unkept(ctx context.Context, tenant, conversation string) ([]string, error) {
	const op = "journal unkept messages"
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	var runs []string
	err := s.rows(ctx, op, selectUnkept, []any{conversation, tenant}, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		runs = append(runs, id)
		return err
	}, func() { runs = nil })
	return runs, err
}
