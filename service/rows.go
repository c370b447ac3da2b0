package service

import (
	"context"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
)

// Rows keeps what is known of conversations beside their logs. All methods are safe
// for concurrent use and answer *[event.Error]s: [event.ErrNotFound] for a row that
// the tenant does not have, [event.ErrUnavailable] where the store cannot be reached.
type Rows interface {
	// Create adds a row; ErrConflict where there is one of that id, and [event.ErrQuota] where the tenant has most
	// rows already. A most of 0 is no bound.
	Create(ctx context.Context, row Row, most int64) error
	// Count says how many rows the tenant has, archived ones too. It reads a counter and no rows.
	Count(ctx context.Context, tenant string) (int64, error)
	// Bytes returns how many bytes the titles, metadata and histories of the tenant's rows take. It reads a counter and no
	// rows.
	Bytes(ctx context.Context, tenant string) (int64, error)
	// Get gives a row as it stands; [event.ErrGone] for one that was expired.
	Get(ctx context.Context, tenant, id string) (Row, error)
	// Find is Get for one user of the tenant: a row of another user, or of none, is [event.ErrNotFound],
	// also when it was expired. An empty user finds every row.
	Find(ctx context.Context, tenant, user, id string) (Row, error)
	// List gives the tenant's rows, newest first where q says nothing else, at most limit, that come after the
	// row that the cursor names; the zero cursor begins. They come without their History.
	List(ctx context.Context, tenant string, q Query) ([]Row, error)
	// Change calls change with the row and keeps what it leaves, in one transaction.
	// An error of change is the answer, and then nothing was changed. ID, Tenant and
	// Created stay as they are.
	Change(ctx context.Context, tenant, id string, change func(row *Row) error) (Row, error)
	// Delete removes the row that was Created at made; one of the same id that was made at another time
	// stays, and is ErrNotFound.
	Delete(ctx context.Context, tenant, id string, made time.Time) error
	// Expire removes a row, as Delete does, that is kept no longer at the time at. Get says so for a year, unless
	// another row of that id is made; Find says so to the row's user.
	Expire(ctx context.Context, tenant, id string, made, at time.Time) error
	// Close frees what the store holds.
	Close() error
}

// remembered is how long it is known of a conversation that it has expired.
const remembered = 366 * 24 * time.Hour

// codeExpired is the Code of the error for a conversation that was kept no longer.
const codeExpired = "CONVERSATION_EXPIRED"

func expired() error {
	return &event.Error{
		Op: "conversation", Kind: event.ErrGone, Code: codeExpired, Message: "the conversation is kept no longer",
		Hint: "begin another; the operator says for how long conversations are kept",
	}
}

// tooMany is the error for a tenant that has as many conversations as it may.
func tooMany(most int64) error {
	return directory.OverQuota("conversation", "QUOTA_CONVERSATIONS",
		"the tenant has "+strconv.FormatInt(most, 10)+" conversations, which is as many as it may",
		"delete conversations that you do not need, or ask the operator of this service for more")
}

// Query says which rows are listed.
type Query struct {
	// Archived lists the archived ones instead of the others.
	Archived bool
	// User lists only the rows of that user, and those of no user if it points to ""; nil lists all.
	User *string
	// Agent lists only the rows that keep to that agent; "" lists all.
	Agent string
	// Unchanged lists only those that were not changed since, and the one first that was not for the
	// longest time; the zero time lists all.
	Unchanged time.Time
	// Created and ID are those of the last row of the page before; Updated and ID where Unchanged is set.
	Created time.Time
	Updated time.Time
	ID      string
	Limit   int
}

// Row is what is known of a conversation beside its log.
type Row struct { //nolint:recvcheck // a copy is made of a value, columns of what it points to
	Tenant string
	ID     string
	// User is whose it is; empty where it is no user's. See [directory.Isolation].
	User  string
	Title string
	// Archived conversations take no more runs.
	Archived bool
	// Since is the turn from which on a run is to begin a new session, if none has; 0
	// means that none was asked for. Below 0 it was asked for, and the turn is not known.
	Since int
	// Agent is the id of the tenant's agent that answers, and AgentVersion the version that the
	// conversation keeps to; "" and 0 where nothing was pinned yet.
	Agent        string
	AgentVersion int
	// Metadata is the caller's own.
	Metadata map[string]string
	// Origin is the conversation that this one was forked from, At the Seq up to
	// which; History is what the model saw there, and stands before the first run's input.
	Origin  string
	At      int64
	History []event.Message
	Created time.Time
	Updated time.Time
}
