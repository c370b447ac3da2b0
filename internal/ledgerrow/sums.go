package ledgerrow

import (
	"math"
	"strings"
	"time"

	"github.com/braidrun/braid/journal"
)

// dayLength is a day in microseconds.
const dayLength = int64(24 * time.Hour / time.Microsecond)

// few is how many calls a query reads and sorts, instead of reading groups in the order of their keys.
const few = 30_000

// Matching returns the query for how many calls q matches at most, and whether [Dialect.Sums] needs the number.
func (d Dialect) Matching(q *journal.LedgerQuery, by journal.UsageBy) (text string, args []any, needed bool) {
	if !single(by) || q.Conversation != "" || q.Run != "" || !filters(q) {
		return "", nil, false
	}
	_, _, first, last := span(q)
	if !q.From.IsZero() && first > 0 {
		first-- // the day that the time begins in
	}
	if last < math.MaxInt64 {
		last++
	}
	w := &where{Dialect: d}
	text = "SELECT CAST(coalesce(sum(s.calls), 0) AS bigint) FROM (" + w.days(q, table(q, by), first, last) + ") s"
	return text, w.args, true
}

// single reports whether a group has its own calls in the table of calls, where an index has them in its order.
func single(by journal.UsageBy) bool {
	return by == journal.UsageByConversation || by == journal.UsageByRun
}

// filters reports whether q restricts the calls of a tenant, beside those to a conversation or a run.
func filters(q *journal.LedgerQuery) bool {
	return q.Executor != "" || q.User != "" || q.Model != "" || !q.From.IsZero() || !q.To.IsZero()
}

// table names the table of days for a query.
func table(q *journal.LedgerQuery, by journal.UsageBy) string {
	if q.User != "" || by == journal.UsageByUser {
		return "usage_people"
	}
	return "usage_days"
}

// Sums returns the query for rows that [SumRow] reads. known is false if by is not a known
// grouping. matches is what [Dialect.Matching] found.
//
// Whole days come from usage_days and usage_people, which have few rows. Partial days, and sums by conversation
// or run, come from usage_logs, which has one row per call.
func (d Dialect) Sums(q *journal.LedgerQuery, by journal.UsageBy, after *string, matches int64) (text string, args []any, known bool) {
	key, known := map[journal.UsageBy]string{
		journal.UsageByModel: "s.model", journal.UsageByConversation: "s.conversation", journal.UsageByRun: "s.run",
		journal.UsageByDay: d.Day, journal.UsageByExecutor: "s.executor", journal.UsageByAgent: "s.subagent_type",
		journal.UsageByKind: "s.kind", journal.UsageByUser: "s.person",
	}[by]
	if !known {
		return "", nil, false
	}
	w := &where{Dialect: d}
	fine := q.Conversation != "" || q.Run != "" || single(by)
	from, to, first, last := span(q)
	var sources []string
	if fine || first >= last {
		sources = append(sources, w.calls(q, planOf(q, by, matches), from, to))
	} else {
		sources = append(sources, w.days(q, table(q, by), first, last))
		if from < edge(first) {
			sources = append(sources, w.calls(q, plan{}, from, edge(first)))
		}
		if edge(last) < to {
			sources = append(sources, w.calls(q, plan{}, edge(last), to))
		}
	}
	narrow := ""
	if after != nil {
		w.args = append(w.args, *after)
		narrow = " WHERE " + key + " > " + w.mark(len(w.args))
	}
	columns := []string{key, "CAST(sum(s.calls) AS bigint)"}
	for _, c := range []string{"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "known_nano_usd"} {
		// Halves of numbers are summed separately, so that no sum overflows.
		columns = append(columns, "CAST(sum(s."+c+" >> 32) AS bigint)", "CAST(sum(s."+c+" & 4294967295) AS bigint)")
	}
	columns = append(columns, "CAST(sum(s.unpriced) AS bigint)", "CAST(sum(s.estimated) AS bigint)")
	text = "SELECT " + strings.Join(columns, ", ") + " FROM (" + strings.Join(sources, " UNION ALL ") + ") s" + narrow +
		" GROUP BY 1 ORDER BY 1" + w.limit(q.Limit)
	return text, w.args, true
}

// span returns q's time range in microseconds and the whole days inside it.
func span(q *journal.LedgerQuery) (from, to, first, last int64) {
	from, to, first, last = math.MinInt64, math.MaxInt64, 0, math.MaxInt64
	if !q.From.IsZero() {
		from = ceil(q.From)
		first = max((from+dayLength-1)/dayLength, 0)
	}
	if !q.To.IsZero() {
		to = ceil(q.To)
		last = to / dayLength
	}
	return from, to, first, last
}

// edge returns when a day begins. The first day also includes all earlier time, the last one all
// later time.
func edge(day int64) int64 {
	switch day {
	case 0:
		return math.MinInt64
	case math.MaxInt64:
		return math.MaxInt64
	}
	return day * dayLength
}

// days selects the sums of whole days from a table of days.
func (w *where) days(q *journal.LedgerQuery, table string, first, last int64) string {
	c, person := w.begin(), "''"
	c.and("d.tenant = #", q.Tenant)
	if table == "usage_people" {
		person = "d.person"
		c.match(person, q.User)
	}
	c.match("d.executor", q.Executor)
	c.match("d.model", q.Model)
	if first > 0 {
		c.and("d.day >= #", first)
	}
	if last < math.MaxInt64 {
		c.and("d.day < #", last)
	}
	return `SELECT d.model, '' AS conversation, '' AS run, ` + person + ` AS person, d.executor, d.subagent_type, d.kind, d.day, d.calls,
		d.input_tokens, d.output_tokens, d.cache_read_tokens, d.cache_write_tokens, d.known_nano_usd, d.unpriced,
		d.estimated FROM ` + table + ` d` + c.end(w)
}

// plan has what hides a column from the indexes, because neither database knows how many calls match: "" or an operation
// without an effect.
type plan struct{ conversation, run, person, at string }

// planOf chooses the index. An index has the groups in order, so that a page reads only its own groups; that is long if
// few calls match. An index by time or by user has the few.
func planOf(q *journal.LedgerQuery, by journal.UsageBy, matches int64) (p plan) {
	const text, number = " || ''", " + 0"
	switch {
	case q.Run != "":
		return plan{conversation: text, person: text, at: number}
	case q.Conversation != "":
		return plan{run: text, person: text, at: number}
	case !single(by):
		return plan{}
	case filters(q) && matches < few:
		return plan{conversation: text, run: text}
	default:
		return plan{person: text, at: number}
	}
}

// calls selects the calls in [from, to), each as a sum of one call.
func (w *where) calls(q *journal.LedgerQuery, hide plan, from, to int64) string {
	c := w.begin()
	c.and("u.tenant = #", q.Tenant)
	c.match("u.conversation"+hide.conversation, q.Conversation)
	c.match("u.run"+hide.run, q.Run)
	c.match("u.executor", q.Executor)
	c.match("u.model", q.Model)
	c.match("u.person"+hide.person, q.User)
	if from != math.MinInt64 {
		c.and("u.at"+hide.at+" >= #", from)
	}
	if to != math.MaxInt64 {
		c.and("u.at"+hide.at+" < #", to)
	}
	return `SELECT u.model, u.conversation` + hide.conversation + ` AS conversation, u.run` + hide.run + ` AS run, coalesce(u.person, '') AS person,
		u.executor, u.subagent_type, u.kind, u.at / 86400000000 AS day, 1 AS calls,
		u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_tokens, coalesce(u.cost_nano_usd, 0) AS known_nano_usd,
		CASE WHEN u.cost_nano_usd IS NULL THEN 1 ELSE 0 END AS unpriced, CASE WHEN u.estimated THEN 1 ELSE 0 END AS estimated
		FROM usage_logs u` + c.end(w)
}

// begin starts the conditions of another part of the statement.
func (w *where) begin() *where { return &where{Dialect: w.Dialect, args: w.args} }

// end returns the conditions and passes their parameters to the statement.
func (w *where) end(whole *where) string {
	whole.args = w.args
	return w.text.String()
}

// match restricts a column to a value; "" is no restriction.
func (w *where) match(column, value string) {
	if value != "" {
		w.and(column+" = #", value)
	}
}

// SumRow is a row of sums as the database returns it. The upper and lower halves of large numbers
// are summed separately.
type SumRow struct {
	sum   journal.UsageSum
	parts [5][2]int64
}

// Into returns the destinations for a scan.
func (r *SumRow) Into() []any {
	to := []any{&r.sum.Key, &r.sum.Calls}
	for i := range r.parts {
		to = append(to, &r.parts[i][0], &r.parts[i][1])
	}
	return append(to, &r.sum.Unpriced, &r.sum.Estimated)
}

// Sum returns the sum. A number that does not fit is clamped to the range of int64.
func (r *SumRow) Sum() journal.UsageSum {
	s := r.sum
	for i, to := range [...]*int64{&s.Input, &s.Output, &s.CacheRead, &s.CacheWrite, &s.KnownNanoUSD} {
		high, low := r.parts[i][0], r.parts[i][1]
		high += low >> 32
		low &= math.MaxUint32
		switch {
		case high > math.MaxInt32:
			*to = math.MaxInt64
		case high < math.MinInt32:
			*to = math.MinInt64
		default:
			*to = high<<32 | low
		}
	}
	return s
}
