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

// Conversation is a conversation as people see it.
type Conversation struct {
	Row
	// Status is that of its oldest open run; empty where none is open. Open are all
	// of them, the one that goes first first.
	Status event.RunStatus
	Open   []journal.Run
	// SessionID names the stretch of the log that the model sees; empty where the next run
	// begins one.
	SessionID string
}

// NewConversation is what a conversation begins with.
type NewConversation struct {
	Title    string
	Metadata map[string]string
	// Agent is the id of the tenant's agent that answers; empty means the tenant's choice. The
	// conversation keeps to the version that it has now. Where the tenant has made no choice, or
	// one that cannot answer now, the one that it has when the first run begins counts.
	Agent string
	// User is whose conversation it is. Empty means the principal's; only a principal without a user
	// may name one.
	User string
}

// The bounds of what people may call things.
const (
	maxUser          = 1024
	maxTitle         = 200
	maxMetadata      = 32
	maxMetadataKey   = 64
	maxMetadataValue = 1024
)

// CreateConversation makes a conversation.
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

// OpenConversation gives the conversation that a name of the caller's choice stands for
// in the principal's tenant, and makes it as n says where there is none: for those who
// have ids of their own; also where the one of that name is kept no longer. The same name is
// another conversation in another tenant.
func (s *Service) OpenConversation(ctx context.Context, p Principal, name string, n NewConversation) (Conversation, error) {
	const op = "open conversation"
	c, err := s.ConversationNamed(ctx, p, name)
	if !errors.Is(err, event.ErrNotFound) && !errors.Is(err, event.ErrGone) {
		return c, err
	}
	c, err = s.create(ctx, p, op, namedID(p.Tenant, name), n)
	if errors.Is(err, event.ErrConflict) { // somebody else was faster
		return s.ConversationNamed(ctx, p, name)
	}
	return c, err
}

// ConversationNamed is [Service.OpenConversation] that makes none: where there is none it
// is [event.ErrNotFound].
func (s *Service) ConversationNamed(ctx context.Context, p Principal, name string) (Conversation, error) {
	return s.GetConversation(ctx, p, namedID(p.Tenant, name))
}

// namedID is the id that a name has: as hard to guess as the others, and the same each time.
func namedID(tenant, name string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + name))
	return conversationPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20]))
}

// GetConversation gives a conversation as it stands.
func (s *Service) GetConversation(ctx context.Context, p Principal, id string) (Conversation, error) {
	row, err := s.row(ctx, p, "conversation", id)
	if err != nil {
		return Conversation{}, err
	}
	return s.conversation(ctx, row)
}

// row finds a conversation that the principal reaches: another tenant's, and where the tenant keeps
// its users apart another user's, is not found.
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

// Page is a part of a list.
type Page struct {
	// Cursor is what the page before gave as Next; empty begins. It is good for the same tenant and
	// the same filters alone.
	Cursor string
	// Limit is at most [MostPage]; 0 means [DefaultPage].
	Limit    int
	Archived bool
	// User lists only that user's conversations, or those of no user if it points to ""; nil lists
	// all that the principal reaches.
	User *string
	// Agent lists only the conversations that keep to that agent; "" lists all.
	Agent string
	// Status lists only the conversations whose oldest open run, or else newest run, has the status: open, queued,
	// running, waiting, completed, failed or cancelled. "" lists all. The list then follows the runs, the one that
	// was admitted last first, and a page may have fewer conversations than the limit while there are more.
	Status string
}

// The sizes of pages.
const (
	DefaultPage = 20
	MostPage    = 100
)

// ListConversations lists the conversations that the principal reaches, newest first unless the page has a status. next is the
// cursor of the page after this one; empty means that there is none.
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
			return nil, "", nil // nothing of another user is there for this one
		}
		q.User = &user
	}
	if page.Status != "" {
		return s.listStanding(ctx, op, p, page, q)
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

// Changes are what may be changed of a conversation; nil leaves a field as it is. A
// metadata value of "" removes the key.
type Changes struct {
	Title    *string
	Archived *bool
	Metadata map[string]string
	// User hands the conversation to that user. Only a principal without a user may.
	User *string
	// Reset has the next run begin a new session, as [Service.ResetConversation] does.
	Reset bool
}

// UpdateConversation renames, archives, labels or resets a conversation.
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
	s.warm.retitled(id)
	return s.conversation(ctx, row)
}

// DeleteConversation removes a conversation with everything that was said in it.
// While a run of it is open it is [event.ErrLocked].
func (s *Service) DeleteConversation(ctx context.Context, p Principal, id string) error {
	return s.remove(ctx, p, id, func(ctx context.Context, tenant, id string, made time.Time) error {
		// Before the row: a deletion that cannot be written into the audit can be repeated.
		if err := s.record(ctx, p, "conversation.delete", "conversation/"+id); err != nil {
			return err
		}
		return s.options.Rows.Delete(ctx, tenant, id, made)
	})
}

// record adds an entry to the audit of the principal's tenant, if the directory knows it.
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

// remove removes a conversation with its log and files; its row, the last, by the function.
func (s *Service) remove(
	ctx context.Context, p Principal, id string, row func(ctx context.Context, tenant, id string, made time.Time) error,
) error {
	const op = "delete conversation"
	defer s.doors.enter(id)()
	// A name may stand for another conversation before this is through: all that goes is of this one.
	made, err := s.row(ctx, p, op, id)
	if err != nil {
		return err
	}
	// The log goes first: a crash between the two leaves a name without a log, which
	// can be deleted again, not a log that nobody can name. A run that another process lets in at the
	// same time comes before that, and then the conversation stays, or it comes too late.
	if err := s.options.Journal.Bury(ctx, p.Tenant, id, made.life()); err != nil && !errors.Is(err, event.ErrNotFound) {
		return err
	}
	s.warm.forget(id)
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

// leave has all who watch a conversation look at its log, and so find that it has gone: an
// event that no log will ever have is missing from theirs.
func (s *Service) leave(key live.Key) {
	publisher := s.bus.Publisher(key)
	defer publisher.Close()
	publisher.Publish(event.Event{Header: event.Header{Seq: math.MaxInt64}, Body: &event.RunEnded{}})
}

// ForkConversation makes a new conversation that knows what the model saw of this one
// after the event at; 0 means its end. Open calls are closed in it.
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
		history = row.History // nothing was said in it yet
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

// past is a journal that ends with an event. What is redacted after it is so in it.
type past struct {
	journal.Store
	view *view

	// at is where it ends, 0 for no end; last is what was read.
	at, last int64
}

// Read implements [journal.Store].
func (p *past) Read(ctx context.Context, _ string, after int64, limit int) ([]*event.Event, error) {
	events, err := p.view.read(ctx, after, limit)
	for err == nil && p.view.more && len(events) < limit { // a page that ended because its events are large
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

// Tail implements [journal.Store].
func (p *past) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	events, err := p.Read(ctx, conversation, 0, 0)
	return journal.Tail{First: 1, Last: int64(len(events)), Events: events}, err
}

// Events reads the log after seq, with what stands in place of what was redacted. What is
// internal is the caller's to hide. It returns at most limit events; fewer if these are large, and none at the end. A limit of 0
// is all.
func (s *Service) Events(ctx context.Context, p Principal, id string, after int64, limit int) ([]*event.Event, error) {
	events, _, err := s.EventPage(ctx, p, id, after, limit)
	return events, err
}

// EventPage is [Service.Events], and says whether there are more events behind the page.
func (s *Service) EventPage(ctx context.Context, p Principal, id string, after int64, limit int) (events []*event.Event, more bool, err error) {
	if _, err := s.row(ctx, p, "events", id); err != nil {
		return nil, false, err
	}
	v := s.view(id)
	events, err = v.read(ctx, after, limit)
	return events, v.more, err
}

// Export gives the whole log, with what stands in place of what was redacted.
func (s *Service) Export(ctx context.Context, p Principal, id string) (iter.Seq2[*event.Event, error], error) {
	if _, err := s.row(ctx, p, "export", id); err != nil {
		return nil, err
	}
	return s.view(id).all(ctx), nil
}

func checkTitle(op, title string) error {
	if !utf8.ValidString(title) || utf8.RuneCountInString(title) > maxTitle {
		return invalid(op, "the title is too long, or no text", "send at most 200 characters of UTF-8")
	}
	return nil
}

func checkUser(op, user string) error {
	if user == "" || len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsRune(user, 0) {
		return invalid(op, "the user is too long, or no text", "send 1 to 1024 bytes of UTF-8")
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
			return invalid(op, "a metadata entry is too long, or no text", "send keys of 1 to 64 and values of at most 1024 bytes of UTF-8")
		case isReserved(k):
			return invalid(op, "metadata keys that begin with \"braid.\" are reserved", "call it something else")
		}
	}
	return nil
}
