package service

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
)

// Rows keeps what is known of conversations beside their logs. All methods are safe
// for concurrent use and answer *[event.Error]s: [event.ErrNotFound] for a row that
// the tenant does not have, [event.ErrUnavailable] where the store cannot be reached.
type Rows interface {
	// Create adds a row; ErrConflict where there is one of that id.
	Create(ctx context.Context, row Row) error
	// Get gives a row as it stands.
	Get(ctx context.Context, tenant, id string) (Row, error)
	// List gives the tenant's rows, newest first, at most limit, that come after the
	// row that the cursor names; the zero cursor begins. They come without their History.
	List(ctx context.Context, tenant string, q Query) ([]Row, error)
	// Change calls change with the row and keeps what it leaves, in one transaction.
	// An error of change is the answer, and then nothing was changed. ID, Tenant and
	// Created stay as they are.
	Change(ctx context.Context, tenant, id string, change func(row *Row) error) (Row, error)
	// Delete removes a row.
	Delete(ctx context.Context, tenant, id string) error
	// Close frees what the store holds.
	Close() error
}

// Query says which rows are listed.
type Query struct {
	// Archived lists the archived ones instead of the others.
	Archived bool
	// Created and ID are those of the last row of the page before.
	Created time.Time
	ID      string
	Limit   int
}

// Row is what is known of a conversation beside its log.
type Row struct { //nolint:recvcheck // a copy is made of a value, columns of what it points to
	Tenant string
	ID     string
	// User is who made it.
	User  string
	Title string
	// Archived conversations take no more runs.
	Archived bool
	// Fresh says that the next run begins a new session.
	Fresh bool
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
