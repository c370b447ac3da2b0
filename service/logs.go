package service

import (
	"context"
	"strconv"
	"strings"
	"time"

	cursors "github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/journal"
)

// LogQuery selects rows of a tenant's logs. An empty field selects all.
type LogQuery struct {
	Conversation string
	Run          string
	Executor     string
	// User selects the user of the run. It applies to usage only.
	User string
	// Model applies to usage only.
	Model string
	// Tool applies to the tool log only.
	Tool string
	// From is the start of the period, inclusive.
	From time.Time
	// To is the end of the period, exclusive.
	To time.Time
	// Cursor is the next cursor of the previous page; empty means the first page. It is valid only
	// for the same query.
	Cursor string
	// Limit is at most [MostPage]. 0 means [DefaultPage].
	Limit int
}

// Usage lists what the tenant's runs used, newest first. There is one row for each attempt of a
// model call, including those of sub-agents, summaries and titles. next is the cursor of the next
// page; empty means that there is none.
func (s *Service) Usage(ctx context.Context, p Principal, q LogQuery) (rows []journal.UsageEntry, next string, err error) {
	return ledgerPage(ctx, "usage", p, q, s.options.Journal.UsageLog, (*journal.UsageEntry).Place)
}

// UsageSums returns the sums of [Service.Usage]'s rows by group, ordered by the groups' keys.
func (s *Service) UsageSums(
	ctx context.Context, p Principal, q LogQuery, by journal.UsageBy,
) (sums []journal.UsageSum, next string, err error) {
	const op = "usage sums"
	asked, err := q.ledger(p, op)
	if err != nil {
		return nil, "", err
	}
	list := q.list(op+" by "+string(by), p)
	var after *string
	if q.Cursor != "" {
		place, ok := cursors.Decode(list, q.Cursor, 1)
		if !ok {
			return nil, "", foreignCursor(op)
		}
		after = &place[0]
	}
	sums, err = s.options.Journal.UsageSums(ctx, asked, by, after)
	if len(sums) > q.Limit {
		sums = sums[:q.Limit]
		next = cursors.Encode(list, sums[q.Limit-1].Key)
	}
	return sums, next, err
}

// ToolLog lists the tool calls of the tenant's runs. The call that began last comes first.
func (s *Service) ToolLog(ctx context.Context, p Principal, q LogQuery) (rows []journal.ToolEntry, next string, err error) {
	return ledgerPage(ctx, "tool log", p, q, s.options.Journal.ToolLog, (*journal.ToolEntry).Place)
}

// MessageLog lists the messages of a conversation's ended runs, in their order. q.Conversation is
// required; of the other fields only Run, Cursor and Limit apply.
func (s *Service) MessageLog(ctx context.Context, p Principal, q LogQuery) (rows []journal.MessageEntry, next string, err error) {
	const op = "message log"
	if err := q.check(op, p); err != nil {
		return nil, "", err
	}
	if q.Conversation == "" {
		return nil, "", invalid(op, "no conversation is named", "name a conversation")
	}
	asked := journal.MessageQuery{Tenant: p.Tenant, Conversation: q.Conversation, Run: q.Run, Limit: q.Limit + 1}
	list := q.list(op, p)
	if q.Cursor == "" {
		if err := s.completeMessages(ctx, p.Tenant, q.Conversation); err != nil {
			return nil, "", err
		}
	} else {
		seq, part, ok := numbers(list, q.Cursor)
		if !ok {
			return nil, "", foreignCursor(op)
		}
		asked.After = journal.MessagePlace{Seq: seq, Part: int(part)}
	}
	rows, err = s.options.Journal.Messages(ctx, asked)
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		last := rows[q.Limit-1].MessagePlace
		next = cursors.Encode(list, strconv.FormatInt(last.Seq, 10), strconv.Itoa(last.Part))
	}
	return rows, next, err
}

// check validates the query and sets the default limit.
func (q *LogQuery) check(op string, p Principal) error {
	if err := p.check(op); err != nil {
		return err
	}
	if q.Limit < 0 || q.Limit > MostPage {
		return invalid(op, "the limit is out of bounds", "ask for 1 to "+strconv.Itoa(MostPage)+" at a time")
	}
	if q.Limit == 0 {
		q.Limit = DefaultPage
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return invalid(op, "the end of the time is before its beginning", "send from before to")
	}
	return nil
}

// ledger checks the query and returns it for the journal, with one row more than the page has.
func (q *LogQuery) ledger(p Principal, op string) (journal.LedgerQuery, error) {
	if err := q.check(op, p); err != nil {
		return journal.LedgerQuery{}, err
	}
	return journal.LedgerQuery{
		Tenant: p.Tenant, Conversation: q.Conversation, Run: q.Run, Executor: q.Executor, User: q.User, Model: q.Model, Tool: q.Tool,
		From: q.From, To: q.To, Limit: q.Limit + 1,
	}, nil
}

// ledgerPage reads a page of a list that is ordered by time.
func ledgerPage[E any](
	ctx context.Context, op string, p Principal, q LogQuery,
	read func(context.Context, journal.LedgerQuery) ([]E, error), place func(*E) journal.LedgerPlace,
) (rows []E, next string, err error) {
	asked, err := q.ledger(p, op)
	if err != nil {
		return nil, "", err
	}
	list := q.list(op, p)
	if asked.Before, err = q.before(op, list); err != nil {
		return nil, "", err
	}
	rows, err = read(ctx, asked)
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		next = placed(list, place(&rows[q.Limit-1]))
	}
	return rows, next, err
}

// list names the list that a cursor belongs to.
func (q *LogQuery) list(op string, p Principal) string {
	parts := []string{
		op, p.Tenant, q.Conversation, q.Run, q.Executor, q.User, q.Model, q.Tool, stamp(q.From), stamp(q.To),
	}
	for i, part := range parts {
		parts[i] = strconv.Quote(part)
	}
	return strings.Join(parts, " ")
}

// before decodes the cursor of a list that is ordered by time.
func (q *LogQuery) before(op, list string) (journal.LedgerPlace, error) {
	if q.Cursor == "" {
		return journal.LedgerPlace{}, nil
	}
	at, key, ok := numbers(list, q.Cursor)
	if !ok {
		return journal.LedgerPlace{}, foreignCursor(op)
	}
	return journal.LedgerPlace{Time: time.UnixMicro(at).UTC(), Key: key}, nil
}

func placed(list string, at journal.LedgerPlace) string {
	return cursors.Encode(list, strconv.FormatInt(at.Time.UnixMicro(), 10), strconv.FormatInt(at.Key, 10))
}

// numbers decodes a cursor of two numbers.
func numbers(list, text string) (a, b int64, ok bool) {
	place, ok := cursors.Decode(list, text, 2)
	if !ok {
		return 0, 0, false
	}
	a, errA := strconv.ParseInt(place[0], 10, 64)
	b, errB := strconv.ParseInt(place[1], 10, 64)
	return a, b, errA == nil && errB == nil
}

// RebuildMessages rebuilds the message log of a conversation from its events.
func (s *Service) RebuildMessages(ctx context.Context, p Principal, conversation string) error {
	const op = "rebuild messages"
	if _, err := s.row(ctx, p, op, conversation); err != nil {
		return err
	}
	return s.rebuildMessages(ctx, conversation, nil)
}
