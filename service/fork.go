package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// ForkConversation creates a conversation whose history is what the model saw here up to the event
// at. 0 means all of it. Open calls are closed in the copy. The fork has the files that the workspace holds now.
func (s *Service) ForkConversation(ctx context.Context, p Principal, id string, at int64) (Conversation, error) {
	const op = "fork conversation"
	row, err := s.row(ctx, p, op, id)
	if err != nil {
		return Conversation{}, err
	}
	past := &past{Store: s.options.Journal, view: s.view(id), at: at}
	history, err := braid.Open(past, id).Messages(ctx)
	if err != nil {
		return Conversation{}, err
	}
	if at < 0 || at > past.last {
		return Conversation{}, invalid(op, "the conversation has no such event", "choose the seq of one of its events")
	}
	if past.last == 0 {
		history = row.History // it has no log yet
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	fork := Row{
		Tenant: p.Tenant, ID: newID(conversationPrefix), User: cmp.Or(p.User, row.User), Title: row.Title, Metadata: row.Metadata,
		Agent: row.Agent, AgentVersion: row.AgentVersion, NoFiles: row.NoFiles,
		Origin: id, At: past.last, History: history, Created: now, Updated: now,
	}
	if err := s.quotas.keep(ctx, fork); err != nil {
		return Conversation{}, err
	}
	if err := s.forkFiles(ctx, &row, &fork); err != nil {
		// The caller has no id of the fork, so nobody would delete it.
		gone := context.WithoutCancel(ctx)
		_ = s.options.Journal.Tombstone(gone, fork.Tenant, fork.ID, fork.life())
		_ = s.options.Rows.Delete(gone, fork.Tenant, fork.ID, fork.Created)
		return Conversation{}, err
	}
	return Conversation{Row: fork}, nil
}

// past is a journal that ends at an event. Later redactions still apply.
type past struct {
	journal.Store
	view *view

	// at is the Seq of its last event; 0 means no end.
	at int64
	// last is the Seq of the last event that was read.
	last int64
}

// Read implements [journal.Store].
func (p *past) Read(ctx context.Context, _ string, after int64, limit int) ([]*event.Event, error) {
	events, err := p.view.read(ctx, after, limit)
	for err == nil && p.view.more && len(events) < limit { // the page ended early because its events are large
		var more []*event.Event
		more, err = p.view.read(ctx, events[len(events)-1].Seq, limit-len(events))
		events = append(slices.Clip(events), more...)
	}
	for i, e := range events {
		if p.at > 0 && e.Seq > p.at {
			events = events[:i:i]
			break
		}
		p.last = e.Seq
	}
	return events, err
}

var _ journal.Store = (*past)(nil)

// ReadPage implements [journal.Store]. It bounds only the number of events.
func (p *past) ReadPage(ctx context.Context, conversation string, after int64, limit int, _ int64) ([]*event.Event, bool, error) {
	events, err := p.Read(ctx, conversation, after, limit)
	return events, limit > 0 && len(events) == limit, err
}

// Tail implements [journal.Store].
func (p *past) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	events, err := p.Read(ctx, conversation, 0, 0)
	return journal.Tail{First: 1, Last: int64(len(events)), Events: events}, err
}

// StoredTail implements [journal.Store]. A stored fold may end after the event at which this journal ends.
func (p *past) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	t, err := p.Tail(ctx, conversation)
	return journal.StoredTail{Tail: t}, err
}
