package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/internal/ledgerrow"
	"github.com/braidrun/braid/journal"
)

const insertMessages = `INSERT INTO message_logs (tenant, conversation, run, seq, part, type, subtype, tool_use_id, parent_tool_use_id,
		content, at)
	SELECT r.tenant, r.conversation, r.key, m.* FROM run r, unnest($2::bigint[], $3::integer[], $4::text[], $5::text[], $6::text[],
		$7::text[], $8::bytea[], $9::bigint[]) m WHERE r.id = $1`

// KeepMessages implements [journal.Ledger].
func (s *Store) KeepMessages(ctx context.Context, run string, list []journal.MessageEntry) error {
	const op = "journal keep messages"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if run == "" {
		return noID(op, "a run needs an id")
	}
	if err := names(op, run); err != nil {
		return err
	}
	n := len(list)
	seqs, parts, times := make([]int64, n), make([]int32, n), make([]int64, n)
	types, subtypes, calls, parents := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	contents, size := make([][]byte, n), 0
	clean := journal.LedgerText
	for i := range list {
		m := &list[i]
		seqs[i], parts[i], times[i] = m.Seq, int32(m.Part), m.Time.UnixMicro()
		types[i], subtypes[i], calls[i], parents[i] = clean(m.Type), clean(m.Subtype), clean(m.Call), clean(m.Parent)
		if m.Content != nil {
			contents[i] = []byte(clean(string(m.Content)))
			size += len(contents[i])
		}
	}
	return s.transact(ctx, op, ofRun(run), func(x *tx) error {
		var there bool
		var conversation string
		if err := x.begin(beginWrite, ask(`SELECT c.id FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = $1`,
			[]any{run}, &there, &conversation)); err != nil {
			return err
		}
		if !there {
			return notFound(op, "there is no such run")
		}
		// Messages lost in a crash of the database are rebuilt on the next request.
		return x.commitLazily(
			do(lockConversation, conversation),
			do(countMessages, run, size),
			do(`DELETE FROM message_logs m USING run r WHERE r.id = $1 AND m.conversation = r.conversation AND m.run = r.key`, run),
			do(insertMessages, run, seqs, parts, types, subtypes, calls, parents, contents, times),
		)
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
	err := s.ledger(ctx, op, &journal.LedgerQuery{Tenant: q.Tenant, Conversation: q.Conversation, Run: q.Run}, func() question {
		found = nil
		return list(text, args, func(rows pgx.Rows) error {
			var r ledgerrow.MessageRow
			err := rows.Scan(r.Into()...)
			found = append(found, r.Entry())
			return err
		})
	})
	return found, err
}

const selectUnkept = `SELECT r.id FROM run r JOIN conversation c ON c.key = r.conversation
	WHERE c.id = $1 AND c.tenant = $2 AND r.turn <= c.ended AND r.first IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM message_logs m WHERE m.conversation = c.key AND m.seq = r.first)
	ORDER BY r.turn`

// Unkept implements [journal.Ledger].
func (s *Store) Unkept(ctx context.Context, tenant, conversation string) ([]string, error) {
	const op = "journal unkept messages"
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	var runs []string
	err := s.ledger(ctx, op, &journal.LedgerQuery{Tenant: tenant, Conversation: conversation}, func() question {
		runs = nil
		return list(selectUnkept, []any{conversation, tenant}, func(rows pgx.Rows) error {
			var id string
			err := rows.Scan(&id)
			runs = append(runs, id)
			return err
		})
	})
	return runs, err
}
