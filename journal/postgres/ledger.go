package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/ledgerrow"
	"github.com/braidrun/braid/journal"
)

var dialect = ledgerrow.Dialect{
	Mark: '$', Day: `to_char(to_timestamp(s.day * 86400) AT TIME ZONE 'UTC', 'YYYY-MM-DD') COLLATE "C"`,
}

const (
	// The tenant and the other columns of the run come from its row.
	insertUsage = `INSERT INTO usage_logs (tenant, conversation, run, turn, executor, step, attempt, seq, kind, scope,
			tool_use_id, subagent_type, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
			cost_nano_usd, status, at, estimated, person)
		SELECT r.tenant, c.id, r.id, r.turn, r.executor, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, nullif(r.person, '')
		FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.key = $1`

	// A row that exists already stays unchanged.
	insertUsageOnce = insertUsage + ` AND NOT EXISTS (
		SELECT 1 FROM usage_logs u WHERE u.tenant = r.tenant AND u.run = r.id AND u.step = $2 AND u.attempt = $3)`

	// The call's existing row keeps what only its first entry says.
	setTool = `INSERT INTO tool_execution_logs AS t (tenant, run, step, attempt, asked, ended, tool_use_id, parent_tool_use_id,
			scope, subagent_type, tool_name, source, input, output, is_error, status, began_at, finished_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		ON CONFLICT (run, step) DO UPDATE SET attempt = excluded.attempt, ended = excluded.ended,
			input = coalesce(excluded.input, t.input), output = excluded.output, is_error = excluded.is_error,
			status = excluded.status, finished_at = excluded.finished_at`

	// Erase what the ledger repeats of a redacted event.
	eraseAsked = `UPDATE tool_execution_logs SET input = NULL
		WHERE run = (SELECT key FROM run WHERE id = $1 AND conversation = $2) AND asked = $3`
	eraseGiven = `UPDATE tool_execution_logs SET output = $4
		WHERE run = (SELECT key FROM run WHERE id = $1 AND conversation = $2) AND ended = $3`
)

// record returns the statements for a batch's rows in the ledger.
func (f *fence) record(writes []question, b *journal.Batch) []question {
	for _, u := range inOrder(b.Usage) {
		writes = append(writes, addUsage(insertUsage, f.runKey, &u))
	}
	clean := journal.LedgerText
	for i := range b.Tools {
		t := &b.Tools[i]
		writes = append(writes, do(setTool, f.tenant, f.runKey, clean(t.Step), t.Attempt, t.Asked, t.End, clean(t.Call),
			clean(t.Parent), clean(t.Scope), clean(t.Agent), clean(t.Name), clean(t.Source), []byte(t.Input),
			ledgerrow.Output(t.Output), t.IsError, clean(string(t.Status)), t.Began.UnixMicro(), ledgerrow.Micros(t.Finished)))
	}
	return writes
}

// inOrder sorts rows by the order in which all commits add to the sums of a day, so that commits
// do not deadlock.
func inOrder(usage []journal.UsageEntry) []journal.UsageEntry {
	if len(usage) < 2 {
		return usage
	}
	return slices.SortedStableFunc(slices.Values(usage), func(a, b journal.UsageEntry) int {
		return cmp.Or(a.Time.Truncate(day).Compare(b.Time.Truncate(day)), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Agent, b.Agent),
			cmp.Compare(a.Kind, b.Kind))
	})
}

const day = 24 * time.Hour

func addUsage(statement string, run int64, u *journal.UsageEntry) question {
	clean := journal.LedgerText
	return do(statement, run, clean(u.Step), u.Attempt, u.Seq, clean(string(u.Kind)), clean(u.Scope), clean(u.Call),
		clean(u.Agent), clean(u.Model), u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CostNanoUSD, clean(string(u.Status)),
		u.Time.UnixMicro(), u.Estimated)
}

// eraseRepeats returns the statements that erase what the ledger and the messages repeat of an
// event of the run.
func (f *fence) eraseRepeats(run string, b *event.Redacted) []question {
	return []question{
		do(eraseAsked, run, f.key, b.Target),
		do(eraseGiven, run, f.key, b.Target, ledgerrow.Output(b.Shown())),
		do(`UPDATE message_logs SET content = NULL WHERE conversation = $1 AND seq = $2`, f.key, b.Target),
	}
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
	if err := names(op, u.Run); err != nil {
		return err
	}
	return s.transact(ctx, op, ofRun(u.Run), func(x *tx) error {
		var there bool
		var key int64
		var conversation string
		if err := x.begin(beginWrite, ask(`SELECT r.key, c.id FROM run r JOIN conversation c ON c.key = r.conversation WHERE r.id = $1`,
			[]any{u.Run}, &there, &key, &conversation)); err != nil {
			return err
		}
		if !there {
			return notFound(op, "there is no such run")
		}
		return x.commit(do(lockConversation, conversation), addUsage(insertUsageOnce, key, &u))
	})
}

// UsageLog implements [journal.Ledger].
func (s *Store) UsageLog(ctx context.Context, q journal.LedgerQuery) ([]journal.UsageEntry, error) {
	text, args := dialect.Usage(&q)
	var found []journal.UsageEntry
	err := s.ledger(ctx, "journal usage", &q, func() question {
		found = nil
		return list(text, args, func(rows pgx.Rows) error {
			var r ledgerrow.UsageRow
			err := rows.Scan(r.Into()...)
			found = append(found, r.Entry())
			return err
		})
	})
	return found, err
}

// UsageSums implements [journal.Ledger].
func (s *Store) UsageSums(
	ctx context.Context, q journal.LedgerQuery, by journal.UsageBy, after *string,
) ([]journal.UsageSum, error) {
	const op = "journal usage sums"
	var matches int64
	if text, args, needed := dialect.Matching(&q, by); needed {
		err := s.ledger(ctx, op, &q, func() question {
			return list(text, args, func(rows pgx.Rows) error { return rows.Scan(&matches) })
		})
		if err != nil {
			return nil, err
		}
	}
	text, args, known := dialect.Sums(&q, by, after, matches)
	if !known {
		return nil, journal.NoSuchSum(op)
	}
	if after != nil {
		if err := names(op, *after); err != nil {
			return nil, err
		}
	}
	var found []journal.UsageSum
	err := s.ledger(ctx, op, &q, func() question {
		found = nil
		return list(text, args, func(rows pgx.Rows) error {
			var r ledgerrow.SumRow
			err := rows.Scan(r.Into()...)
			found = append(found, r.Sum())
			return err
		})
	})
	return found, err
}

// ToolLog implements [journal.Ledger].
func (s *Store) ToolLog(ctx context.Context, q journal.LedgerQuery) ([]journal.ToolEntry, error) {
	const op = "journal tools"
	text, args := dialect.Tools(&q)
	var found []journal.ToolEntry
	err := s.ledger(ctx, op, &q, func() question {
		found = nil
		return list(text, args, func(rows pgx.Rows) error {
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
		})
	})
	return found, err
}

// ledger sends one query to the tenant's ledger. It may call what more than once.
func (s *Store) ledger(ctx context.Context, op string, q *journal.LedgerQuery, what func() question) error {
	if err := alive(ctx, op); err != nil {
		return err
	}
	if err := names(op, q.Tenant, q.Conversation, q.Run, q.Executor, q.Model, q.Tool); err != nil {
		return err
	}
	return s.transact(ctx, op, ofTenant(q.Tenant), func(x *tx) error {
		return x.begin(beginRead, what(), do(`COMMIT`))
	})
}
