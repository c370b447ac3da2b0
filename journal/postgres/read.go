package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/logrow"
	"github.com/braidrun/braid/journal"
)

const (
	selectLog = `SELECT l.first, l.last, l.epoch, l.events FROM log l
		WHERE l.conversation = (SELECT key FROM conversation WHERE id = $1) AND l.last > $2 ORDER BY l.last`

	// Each row holds at least one event, and the requested events come first.
	selectSomeLog = selectLog + ` LIMIT $3`

	// The rows up to the one that reaches the bytes. PostgreSQL finds the lengths of large
	// values without reading the values.
	selectLogPage = `SELECT p.first, p.last, p.epoch, p.events FROM (
			SELECT l.first, l.last, l.epoch, l.events, sum(octet_length(l.events)) OVER (ORDER BY l.last) - octet_length(l.events) AS before
			FROM (` + selectSomeLog + `) l
		) p WHERE p.before < $4 ORDER BY p.last`

	selectEnd = `SELECT last FROM conversation WHERE id = $1`

	selectQueue = `SELECT ` + runColumns + ` FROM conversation c JOIN run r ON r.conversation = c.key
		WHERE c.id = $1 AND r.turn > c.ended ORDER BY r.turn`
)

// Read implements [journal.Store].
func (s *Store) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	const op = "journal read"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	if err := names(op, conversation); err != nil {
		return nil, err
	}
	after = max(after, 0)
	var rows []logRow
	err := s.transact(ctx, op, ofConversation(conversation), func(x *tx) error {
		rows = nil
		return x.begin(beginRead, list(selectSomeLog, []any{conversation, after, upTo(limit)}, logInto(&rows)), do(`COMMIT`))
	})
	if err != nil {
		return nil, err
	}
	return readLog(op, conversation, after, limit, rows)
}

// ReadPage implements [journal.Store].
func (s *Store) ReadPage(
	ctx context.Context, conversation string, after int64, limit int, most int64,
) (events []*event.Event, more bool, err error) {
	const op = "journal read"
	if err := alive(ctx, op); err != nil {
		return nil, false, err
	}
	if conversation == "" {
		return nil, false, noID(op, "a conversation needs an id")
	}
	if err := names(op, conversation); err != nil {
		return nil, false, err
	}
	if most <= 0 {
		most = math.MaxInt64
	}
	after = max(after, 0)
	var rows []logRow
	var end int64
	var there bool
	err = s.transact(ctx, op, ofConversation(conversation), func(x *tx) error {
		rows = nil
		return x.begin(beginRead,
			list(selectLogPage, []any{conversation, after, upTo(limit), most}, logInto(&rows)),
			ask(selectEnd, []any{conversation}, &there, &end), do(`COMMIT`))
	})
	if err != nil {
		return nil, false, err
	}
	if events, err = readLog(op, conversation, after, limit, rows); err != nil {
		return nil, false, err
	}
	if n := len(events); n > 0 {
		more = events[n-1].Seq < end
	}
	return events, more, nil
}

// readLog returns at most limit of the events in rows after a Seq; a limit of 0 means all.
func readLog(op, conversation string, after int64, limit int, rows []logRow) ([]*event.Event, error) {
	u := logrow.Reader{Conversation: conversation, After: after, Max: limit}
	for _, r := range rows {
		if u.Full() {
			break
		}
		if u.Next == 0 && r.first > after+1 {
			return nil, damaged(op, "a conversation's log has a gap", nil)
		}
		if err := u.Row(r.first, r.last, r.events); err != nil {
			return nil, damaged(op, "a conversation's log cannot be read", err)
		}
	}
	return u.Events, nil
}

// Due implements [journal.Store]. It is the one call that looks across tenants.
func (s *Store) Due(ctx context.Context, limit int) ([]journal.Run, error) {
	const op = "journal due"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	return s.runs(ctx, op, scope{`SELECT set_config('braid.tenant', $1, true)`, ""}, selectDue, upTo(limit))
}

// Queue implements [journal.Store].
func (s *Store) Queue(ctx context.Context, conversation string) ([]journal.Run, error) {
	const op = "journal queue"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	if err := names(op, conversation); err != nil {
		return nil, err
	}
	return s.runs(ctx, op, ofConversation(conversation), selectQueue, conversation)
}

// runs reads rows of runs.
func (s *Store) runs(ctx context.Context, op string, who scope, text string, args ...any) ([]journal.Run, error) {
	var found []runRow
	err := s.transact(ctx, op, who, func(x *tx) error {
		found = nil
		return x.begin(beginRead, list(text, args, runsInto(&found)), do(`COMMIT`))
	})
	if err != nil {
		return nil, err
	}
	return readRuns(op, found)
}

const (
	selectPlace = `SELECT newest FROM conversation WHERE id = $1`

	// n is the newest run, the first run gives the creation time, and o is the oldest open run.
	selectSummaries = `SELECT c.id, n.person, n.agent, c.turns, c.turns - c.ended, c.last, coalesce(o.status, n.status),
		f.admitted, n.admitted FROM (
			SELECT key, id, tenant, turns, ended, last, newest FROM conversation WHERE tenant = $1 AND newest < $2 ORDER BY newest DESC LIMIT $3
		) c
		JOIN run n ON n.key = c.newest
		JOIN run f ON f.conversation = c.key AND f.turn = 1
		LEFT JOIN run o ON o.conversation = c.key AND o.turn = c.ended + 1
		ORDER BY c.newest DESC`

	selectRuns = `SELECT ` + runColumns + ` FROM conversation c JOIN run r ON r.conversation = c.key
		WHERE c.id = $1 AND r.turn > $2 ORDER BY r.turn LIMIT $3`
)

// Conversations implements [journal.Catalog].
func (s *Store) Conversations(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
	const op = "journal conversations"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if err := names(op, tenant, after); err != nil {
		return nil, err
	}
	var found []journal.Summary
	err := s.transact(ctx, op, ofTenant(tenant), func(x *tx) error {
		before, there := int64(math.MaxInt64), true
		if err := x.begin(beginRead); err != nil {
			return err
		}
		if after != "" {
			if err := x.more(ask(selectPlace, []any{after}, &there, &before)); err != nil {
				return err
			}
		}
		if !there {
			return notFound(op, "there is no such conversation")
		}
		found = nil
		return x.more(list(selectSummaries, []any{tenant, before, upTo(limit)}, func(rows pgx.Rows) error {
			s := journal.Summary{Tenant: tenant}
			var created, updated int64
			err := rows.Scan(&s.ID, &s.User, &s.Agent, &s.Turns, &s.Open, &s.Last, &s.Status, &created, &updated)
			s.Created, s.Updated = fromMicros(created), fromMicros(updated)
			found = append(found, s)
			return err
		}), do(`COMMIT`))
	})
	return found, err
}

// Runs implements [journal.Catalog].
func (s *Store) Runs(ctx context.Context, conversation string, after, limit int) ([]journal.Run, error) {
	const op = "journal runs"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	if err := names(op, conversation); err != nil {
		return nil, err
	}
	return s.runs(ctx, op, ofConversation(conversation), selectRuns, conversation, int64(after), upTo(limit))
}
