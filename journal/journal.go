package journal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Store keeps conversations. All methods are safe for concurrent use, honour
// ctx, and return *[event.Error]s of the kinds named below; a store that cannot
// be reached answers [event.ErrUnavailable], and what it then did is unknown.
// Events that a store hands out are shared: nobody changes them.
type Store interface {
	// Admit writes a run that is queued, with its input, and makes the
	// conversation if there is none. The answer is the run as stored, with its
	// Turn. A run with the same id, or the same Key in the same
	// conversation, is returned as it stands if its input is the same, and is
	// refused with ErrConflict if not. A run of another conversation's tenant is
	// refused with ErrNotFound.
	Admit(ctx context.Context, r Run) (Run, error)

	// Acquire takes the run's conversation for one driver: it raises the epoch,
	// so that every earlier lease is void, and answers with what a driver
	// needs to go on: the run, the events after seq have, the mail that is
	// not consumed and the shared state. One run of a conversation is acquired
	// at a time: while another holds a lease that has not run out, the answer is
	// ErrLocked; for a run that has ended it is ErrConflict; for an unknown
	// one ErrNotFound; for one that has been queued behind another ErrLocked.
	Acquire(ctx context.Context, run string, have int64) (Opened, error)

	// Commit writes b in one transaction. It is refused with ErrLeaseLost when
	// the lease's epoch is not the conversation's, when the lease was released, or
	// when the first event's Seq is not the last one plus one; and with ErrConflict
	// when a step ends that has not begun with that attempt or has ended.
	// A batch whose events are all there already is a success and changes
	// nothing, so that a commit of unknown outcome may simply be repeated.
	// Expiry alone does not void a lease: only a later Acquire does.
	Commit(ctx context.Context, l Lease, b Batch) error

	// Renew moves the lease's end to now plus its term on the store's clock, and
	// tells whether somebody asked for the run to be cancelled. ErrLeaseLost
	// when the lease is void.
	Renew(ctx context.Context, l Lease) (cancelled bool, err error)

	// Post leaves mail for a run. It needs no lease. The same ID twice is once.
	// ErrNotFound for an unknown run, ErrConflict for one that has ended.
	Post(ctx context.Context, m Mail) error

	// Read gives at most max events of the conversation after seq after, in
	// order; max ≤ 0 means all. An unknown conversation has none.
	Read(ctx context.Context, conversation string, after int64, max int) ([]*event.Event, error)

	// Due lists at most limit runs that a driver could take now, oldest first:
	// queued ones at the head of their conversation, running ones whose
	// lease has run out, waiting ones with unread mail or whose WakeAt has come.
	Due(ctx context.Context, limit int) ([]Run, error)
}

// Run is a run's row.
type Run struct {
	// ID names the run, Conversation its log. Both are the caller's choice;
	// neither is empty.
	ID           string
	Conversation string
	// Tenant is the isolation boundary, User the person inside it; both may be
	// empty in a library. They scope "app:" and "user:" state.
	Tenant string
	User   string
	// Agent is the root agent's name.
	Agent string
	// Input is what the run is to answer. A run without input goes on with
	// what is there.
	Input []event.Message
	// Key makes admission idempotent within the conversation; empty means none.
	Key string
	// Executor and Metadata are the caller's labels.
	Executor string
	Metadata map[string]string
	// NewSession begins a new stretch of the log that the model sees.
	NewSession bool

	// What follows is the store's: Admit ignores it in its argument.

	// Turn numbers the conversation's runs from 1.
	Turn   int
	Status event.RunStatus
	// WakeAt is when a waiting run is due again; zero means only by mail.
	WakeAt time.Time
	// Cancelled is set once somebody posted MailCancel.
	Cancelled bool
	// Admitted is the store's clock at admission.
	Admitted time.Time
}

// Lease is the right to write a conversation's log.
type Lease struct {
	Conversation string
	Run          string
	// Epoch fences: it rises with every Acquire of the conversation.
	Epoch int64
	// Until is when the lease runs out, on the store's clock.
	Until time.Time
}

// Opened is what Acquire answers.
type Opened struct {
	Lease Lease
	Run   Run
	// Last is the Seq of the conversation's last event.
	Last int64
	// Events are those after the Seq that the caller has.
	Events []*event.Event
	// Mail is what has not been consumed, oldest first.
	Mail []Mail
	// Shared is the "app:" and "user:" state of the run's tenant and user,
	// keys with their prefix.
	Shared map[string]json.RawMessage
}

// Batch is one commit.
type Batch struct {
	// Events are appended; their Seq is dense and begins after the last one.
	Events []*event.Event
	// Read lists the ids of mail that the events answer for.
	Read []string
	// Status is the run's new state; empty keeps it.
	Status event.RunStatus
	// WakeAt goes with RunWaiting.
	WakeAt time.Time
	// Release gives the lease back with this commit. A run that ends or waits
	// is always released.
	Release bool
}

// MailKind says what mail is for.
type MailKind string

// The kinds of mail.
const (
	// MailAnswer answers a question: Token and Value.
	MailAnswer MailKind = "answer"
	// MailCancel asks for the run to be cancelled; it also sets Run.Cancelled.
	MailCancel MailKind = "cancel"
	// MailMessage is a message during the run.
	MailMessage MailKind = "message"
	// MailChild is the end of a child conversation.
	MailChild MailKind = "child"
)

// Mail is what others leave for a run.
type Mail struct {
	// ID makes posting idempotent; the sender chooses it.
	ID   string
	Run  string
	Kind MailKind
	// Token and Value go with MailAnswer.
	Token string
	Value json.RawMessage
	// By says who sent it.
	By string
	// Message goes with MailMessage.
	Message []event.Block
	// Posted is the store's clock; Post ignores it in its argument.
	Posted time.Time
}
