package journal

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
)

// Catalog is what serving takes of a journal beside driving runs: it lists, finds, counts and removes what is
// kept, and says whether the store is well. All methods are safe for concurrent use and answer *[event.Error]s
// as [Store] does.
type Catalog interface {
	// Conversations lists those of a tenant, the one whose newest run was admitted
	// last first. after is the ID of the last one of the page before, empty for
	// the first page; one that is not the tenant's is ErrNotFound. limit ≤ 0 means all.
	Conversations(ctx context.Context, tenant, after string, limit int) ([]Summary, error)
	// Runs lists a conversation's by their turn, those whose turn is above after.
	// limit ≤ 0 means all. An unknown conversation has none.
	Runs(ctx context.Context, conversation string, after, limit int) ([]Run, error)
	// FindRuns lists the runs of all tenants that q describes, the one that was admitted last first. They come
	// without Input and Metadata.
	//
	// One call looks at no more than [FindAtOnce] runs that were admitted one after the other, so
	// a page may have fewer runs than the limit, or none, while there are more.
	FindRuns(ctx context.Context, q RunQuery) (RunPage, error)
	// Heads gives the Seq of the last event of each of the conversations, 0 for one that
	// has none yet. One that is not there is left out of the answer. A process that serves watchers
	// beside other processes asks it about once a second.
	Heads(ctx context.Context, conversations []string) (map[string]int64, error)
	// Place tells where a conversation stands, and whether a run from the turn since on
	// was admitted to begin a session; see [Run].Since. An unknown conversation stands
	// nowhere: the zero Place.
	Place(ctx context.Context, conversation string, since int) (Place, error)
	// Weigh gives how many bytes the events take, as they are stored, that [Store].Tail would give. An
	// unknown conversation has none.
	Weigh(ctx context.Context, conversation string) (int64, error)
	// StoredBytes returns how many bytes the tenant's conversations hold: events, the inputs of runs, mail, and what the
	// [Ledger] repeats of them, each as it is encoded, and the bytes of its blobs. A removed conversation and an erased text
	// no longer count; rows of usage never do. For a conversation with an open run the result may lag behind by up to
	// [StorageLag]. The result of an unknown tenant is 0. The cost does not grow with the number of conversations.
	StoredBytes(ctx context.Context, tenant string) (int64, error)
	// Remove removes a tenant's conversation: its log, runs, mail, blobs and own state.
	// "app:" and "user:" state belongs to others and stays. ErrLocked while a run of
	// it is open; ErrNotFound for one that the tenant does not have. What a
	// store has written may stay on its disk until the space is used again. Of the [Ledger]
	// the rows of tools go, and those of usage stay: they are money, and hold no words.
	Remove(ctx context.Context, tenant, conversation string) error
	// Bury does what Remove does, and refuses every later run of this [Run].Life with ErrNotFound, for
	// [BuriedFor]: what is on its way to the conversation comes too late, from whichever process. One that
	// the store does not have is buried as well, and its blobs go; one that another tenant has is
	// ErrNotFound. A life that is buried stays so, and what has its conversation's name by now stays, too.
	// An admission at the same time comes before it, and then a run is open (ErrLocked), or after it.
	Bury(ctx context.Context, tenant, conversation, life string) error
	// RemoveTenant removes a tenant's conversations, as Remove does, its blobs, its state, and what its runs used. A
	// tenant that has nothing is removed already. ErrLocked while a run of it is open: the other
	// conversations may be gone then. It may take long, and is done in parts; one that was cut
	// off is called again.
	RemoveTenant(ctx context.Context, tenant string) error
	// Scrub removes blobs that cannot be reached, and from the store's files what removals and redactions before it have
	// taken out, such as older pages in a write-ahead log. Writers wait for it, at most for a moment: if a reader is in the way,
	// Scrub gives up with ErrLocked, and is called again later. A store without files has nothing to scrub.
	Scrub(ctx context.Context) error
	// Check returns nil if the store takes commits as far as it knows. Otherwise its error has the kind that commits would get:
	// ErrStorageFull without space, ErrUnavailable for a database that cannot be reached or can only be read.
	// Whoever directs requests to a process asks it.
	Check(ctx context.Context) error
}

// Summary is what a list says about a conversation.
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

// Place is how far a conversation has come.
type Place struct {
	// Turns counts the runs that were admitted.
	Turns int
	// Session is the number of the newest run's session: the one that it has begun in, or
	// will begin in. It is 0 where no run was admitted.
	Session int
	// Epoch is that of the newest lease: no event, live or durable, has a higher one. It is 0 if none was
	// given.
	Epoch int64
	// Begun says that a run from the turn that was asked about on begins a session. Of a
	// turn below 1 it is false.
	Begun bool
}

// StorageLag bounds how many bytes of one conversation [Catalog].StoredBytes may leave out while a run of it is open.
const StorageLag = 64 << 10

// BuriedFor is how long a store knows of what [Catalog].Bury has buried, at least: much longer than any request is
// on its way.
const BuriedFor = 24 * time.Hour
