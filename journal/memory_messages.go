package journal

import (
	"cmp"
	"context"
	"slices"

	"github.com/braidrun/braid/event"
)

// KeepMessages implements [Ledger].
func (m *Memory) KeepMessages(ctx context.Context, id string, list []MessageEntry) error {
	const op = "journal keep messages"
	if err := alive(ctx, op); err != nil {
		return err
	}
	if id == "" {
		return noID(op, "a run needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[id]
	if r == nil {
		return notFound(op, "there is no such run")
	}
	r.messages = make([]MessageEntry, len(list))
	for i := range list {
		e := list[i]
		for _, s := range []*string{&e.Type, &e.Subtype, &e.Call, &e.Parent} {
			*s = LedgerText(*s)
		}
		e.Conversation, e.Run, e.Turn = r.row.Conversation, r.row.ID, r.row.Turn
		e.Content, e.Time = slices.Clone(e.Content), ledgerTime(e.Time)
		r.messages[i] = e
	}
	m.tally.touch(r.conversation)
	slices.SortFunc(r.messages, func(a, b MessageEntry) int { return a.compare(b.MessagePlace) })
	return nil
}

// compare orders places.
func (p MessagePlace) compare(q MessagePlace) int {
	return cmp.Or(cmp.Compare(p.Seq, q.Seq), cmp.Compare(p.Part, q.Part))
}

// Messages implements [Ledger].
func (m *Memory) Messages(ctx context.Context, q MessageQuery) ([]MessageEntry, error) {
	const op = "journal messages"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if q.Conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[q.Conversation]
	if c == nil || c.tenant != q.Tenant {
		return nil, nil
	}
	var found []MessageEntry
	for _, r := range c.runs {
		if q.Run != "" && q.Run != r.row.ID {
			continue
		}
		for i := range r.messages {
			if q.Limit > 0 && len(found) == q.Limit {
				return found, nil
			}
			if r.messages[i].compare(q.After) > 0 {
				found = append(found, r.messages[i])
			}
		}
	}
	return found, nil
}

// Unkept implements [Ledger].
func (m *Memory) Unkept(ctx context.Context, tenant, conversation string) ([]string, error) {
	const op = "journal unkept messages"
	if err := alive(ctx, op); err != nil {
		return nil, err
	}
	if conversation == "" {
		return nil, noID(op, "a conversation needs an id")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[conversation]
	if c == nil || c.tenant != tenant {
		return nil, nil
	}
	var runs []string
	for _, r := range c.runs {
		first := slices.IndexFunc(c.events, func(e *event.Event) bool { return e.Run == r.row.ID })
		if r.row.Status.Ended() && first >= 0 && (len(r.messages) == 0 || r.messages[0].Seq != c.events[first].Seq) {
			runs = append(runs, r.row.ID)
		}
	}
	return runs, nil
}

// eraseMessages erases what messages repeat of a redacted event.
func (r *run) eraseMessages(b *event.Redacted) {
	for i := range r.messages {
		if r.messages[i].Seq == b.Target {
			r.messages[i].Content = nil
		}
	}
}
