package journal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// What some stores can do beyond [Store]. A caller asks with a type assertion and
// has another way where the answer is no.

// Starter admits a run and acquires it at once, which saves a program that is
// about to drive its own run one durable write.
type Starter interface {
	// Start does what Admit and then Acquire would, as one change that is
	// durable only with the first commit under the lease: until then a power
	// cut may lose the run as if it had never been asked for. So it is for a
	// caller who has promised nothing to anybody yet.
	//
	// The errors are those of Admit and of Acquire. Where the run cannot be
	// taken but is there (it runs, waits behind another, or has ended), the error
	// is Acquire's, Opened holds nothing but the run's row, and a run that was not
	// known before is queued.
	Start(ctx context.Context, r Run, have int64) (Opened, error)
}

// Tailer reads of a long conversation only what is still needed to go on with it.
type Tailer interface {
	// Tail gives the end of the log that a fold may begin from. An unknown
	// conversation has an empty one.
	Tail(ctx context.Context, conversation string) (Tail, error)
	// Entered names the run of the conversation that has read the MailMessage with the
	// id, wherever in the log that was; empty for none. A fold that begins with a Tail does not
	// know, and whoever sends a message again long after asks for it.
	Entered(ctx context.Context, conversation, id string) (run string, err error)
}

// Tail is the end of a log and what must be known of the part before it.
//
// It begins with the first event of a run, and what stands before it is not
// part of what a model sees next: it belongs to an earlier session, or a
// compaction in Events covers it. A fold that begins here shows the summary of
// such a compaction first. Where nothing can be left out, Events is the whole log.
type Tail struct {
	// First is the Seq of the first of Events, Last that of the last; where there
	// are none, First is Last plus one.
	First int64
	Last  int64
	// Events are those from First to Last.
	Events []*event.Event
	// Session is the number of the session that First stands in, Begin the Seq of that
	// session's first event; 0 where the store does not say.
	Session int
	Begin   int64
	// State is the conversation's own state, keys without a prefix, as Events
	// leave it or as it was a little before. Folding Events over it gives what
	// folding the whole log gives. It is nil where First is 1. The map is the caller's.
	State map[string]json.RawMessage
}

// Weigher says how much a conversation holds without reading it.
type Weigher interface {
	// Weigh gives how many bytes the events take, as they are stored, that [Tailer].Tail would give. An
	// unknown conversation has none.
	Weigh(ctx context.Context, conversation string) (int64, error)
}

// Placer says how far a conversation has come without reading its log.
type Placer interface {
	// Place tells where a conversation stands, and whether a run from the turn since on
	// was admitted to begin a session; see [Run].Since. An unknown conversation stands
	// nowhere: the zero Place.
	Place(ctx context.Context, conversation string, since int) (Place, error)
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

// Lister lists what a store holds, for people who look around in it.
type Lister interface {
	// Conversations lists those of a tenant, the one whose newest run was admitted
	// last first. after is the ID of the last one of the page before, empty for
	// the first page; one that is not the tenant's is ErrNotFound. limit ≤ 0 means all.
	Conversations(ctx context.Context, tenant, after string, limit int) ([]Summary, error)
	// Runs lists a conversation's by their turn, those whose turn is above after.
	// limit ≤ 0 means all. An unknown conversation has none.
	Runs(ctx context.Context, conversation string, after, limit int) ([]Run, error)
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

// Queuer tells which runs of a conversation are open.
type Queuer interface {
	// Queue lists the runs that have not ended in the order in which they are taken:
	// the first is the one that runs, waits, or is taken next.
	Queue(ctx context.Context, conversation string) ([]Run, error)
}
