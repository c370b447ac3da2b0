package ledgerrow

import (
	"time"

	"github.com/braidrun/braid/journal"
)

// Messages returns the query for rows that [MessageRow] reads.
func (d Dialect) Messages(q *journal.MessageQuery) (text string, args []any) {
	w := &where{Dialect: d}
	w.and("c.id = #", q.Conversation)
	w.and("c.tenant = #", q.Tenant)
	if q.Run != "" {
		w.and("r.id = #", q.Run)
	}
	if q.After != (journal.MessagePlace{}) {
		w.and("m.seq >= #", q.After.Seq)
		w.args = append(w.args, q.After.Part)
		w.text.WriteString(" AND (m.seq > " + w.mark(len(w.args)-1) + " OR m.part > " + w.mark(len(w.args)) + ")")
	}
	text = `SELECT c.id, r.id, r.turn, m.seq, m.part, m.type, m.subtype, m.tool_use_id, m.parent_tool_use_id, m.content, m.at
		FROM conversation c JOIN message_logs m ON m.conversation = c.key JOIN run r ON r.key = m.run` +
		w.text.String() + " ORDER BY m.seq, m.part" + w.limit(q.Limit)
	return text, w.args
}

// MessageRow is a message row as the database stores it.
type MessageRow struct {
	entry   journal.MessageEntry
	content []byte
	at      int64
}

// Into returns the destinations for a scan.
func (r *MessageRow) Into() []any {
	m := &r.entry
	return []any{
		&m.Conversation, &m.Run, &m.Turn, &m.Seq, &m.Part, &m.Type, &m.Subtype, &m.Call, &m.Parent, &r.content, &r.at,
	}
}

// Entry converts the row.
func (r *MessageRow) Entry() journal.MessageEntry {
	m := r.entry
	m.Content, m.Time = r.content, time.UnixMicro(r.at).UTC()
	return m
}
