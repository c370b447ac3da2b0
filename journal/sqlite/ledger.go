package sqlite

import (
	"context"
	"database/sql"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/ledgerrow"
	"github.com/braidrun/braid/journal"
)

var dialect = ledgerrow.Dialect{Mark: '?', Day: `strftime('%Y-%m-%d', s.day * 86400, 'unixepoch')`}

const (
	// The tenant and the other columns of the run come from its row.
	insertUsage = `INSERT INTO usage_logs (tenant, conversation, run, turn, executor, step, attempt, seq, kind, scope,
			tool_use_id, subagent_type, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
			cost_nano_usd, status, at, estimated, person)
		SELECT r.tenant, c.id, r.id, r.turn, r.executor, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, nullif(r.user, '')
		FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.key = ?1`

	// The call's existing row keeps what only its first entry says.
	setTool = `INSERT INTO tool_execution_logs (tenant, run, step, attempt, asked, ended, tool_use_id, parent_tool_use_id, scope,
			subagent_type, tool_name, source, input, output, is_error, status, began_at, finished_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run, step) DO UPDATE SET attempt = excluded.attempt, ended = excluded.ended,
			input = ifnull(excluded.input, input), output = excluded.output, is_error = excluded.is_error,
			status = excluded.status, finished_at = excluded.finished_at`

	selectUsed = `SELECT 1 FROM usage_logs WHERE tenant = ? AND run = ? AND step = ? AND attempt = ?`

	// Erase what the ledger repeats of a redacted event.
	eraseAsked = `UPDATE tool_execution_logs SET input = NULL WHERE run = ? AND asked = ?`
	eraseGiven = `UPDATE tool_execution_logs SET output = ? WHERE run = ? AND ended = ?`
)

// record adds a batch's rows to the ledger.
func (f *fence) record(x *tx, b *journal.Batch) error {
	for i := range b.Usage {
		if err := addUsage(x, f.runKey, &b.Usage[i]); err != nil {
			return err
		}
	}
	clean := journal.LedgerText
	for i := range b.Tools {
		t := &b.Tools[i]
		if _, err := x.exec(setTool, f.tenant, f.runKey, clean(t.Step), t.Attempt, t.Asked, t.End, clean(t.Call), clean(t.Parent),
			clean(t.Scope), clean(t.Agent), clean(t.Name), clean(t.Source), bytesOrNull(t.Input), bytesOrNull(ledgerrow.Output(t.Output)),
			t.IsError, clean(string(t.Status)), t.Began.UnixMicro(), ledgerrow.Micros(t.Finished)); err != nil {
			return err
		}
	}
	return nil
}

func addUsage(x *tx, run int64, u *journal.UsageEntry) error {
	clean := journal.LedgerText
	_, err := x.exec(insertUsage, run, clean(u.Step), u.Attempt, u.Seq, clean(string(u.Kind)), clean(u.Scope), clean(u.Call),
		clean(u.Agent), clean(u.Model), u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CostNanoUSD, clean(string(u.Status)),
		u.Time.UnixMicro(), u.Estimated)
	return err
}

// eraseRepeats erases what the ledger and the messages repeat of an event of the run.
func (f *fence) eraseRepeats(x *tx, run string, b *event.Redacted) error {
	var key int64
	there, err := x.row(`SELECT key FROM run WHERE id = ? AND conversation = ?`, []any{run, f.key}, &key)
	if err != nil || !there {
		return err
	}
	if _, err = x.exec(eraseAsked, key, b.Target); err != nil {
		return err
	}
	if _, err = x.exec(eraseGiven, bytesOrNull(ledgerrow.Output(b.Shown())), key, b.Target); err != nil {
		return err
	}
	_, err = x.exec(`UPDATE message_logs SET content = NULL WHERE conversation = ? AND seq = ?`, f.key, b.Target)
	return err
}

// AddUsage implements [journal.Ledger].
func (s *Store) AddUsage(ctx context.Context, u journal.UsageEntry) error {
	const op = "journal add usage"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if u.Run == "" || u.Step == "" {
		return noID(op, "usage needs a run and a step")
	}
	return s.write(ctx, op, false, func(x *tx) error {
		var key int64
		var tenant string
		there, err := x.row(`SELECT key, tenant FROM run WHERE id = ?`, []any{u.Run}, &key, &tenant)
		if err != nil {
			return err
		}
		if !there {
			return notFound(op, "there is no such run")
		}
		one := 0
		there, err = x.row(selectUsed, []any{tenant, u.Run, journal.LedgerText(u.Step), u.Attempt}, &one)
		if err != nil || there {
			return err
		}
		return addUsage(x, key, &u)
	})
}

// UsageLog implements [journal.Ledger].
func (s *Store) UsageLog(ctx context.Context, q journal.LedgerQuery) ([]journal.UsageEntry, error) {
	text, args := dialect.Usage(&q)
	var found []journal.UsageEntry
	err := s.rows(ctx, "journal usage", text, args, func(rows *sql.Rows) error {
		var r ledgerrow.UsageRow
		err := rows.Scan(r.Into()...)
		found = append(found, r.Entry())
		return err
	}, func() { found = nil })
	return found, err
}

// UsageSums implements [journal.Ledger].
func (s *Store) UsageSums(
	ctx context.Context, q journal.LedgerQuery, by journal.UsageBy, after *string,
) ([]journal.UsageSum, error) {
	const op = "journal usage sums"
	var matches int64
	if text, args, needed := dialect.Matching(&q, by); needed {
		if err := s.rows(ctx, op, text, args, func(rows *sql.Rows) error { return rows.Scan(&matches) }, func() {}); err != nil {
			return nil, err
		}
	}
	text, args, known := dialect.Sums(&q, by, after, matches)
	if !known {
		return nil, journal.NoSuchSum(op)
	}
	var found []journal.UsageSum
	err := s.rows(ctx, op, text, args, func(rows *sql.Rows) error {
		var r ledgerrow.SumRow
		err := rows.Scan(r.Into()...)
		found = append(found, r.Sum())
		return err
	}, func() { found = nil })
	return found, err
}

// ToolLog implements [journal.Ledger].
func (s *Store) ToolLog(ctx context.Context, q journal.LedgerQuery) ([]journal.ToolEntry, error) {
	const op = "journal tools"
	text, args := dialect.Tools(&q)
	var found []journal.ToolEntry
	err := s.rows(ctx, op, text, args, func(rows *sql.Rows) error {
		var r ledgerrow.ToolRow
		if err := rows.Scan(r.Into()...); err != nil {
			return err
		}
		t, err := r.Entry()
		if err != nil {
			return damaged(op, "what a tool gave cannot be read", err)
		}
		found = append(found, t)
		return nil
	}, func() { found = nil })
	return found, err
}

// rows reads rows one by one; it calls begin before each attempt.
func (s *Store) rows(ctx context.Context, op, text string, args []any, each func(*sql.Rows) error, begin func()) error {
	if err := alive(ctx, op); err != nil {
		return err
	}
	return s.look(ctx, op, func(ask asker) error {
		begin()
		rows, err := ask(text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}
