package journal

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
)

// Catalog is what a server needs of a journal beside driving runs: lists, searches, sizes, removal and health. All methods
// are safe for concurrent use and return *[event.Error]s, as those of [Store] do.
type Catalog interface {
	// Conversations lists a tenant's conversations, the one whose newest run was admitted last first. after is the ID
	// of the last conversation of the page before; empty begins. One that is not the tenant's is ErrNotFound.
	// A limit of 0 or less means all.
	Conversations(ctx context.Context, tenant, after string, limit int) ([]Summary, error)
	// Runs lists a conversation's runs whose turn is above after, by their turn. A limit of 0 or less means all. An
	// unknown conversation has none.
	Runs(ctx context.Context, conversation string, after, limit int) ([]Run, error)
	// FindRuns lists the runs of all tenants that q describes, the one admitted last first. It leaves out Input and
	// Metadata.
	//
	// One call examines at most [FindAtOnce] runs that were admitted one after the other. So a page may have fewer runs
	// than the limit, or none, while there are more.
	FindRuns(ctx context.Context, q RunQuery) (RunPage, error)
	// LastSeqs returns the Seq of the last event of each conversation, 0 for one without events. It leaves out unknown
	// conversations. A process that serves watchers beside other processes calls it about once a second.
	LastSeqs(ctx context.Context, conversations []string) (map[string]int64, error)
	// Position returns how far a conversation has come, and whether a run from the turn since on was admitted to begin
	// a session; see [Run].Since. An unknown conversation has the zero Position.
	Position(ctx context.Context, conversation string, since int) (Position, error)
	// Weigh returns the stored bytes of the events that [Store].Tail would return. An unknown conversation has none.
	Weigh(ctx context.Context, conversation string) (int64, error)
	// StoredBytes returns how many bytes a tenant stores: events, inputs of runs, unread mail, what the [Ledger] repeats of
	// them, each as it is encoded, and blobs. Removed conversations and erased texts do not count, and rows of usage
	// never do. For a conversation with an open run the result may lag by up to [StorageLag]. An unknown tenant has 0. The
	// cost does not grow with the number of conversations.
	StoredBytes(ctx context.Context, tenant string) (int64, error)
	// Remove removes a tenant's conversation: its log, runs, mail, blobs and own state. It keeps "app:" and "user:"
	// state, which belongs to others. Of the [Ledger] it removes the rows of tools and keeps those of usage: they are
	// money and hold no texts. The error is ErrLocked while a run of it is open, and ErrNotFound if the tenant does
	// not have it. Removed data may stay on the disk until [Catalog].Scrub.
	Remove(ctx context.Context, tenant, conversation string) error
	// Tombstone removes a conversation as Remove does. For [TombstoneTime] it also refuses every later run, and every
	// later blob, of this incarnation with ErrNotFound: requests that are on their way, from any process, come too late.
	// It works for a conversation that the store does not have, and removes its blobs; one of another tenant is ErrNotFound.
	// Repeating it changes nothing, even if another incarnation has the id by then. A run that is admitted at
	// the same time comes before it, which is ErrLocked here, or after it.
	Tombstone(ctx context.Context, tenant, conversation, incarnation string) error
	// RemoveTenant removes a tenant's conversations, as Remove does, its blobs, its state and its rows of usage. A tenant
	// that has nothing is removed already. The error is ErrLocked while a run is open; other conversations may be gone
	// then. It works in parts and may take long. After an interruption, call it again.
	RemoveTenant(ctx context.Context, tenant string) error
	// Scrub removes blobs that cannot be reached. It also removes from the store's files what removals and redactions have
	// taken out, such as older pages in a write-ahead log. Writers wait for it for a moment at most: if a reader blocks
	// it, the error is ErrLocked, and you call it again later.
	Scrub(ctx context.Context) error
	// Check returns nil if the store takes commits, as far as it knows. Otherwise the error has the kind that commits would
	// get: ErrStorageFull without space, ErrUnavailable for a database that cannot be reached or is read-only. Load balancers
	// ask it through the server.
	Check(ctx context.Context) error
}

// Summary describes a conversation in a list.
type Summary struct {
	ID     string
	Tenant string
	// User and Agent are those of the newest run.
	User  string
	Agent string
	// Turns counts the runs, Open those that have not ended, Last the events.
	Turns int
	Open  int
	Last  int64
	// Status is that of the oldest open run, else that of the newest one.
	Status event.RunStatus
	// Created and Updated are when the first and the newest run were admitted.
	Created time.Time
	Updated time.Time
}

// Position is how far a conversation has come.
type Position struct {
	// Turns counts the runs that were admitted.
	Turns int
	// Session is the number of the session in which the newest run has begun or will begin. It is 0 without runs.
	Session int
	// Epoch is that of the newest lease; no event has a higher one. It is 0 if there was no lease.
	Epoch int64
	// Begun reports whether a run from the given turn on begins a session. It is false for a turn below 1.
	Begun bool
}

// StorageLag bounds the bytes of one conversation that [Catalog].StoredBytes may leave out while a run of it is open.
const StorageLag = 64 << 10

// TombstoneTime is how long a store remembers a tombstone at least: much longer than any request is on its way.
const TombstoneTime = 24 * time.Hour
