package service

import (
	"context"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// Rows stores the data of conversations beside their logs. All methods are safe for concurrent use
// and return *[event.Error]s: [event.ErrNotFound] for a row that the tenant does not have,
// [event.ErrUnavailable] if the store cannot be reached.
type Rows interface {
	// Create adds a row. It returns ErrConflict if the id is taken, and [event.ErrQuota] if the
	// tenant already has most rows. A most of 0 means no bound.
	Create(ctx context.Context, row Row, most int64) error
	// Count returns how many rows the tenant has, including archived ones. It reads a counter and
	// no rows.
	Count(ctx context.Context, tenant string) (int64, error)
	// Bytes returns how many bytes the titles, metadata and histories of the tenant's rows take. It
	// reads a counter and no rows.
	Bytes(ctx context.Context, tenant string) (int64, error)
	// Get returns a row. It returns [event.ErrGone] if the row has expired.
	Get(ctx context.Context, tenant, id string) (Row, error)
	// Find is Get for one user of the tenant. For the row of another user or of none it returns
	// [event.ErrNotFound], even if it has expired. An empty user finds every row.
	Find(ctx context.Context, tenant, user, id string) (Row, error)
	// List returns the rows that q selects, at most limit, without their History. The newest comes
	// first unless q says otherwise.
	List(ctx context.Context, tenant string, q Query) ([]Row, error)
	// Change calls change with the row and stores the result, in one transaction. If change returns
	// an error, Change returns it and stores nothing. ID, Tenant and Created cannot change.
	Change(ctx context.Context, tenant, id string, change func(row *Row) error) (Row, error)
	// Delete removes the row that was created at made. It returns ErrNotFound if a row of that id
	// was created at another time.
	Delete(ctx context.Context, tenant, id string, made time.Time) error
	// Expire removes a row as Delete does, and notes that it has expired. For a year Get, and Find
	// for the row's user, then return [event.ErrGone], unless a new row has that id.
	Expire(ctx context.Context, tenant, id string, made, at time.Time) error
	// Close releases the store's resources.
	Close() error
}

// remembered is how long the store notes that a conversation has expired.
const remembered = 366 * 24 * time.Hour

// codeExpired is the Code of the error for an expired conversation.
const codeExpired = "CONVERSATION_EXPIRED"

func expired() error {
	return &event.Error{
		Op: "conversation", Kind: event.ErrGone, Code: codeExpired, Message: "the conversation has expired",
		Hint: "begin another conversation",
	}
}

// tooMany returns the error for a tenant that already has as many conversations as it may.
func tooMany(most int64) error {
	return directory.OverQuota("conversation", "QUOTA_CONVERSATIONS",
		"the tenant has "+strconv.FormatInt(most, 10)+" conversations, the most that it may have",
		"delete conversations that you do not need, or ask the operator of this service for more")
}

// Query selects the rows of a list.
type Query struct {
	// Archived lists the archived rows instead of the others.
	Archived bool
	// User lists only that user's rows, or those without a user if it points to "". nil lists all.
	User *string
	// Agent lists only the rows that are pinned to that agent. "" lists all.
	Agent string
	// Unchanged lists only rows that were not changed since, the least recently changed first. The
	// zero time lists all.
	Unchanged time.Time
	// Created, or Updated if Unchanged is set, and ID are those of the last row of the previous
	// page.
	Created time.Time
	Updated time.Time
	ID      string
	Limit   int
}

// Row is the data of a conversation beside its log.
type Row struct { //nolint:recvcheck // a copy is made of a value, columns of what it points to
	Tenant string
	ID     string
	// User is the owner. It is empty if the conversation has none. See [directory.Isolation].
	User  string
	Title string
	// Archived conversations take no more runs.
	Archived bool
	// Since is the turn at which a new session begins, unless one has begun since.
	// 0 means that none was requested. A negative Since means that the turn is not known yet.
	Since int
	// Agent is the id of the tenant's agent that the conversation is pinned to. It is empty if none is.
	Agent string
	// AgentVersion is the version of that agent. It is 0 if none is pinned.
	AgentVersion int
	// Metadata are the caller's own labels.
	Metadata map[string]string
	// Origin is the conversation that this one was forked from.
	Origin string
	// At is the Seq up to which it was forked.
	At int64
	// History is what the model saw there. It precedes the first run's input.
	History []event.Message
	// NoFiles says that the conversation was made without a workspace.
	NoFiles bool
	Created time.Time
	Updated time.Time
}

// size returns the bytes of the row that the caller chooses.
func (r *Row) size() int64 {
	n := len(r.Title)
	for k, v := range r.Metadata {
		n += len(k) + len(v)
	}
	for i := range r.History {
		n += int(sizeOfBlocks(r.History[i].Content))
	}
	return int64(n)
}
