package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	cursors "github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/service/directory"
)

// Conversation is a conversation as callers see it.
type Conversation struct {
	Row
	// Status is the status of its oldest open run. It is empty if no run is open.
	Status event.RunStatus
	// Open are its open runs in the order in which they are driven.
	Open []journal.Run
	// SessionID names the part of the log that the model sees. It is empty if the next run begins a
	// new session.
	SessionID string
}

// NewConversation holds the settings of a new conversation.
type NewConversation struct {
	Title    string
	Metadata map[string]string
	// Agent is the id of the tenant's agent that answers; empty means the tenant's default. The
	// conversation is pinned to the agent's current version. Without an active default agent, the
	// default at the first run is used.
	Agent string
	// User is the user who owns the conversation. Empty means the principal's user. Only a
	// principal without a user may name one.
	User string
}

// These are the bounds of texts that callers choose.
const (
	maxUser          = 1024
	maxTitle         = 200
	maxMetadata      = 32
	maxMetadataKey   = 64
	maxMetadataValue = 1024
)

// CreateConversation creates a conversation.
func (s *Service) CreateConversation(ctx context.Context, p Principal, n NewConversation) (Conversation, error) {
	return s.create(ctx, p, "create conversation", newID(conversationPrefix), n)
}

func (s *Service) create(ctx context.Context, p Principal, op, id string, n NewConversation) (Conversation, error) {
	if err := p.check(op); err != nil {
		return Conversation{}, err
	}
	if err := checkTitle(op, n.Title); err != nil {
		return Conversation{}, err
	}
	if err := checkMetadata(op, n.Metadata); err != nil {
		return Conversation{}, err
	}
	user, err := ownerOf(op, p, n.User)
	if err != nil {
		return Conversation{}, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	row := Row{
		Tenant: p.Tenant, ID: id, User: user, Title: n.Title, Metadata: n.Metadata, Created: now, Updated: now,
	}
	if err := s.choose(ctx, op, &row, n.Agent); err != nil {
		return Conversation{}, err
	}
	if err := s.keep(ctx, row); err != nil {
		return Conversation{}, err
	}
	return Conversation{Row: row}, nil
}

// OpenConversation returns the conversation with a name that the caller chose, and creates it as n
// says if there is none or it has expired. The name counts within the principal's tenant only. It
// serves callers with ids of their own.
func (s *Service) OpenConversation(ctx context.Context, p Principal, name string, n NewConversation) (Conversation, error) {
	const op = "open conversation"
	c, err := s.ConversationNamed(ctx, p, name)
	if !errors.Is(err, event.ErrNotFound) && !errors.Is(err, event.ErrGone) {
		return c, err
	}
	c, err = s.create(ctx, p, op, namedID(p.Tenant, name), n)
	if errors.Is(err, event.ErrConflict) { // another request was faster
		return s.ConversationNamed(ctx, p, name)
	}
	return c, err
}

// ConversationNamed returns the conversation with a name that the caller chose. It returns
// [event.ErrNotFound] if there is none.
func (s *Service) ConversationNamed(ctx context.Context, p Principal, name string) (Conversation, error) {
	return s.GetConversation(ctx, p, namedID(p.Tenant, name))
}

// namedID returns the id of a named conversation: as hard to guess as other ids, and always the
// same.
func namedID(tenant, name string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + name))
	return conversationPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20]))
}

// GetConversation returns a conversation.
func (s *Service) GetConversation(ctx context.Context, p Principal, id string) (Conversation, error) {
	row, err := s.row(ctx, p, "conversation", id)
	if err != nil {
		return Conversation{}, err
	}
	return s.conversation(ctx, row)
}

// row returns the row of a conversation that the principal may reach. Another tenant's conversation
// is not found. If the tenant isolates its users, another user's conversation is not found.
func (s *Service) row(ctx context.Context, p Principal, op, id string) (Row, error) {
	if err := p.check(op); err != nil {
		return Row{}, err
	}
	if err := checkID(op, "conversation", conversationPrefix, id); err != nil {
		return Row{}, err
	}
	user, err := s.reaches(ctx, p)
	if err != nil {
		return Row{}, err
	}
	return s.options.Rows.Find(ctx, p.Tenant, user, id)
}

func (s *Service) conversation(ctx context.Context, row Row) (Conversation, error) {
	open, err := s.queue(ctx, row.ID)
	if err != nil {
		return Conversation{}, err
	}
	c := Conversation{Row: row, Open: open}
	if c.SessionID, err = s.session(ctx, &row); err != nil {
		return Conversation{}, err
	}
	if len(open) > 0 {
		c.Status = open[0].Status
	}
	return c, nil
}

// Page selects a part of a list.
type Page struct {
	// Cursor is the next cursor of the previous page; empty means the first page. It is valid only
	// for the same tenant and filters.
	Cursor string
	// Limit is at most [MostPage]. 0 means [DefaultPage].
	Limit    int
	Archived bool
	// User lists only that user's conversations, or those without a user if it points to "". nil
	// lists all that the principal may reach.
	User *string
	// Agent lists only the conversations that are pinned to that agent. "" lists all.
	Agent string
	// Status lists only the conversations whose oldest open run, or else newest run, has the
	// status: open, queued, running, waiting, completed, failed or cancelled. "" lists all.
	//
	// With a status the conversation whose run was admitted last comes first, and a page may be
	// shorter than the limit although more follow.
	Status string
}

// These are the sizes of pages.
const (
	DefaultPage = 20
	MostPage    = 100
)

// ListConversations lists the conversations that the principal may reach. The newest comes first
// unless the page has a status. next is the cursor of the next page; empty means that there is
// none.
func (s *Service) ListConversations(ctx context.Context, p Principal, page Page) (list []Row, next string, err error) {
	const op = "list conversations"
	if err := p.check(op); err != nil {
		return nil, "", err
	}
	if page.Limit < 0 || page.Limit > MostPage {
		return nil, "", invalid(op, "the limit is out of bounds", "ask for 1 to 100 at a time")
	}
	if page.Limit == 0 {
		page.Limit = DefaultPage
	}
	if page.User != nil && *page.User != "" {
		if err := checkUser(op, *page.User); err != nil {
			return nil, "", err
		}
	}
	user, err := s.reaches(ctx, p)
	if err != nil {
		return nil, "", err
	}
	q := Query{Archived: page.Archived, User: page.User, Agent: page.Agent, Limit: page.Limit + 1}
	if user != "" {
		if page.User != nil && *page.User != user {
			return nil, "", nil // this principal reaches no other user's conversations
		}
		q.User = &user
	}
	if page.Status != "" {
		return s.listByStatus(ctx, op, p, page, q)
	}
	name := page.name(op, p, q.User)
	if page.Cursor != "" {
		place, ok := cursors.Decode(name, page.Cursor, 2)
		if !ok {
			return nil, "", foreignCursor(op)
		}
		created, err := strconv.ParseInt(place[0], 10, 64)
		if err != nil || checkID(op, "conversation", conversationPrefix, place[1]) != nil {
			return nil, "", foreignCursor(op)
		}
		q.Created, q.ID = time.UnixMicro(created).UTC(), place[1]
	}
	list, err = s.options.Rows.List(ctx, p.Tenant, q)
	if err != nil || len(list) <= page.Limit {
		return list, "", err
	}
	list = list[:page.Limit]
	last := list[len(list)-1]
	return list, cursors.Encode(name, strconv.FormatInt(last.Created.UnixMicro(), 10), last.ID), nil
}

// name names the list that a cursor belongs to.
func (page *Page) name(op string, p Principal, user *string) string {
	name := op + " " + strconv.Quote(p.Tenant) + " " + strconv.FormatBool(page.Archived)
	if user != nil {
		name += " user " + strconv.Quote(*user)
	}
	if page.Agent != "" {
		name += " agent " + strconv.Quote(page.Agent)
	}
	return name
}

// Changes are changes to a conversation. A nil field changes nothing. An empty metadata value
// removes the key.
type Changes struct {
	Title    *string
	Archived *bool
	Metadata map[string]string
	// User transfers the conversation to that user. Only a principal without a user may set it.
	User *string
	// Reset makes the next run begin a new session, as [Service.ResetConversation] does.
	Reset bool
}

// UpdateConversation renames, archives, labels, transfers or resets a conversation.
func (s *Service) UpdateConversation(ctx context.Context, p Principal, id string, c Changes) (Conversation, error) {
	const op = "update conversation"
	found, err := s.row(ctx, p, op, id)
	if err != nil {
		return Conversation{}, err
	}
	if c.Title != nil {
		if err := checkTitle(op, *c.Title); err != nil {
			return Conversation{}, err
		}
	}
	if c.User != nil {
		if p.User != "" {
			return Conversation{}, &event.Error{
				Op: op, Kind: event.ErrPermission, Code: "KEY_BOUND_TO_USER", Message: "the key acts for one user and cannot hand conversations over",
				Hint: "use a key without a user",
			}
		}
		if *c.User != "" {
			if err := checkUser(op, *c.User); err != nil {
				return Conversation{}, err
			}
		}
	}
	since := 0
	if c.Reset {
		at, err := s.place(ctx, id, 0)
		if err != nil {
			return Conversation{}, err
		}
		since = at.Turns + 1
	}
	row, err := s.change(ctx, found.Key(), func(row *Row) error {
		if since > 0 {
			row.Since = since
		}
		if c.User != nil {
			row.User = *c.User
		}
		if c.Title != nil {
			row.Title = *c.Title
		}
		if c.Archived != nil {
			row.Archived = *c.Archived
		}
		for k, v := range c.Metadata {
			if v == "" {
				delete(row.Metadata, k)
				continue
			}
			if row.Metadata == nil {
				row.Metadata = make(map[string]string)
			}
			row.Metadata[k] = v
		}
		row.Updated = time.Now().UTC().Truncate(time.Microsecond)
		return checkMetadata(op, row.Metadata)
	})
	if err != nil {
		return Conversation{}, err
	}
	s.changes.Add(1)
	s.folds.retitled(id)
	return s.conversation(ctx, row)
}

// DeleteConversation removes a conversation with everything in it. It returns [event.ErrLocked]
// while a run is open.
func (s *Service) DeleteConversation(ctx context.Context, p Principal, id string) error {
	return s.remove(ctx, p, id, func(ctx context.Context, tenant, id string, made time.Time) error {
		// First the audit: if it cannot be written, the deletion can be repeated.
		if err := s.record(ctx, p, "conversation.delete", "conversation/"+id); err != nil {
			return err
		}
		return s.options.Rows.Delete(ctx, tenant, id, made)
	})
}

// record adds an entry to the audit of the principal's tenant, if the directory knows the tenant.
func (s *Service) record(ctx context.Context, p Principal, action, object string) error {
	people := s.options.Directory
	if people == nil {
		return nil
	}
	if _, err := people.Tenant(ctx, p.Tenant); errors.Is(err, event.ErrNotFound) {
		return nil
	}
	by := directory.By{Tenant: p.Tenant, Key: p.Key, User: p.User, Operator: p.May(ScopeOperator)}
	return people.Record(ctx, by, p.Tenant, action, object, nil)
}

// remove removes a conversation with its log and files. row removes its row, as the last step.
func (s *Service) remove(
	ctx context.Context, p Principal, id string, row func(ctx context.Context, tenant, id string, made time.Time) error,
) error {
	const op = "delete conversation"
	defer s.locks.lock(id)()
	// The id may be reused before this is done: remove only this conversation's data.
	made, err := s.row(ctx, p, op, id)
	if err != nil {
		return err
	}
	// Remove the log first. After a crash there is then a row without a log, which can be deleted
	// again, and not a log without a row. If another process admits a run at the same time, either
	// it wins and the conversation stays, or it is refused.
	if err := s.options.Journal.Tombstone(ctx, p.Tenant, id, made.life()); err != nil && !errors.Is(err, event.ErrNotFound) {
		return err
	}
	s.folds.forget(id)
	if s.options.Forget != nil {
		if err := s.options.Forget(ctx, made.Key()); err != nil {
			return err
		}
	}
	if err := row(ctx, p.Tenant, id, made.Created); err != nil {
		return err
	}
	s.changes.Add(1)
	s.removed.Add(1)
	s.unscrubbed.Store(true)
	s.leave(made.Key().topic())
	return nil
}

// leave makes all followers of a conversation read its log and so find out that it is gone. It
// publishes an event that their log never has.
func (s *Service) leave(key live.Key) {
	publisher := s.bus.Publisher(key)
	defer publisher.Close()
	publisher.Publish(event.Event{Header: event.Header{Seq: math.MaxInt64}, Body: &event.RunEnded{}})
}

// ForkConversation creates a conversation whose history is what the model saw here up to the event
// at. 0 means all of it. Open calls are closed in the copy.
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
		Agent: row.Agent, AgentVersion: row.AgentVersion,
		Origin: id, At: past.last, History: history, Created: now, Updated: now,
	}
	if err := s.keep(ctx, fork); err != nil {
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

// Events returns events of the log after a Seq, with redacted events replaced. It does not hide
// internal events: the caller must. It returns at most limit events, or fewer if they are large,
// and none at the end. A limit of 0 means all.
func (s *Service) Events(ctx context.Context, p Principal, id string, after int64, limit int) ([]*event.Event, error) {
	events, _, err := s.EventPage(ctx, p, id, after, limit)
	return events, err
}

// EventPage is [Service.Events] and also reports whether more events follow the page.
func (s *Service) EventPage(ctx context.Context, p Principal, id string, after int64, limit int) (events []*event.Event, more bool, err error) {
	if _, err := s.row(ctx, p, "events", id); err != nil {
		return nil, false, err
	}
	v := s.view(id)
	events, err = v.read(ctx, after, limit)
	return events, v.more, err
}

// Export returns the whole log, with redacted events replaced.
func (s *Service) Export(ctx context.Context, p Principal, id string) (iter.Seq2[*event.Event, error], error) {
	if _, err := s.row(ctx, p, "export", id); err != nil {
		return nil, err
	}
	return s.view(id).all(ctx), nil
}

func checkTitle(op, title string) error {
	if !utf8.ValidString(title) || utf8.RuneCountInString(title) > maxTitle {
		return invalid(op, "the title is too long or not UTF-8", "send at most 200 characters of UTF-8")
	}
	return nil
}

func checkUser(op, user string) error {
	if user == "" || len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsRune(user, 0) {
		return invalid(op, "the user is empty, too long or not UTF-8", "send 1 to 1024 bytes of UTF-8")
	}
	return nil
}

func checkMetadata(op string, m map[string]string) error {
	if len(m) > maxMetadata {
		return invalid(op, "there is too much metadata", "send at most 32 entries")
	}
	for k, v := range m {
		switch {
		case k == "" || len(k) > maxMetadataKey || !utf8.ValidString(k) || len(v) > maxMetadataValue || !utf8.ValidString(v):
			return invalid(op, "a metadata entry is too long or not UTF-8", "send keys of 1 to 64 and values of at most 1024 bytes of UTF-8")
		case isReserved(k):
			return invalid(op, "metadata keys that begin with \"braid.\" are reserved", "choose another key")
		}
	}
	return nil
}
