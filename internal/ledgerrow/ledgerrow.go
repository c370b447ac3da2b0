// Package ledgerrow builds the ledger's queries for SQL stores and reads their rows, in each
// database's dialect.
package ledgerrow

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Dialect holds what differs between the databases.
type Dialect struct {
	// Mark precedes the number of a parameter.
	Mark byte
	// Day is the expression that formats the column s.day, days since 1970 in UTC, as
	// 2026-11-21.
	Day string
}

// where collects conditions and their parameters.
type where struct {
	Dialect
	text strings.Builder
	args []any
}

// and adds a condition; # stands for the parameter.
func (w *where) and(condition string, value any) {
	if w.text.Len() == 0 {
		w.text.WriteString(" WHERE ")
	} else {
		w.text.WriteString(" AND ")
	}
	w.args = append(w.args, value)
	w.text.WriteString(strings.ReplaceAll(condition, "#", w.mark(len(w.args))))
}

func (w *where) mark(n int) string { return string(w.Mark) + strconv.Itoa(n) }

// limit returns a LIMIT clause; "" for 0 or less.
func (w *where) limit(n int) string {
	if n <= 0 {
		return ""
	}
	w.args = append(w.args, int64(n))
	return " LIMIT " + w.mark(len(w.args))
}

// during restricts the rows to q's time range and to those after the page position q.Before.
func (w *where) during(q *journal.LedgerQuery, at, key string) {
	if !q.From.IsZero() {
		w.and(at+" >= #", ceil(q.From))
	}
	if !q.To.IsZero() {
		w.and(at+" < #", ceil(q.To))
	}
	if before := q.Before; before != (journal.LedgerPlace{}) {
		us := before.Time.UnixMicro()
		w.and(at+" <= #", us)
		w.args = append(w.args, before.Key)
		w.text.WriteString(" AND (" + at + " < " + w.mark(len(w.args)-1) + " OR " + key + " < " + w.mark(len(w.args)) + ")")
	}
}

// ceil returns a time in microseconds, rounded up.
func ceil(t time.Time) int64 {
	us := t.UnixMicro()
	if time.UnixMicro(us).Before(t) {
		us++
	}
	return us
}

func (d Dialect) usage(q *journal.LedgerQuery) *where {
	w := &where{Dialect: d}
	w.and("u.tenant = #", q.Tenant)
	for _, c := range []struct{ column, value string }{
		{"u.conversation", q.Conversation}, {"u.run", q.Run}, {"u.executor", q.Executor}, {"u.model", q.Model}, {"u.person", q.User},
	} {
		if c.value != "" {
			w.and(c.column+" = #", c.value)
		}
	}
	return w
}

// Usage returns the query for rows that [UsageRow] reads. It looks up each row's run by itself,
// because the database may plan a join over all runs.
func (d Dialect) Usage(q *journal.LedgerQuery) (text string, args []any) {
	w := d.usage(q)
	w.during(q, "u.at", "u.key")
	text = `SELECT u.key, u.tenant, u.conversation, u.run, u.turn, u.executor, u.step, u.attempt, u.seq, u.kind, u.scope,
		u.tool_use_id, u.subagent_type, u.model, u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_tokens,
		u.cost_nano_usd, u.estimated, u.status, u.at, coalesce(u.person, ''),
		coalesce(u.run_status, (SELECT r.status FROM run r WHERE r.id = u.run AND r.tenant || '' = u.tenant), '')
		FROM usage_logs u` +
		w.text.String() + " ORDER BY u.at DESC, u.key DESC" + w.limit(q.Limit)
	return text, w.args
}

// Tools returns the query for rows that [ToolRow] reads. It looks up runs and conversations one
// by one, as Usage does.
func (d Dialect) Tools(q *journal.LedgerQuery) (text string, args []any) {
	w := &where{Dialect: d}
	tenant := "t.tenant = #"
	if q.Conversation != "" || q.Run != "" {
		// The concatenation keeps the planner off the index by tenant and time, which it would
		// read whole.
		tenant = "t.tenant || '' = #"
	}
	w.and(tenant, q.Tenant)
	for _, c := range []struct{ condition, value string }{
		{"t.run IN (SELECT key FROM run WHERE conversation = (SELECT key FROM conversation WHERE id = #))", q.Conversation},
		{"t.run = (SELECT key FROM run WHERE id = #)", q.Run},
		{"(SELECT executor FROM run WHERE key = t.run) = #", q.Executor},
		{"t.tool_name = #", q.Tool},
	} {
		if c.value != "" {
			w.and(c.condition, c.value)
		}
	}
	w.during(q, "t.began_at", "t.key")
	text = `SELECT t.key, t.tenant,
		(SELECT c.id FROM conversation c WHERE c.key = (SELECT r.conversation FROM run r WHERE r.key = t.run)),
		(SELECT r.id FROM run r WHERE r.key = t.run), (SELECT r.turn FROM run r WHERE r.key = t.run),
		(SELECT r.executor FROM run r WHERE r.key = t.run), t.step, t.attempt, t.asked, t.ended, t.tool_use_id,
		t.parent_tool_use_id, t.scope, t.subagent_type, t.tool_name, t.source, t.input, t.output, t.is_error, t.status,
		t.began_at, t.finished_at FROM tool_execution_logs t` + w.text.String() +
		" ORDER BY t.began_at DESC, t.key DESC" + w.limit(q.Limit)
	return text, w.args
}

// UsageRow is a usage row as the database stores it.
type UsageRow struct {
	entry journal.UsageEntry
	at    int64
}

// Into returns the destinations for a scan.
func (r *UsageRow) Into() []any {
	u := &r.entry
	return []any{
		&u.Key, &u.Tenant, &u.Conversation, &u.Run, &u.Turn, &u.Executor, &u.Step, &u.Attempt, &u.Seq, &u.Kind, &u.Scope,
		&u.Call, &u.Agent, &u.Model, &u.Input, &u.Output, &u.CacheRead, &u.CacheWrite,
		&u.CostNanoUSD, &u.Estimated, &u.Status, &r.at, &u.User, &u.RunStatus,
	}
}

// Entry converts the row.
func (r *UsageRow) Entry() journal.UsageEntry {
	u := r.entry
	u.Time = time.UnixMicro(r.at).UTC()
	return u
}

// ToolRow is a row of a tool call as the database stores it.
type ToolRow struct {
	entry         journal.ToolEntry
	input, output []byte
	began         int64
	finished      *int64
}

// Into returns the destinations for a scan.
func (r *ToolRow) Into() []any {
	t := &r.entry
	return []any{
		&t.Key, &t.Tenant, &t.Conversation, &t.Run, &t.Turn, &t.Executor, &t.Step, &t.Attempt, &t.Asked, &t.End, &t.Call,
		&t.Parent, &t.Scope, &t.Agent, &t.Name, &t.Source, &r.input, &r.output, &t.IsError, &t.Status,
		&r.began, &r.finished,
	}
}

// Entry converts the row. The error means that the stored output is damaged.
func (r *ToolRow) Entry() (journal.ToolEntry, error) {
	t := r.entry
	t.Input = json.RawMessage(r.input)
	t.Began = time.UnixMicro(r.began).UTC()
	if r.finished != nil {
		t.Finished = time.UnixMicro(*r.finished).UTC()
	}
	var err error
	if len(r.output) > 0 {
		t.Output, err = event.DecodeBlocks(r.output)
	}
	return t, err
}

// Output encodes a tool's output for its column. It returns nil for no output and for output that
// cannot be encoded.
func Output(blocks []event.Block) []byte {
	if len(blocks) == 0 {
		return nil
	}
	raw, err := event.AppendBlocks(nil, blocks)
	if err != nil {
		return nil
	}
	return raw
}

// Micros returns a time in microseconds; nil for the zero time.
func Micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}
