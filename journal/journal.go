package journal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// Journal is everything that a server needs of its store of conversations. The stores of this module are journals.
type Journal interface {
	Store
	Catalog
	Ledger
	// Blobs returns the store of bytes in the same place. Removing a conversation or a tenant from the journal removes its
	// blobs, and [Catalog].StoredBytes counts them.
	Blobs() blob.Store
}

// Store is what driving runs needs of a journal. All methods are safe for concurrent use, honour ctx and return
// *[event.Error]s of the kinds named below. A store that cannot be reached returns [event.ErrUnavailable]; what it
// did is unknown then. Callers share the events that a store returns and must not change them.
//
// Empty ids are ErrInvalid, and so are ids, names and labels that are not UTF-8. If ctx is done already, the error is
// ErrCancelled or ErrTimeout and nothing has happened. A refused call changes nothing.
type Store interface {
	// Admit writes a queued run with its input, and creates the conversation if there is none. It returns the run as
	// stored, with its Turn.
	//
	// A run with the same ID, or the same Key in the same conversation, is returned as it is if its input is the same.
	// Compared are Conversation, User, Agent, Key, Input (with or without Past) and NewSession (without Since); Executor and
	// Metadata are labels and are not.
	//
	// Errors:
	//   - ErrConflict for an ID or Key that has another input;
	//   - ErrNotFound for a conversation or an ID of another tenant, and for a conversation with a tombstone;
	//   - ErrLocked if the run is to be Alone and another run of the conversation has not ended;
	//   - ErrConflict with the code CodePassed if the run that it Follows is not the conversation's newest.
	Admit(ctx context.Context, r Run) (Run, error)

	// Start does what Admit and then Acquire do, as one change. It is durable only with the first commit under the
	// lease: until then a power cut may lose the run. So it is for callers who have promised nothing yet.
	//
	// The errors are those of Admit and Acquire. If the run is there but cannot be taken (it runs, waits behind another or
	// has ended), the error is Acquire's, Opened holds only the run's row, and a new run is queued.
	Start(ctx context.Context, r Run, have int64) (Opened, error)
	// Acquire takes the run's conversation for one driver. It raises the epoch, which voids every earlier lease, and returns
	// what a driver needs to continue: the run, the events after seq have, the unread mail and the shared state. The run
	// becomes RunRunning without WakeAt. If the lease before was not given back, its driver is lost: Run.Lost rises by one.
	//
	// Runs are taken in the order of their turns: a run stays queued until the one before it has ended, even if that one
	// waits. A waiting run may be taken at any time. A caller whose have is above Last has seen events that never
	// happened: it gets no events and must begin anew.
	//
	// Errors are ErrLocked while another driver holds a lease that has not run out or another run is first, ErrConflict for a
	// run that has ended, and ErrNotFound for an unknown one.
	Acquire(ctx context.Context, run string, have int64) (Opened, error)

	// Commit writes b in one transaction.
	//
	// It is ErrLeaseLost if the lease's epoch is not the conversation's, if the lease was released, or if the first
	// event's Seq is not the last one plus one. It is ErrConflict if a step ends that has not begun with that attempt or
	// has ended. A batch whose events are all there already succeeds and changes nothing, so a commit of unknown
	// outcome can be repeated. Expiry alone does not void a lease; only a later Acquire does. A step that ends with attempt 0
	// never began and needs no beginning. The caller may reuse the slices of b after Commit, but not the events.
	//
	// Repeats. An event is there already if the same lease wrote one with its Seq, Run, kind, Step and Attempt. What
	// another epoch wrote never counts, however equal. A repeat succeeds also after the lease was released. After another
	// driver has taken over, only a batch that gave the lease back (Release, or a run that waits or ends) succeeds: success
	// lets a driver start the steps that its batch begins, and they belong to the other driver now. A batch without
	// events is recognised by its effect, and only until another driver takes over.
	//
	// Steps. StepEnded ends the attempt that it names, AssistantMessage one of a model, Asked one of a tool. The attempt
	// may begin earlier in the same batch. The last two may name no step, and end none then. A message that is only a Piece
	// ends nothing but belongs to a running attempt. Several questions of one attempt must be in one batch. Beginning an
	// attempt ends the step's earlier open ones, whose late results are refused. Beginning an attempt that is not above the
	// open one is ErrConflict. A call that gets its result while no attempt runs (it could not begin, or waits
	// for an answer that is no longer wanted) is closed by a StepEnded with Attempt 0. A call that asked may also be
	// closed under the Attempt that did, with OutcomeCancelled.
	//
	// Redactions. An [event.Redacted] erases its target in the same transaction: from then on the store has the target
	// as [Erase] leaves it. The run's Input goes too if the target repeats it, and so does what a [Ledger] repeats. A later
	// Admit of the same input is still recognised as a repeat. Events that were returned before do not change. A missing
	// target erases nothing.
	//
	// Progress. A batch that [Progresses] sets Run.Lost to 0.
	//
	// Mail. Reading mail that the run does not have, or has consumed, is ErrConflict. A run that ends does not lose its
	// unread messages (MailMessage). In the same transaction they move, in their order, to the front of the conversation's next run, with
	// Early set. If no run is queued, one is admitted for them. Its ID is that of the ended run and a "+" (more of them
	// while such a run exists), its Tenant, User, Agent, Executor and Metadata are the same, and it has neither Input
	// nor Key. A message whose ID the next run knows already gets "@" and the ended run's ID appended, repeatedly if needed.
	//
	// ErrInvalid refuses a batch that can never be right: Seqs that are not dense, a body that is nil or live, an event of
	// another conversation or run, "temp:" state, a step begun without a name or with an Attempt below 1, a Status that
	// is queued or unknown, a WakeAt without RunWaiting, and a RunEnded that is not the last event or differs from
	// Status. A run ends with that event and not without it.
	Commit(ctx context.Context, l Lease, b Batch) error

	// Renew moves the lease's end to now plus its term on the store's clock, and returns what others left for the run. The
	// error is ErrLeaseLost if the lease is void or was released.
	Renew(ctx context.Context, l Lease) (News, error)

	// Post leaves mail for a run and needs no lease. The same ID twice is one letter. IDs are unique within a run only. A
	// repeat of mail that the run has or had succeeds and changes nothing, also after the run's end. Errors are
	// ErrNotFound for an unknown run, ErrConflict for one that has ended, and ErrConflict for a known ID with another Kind,
	// Token, Value or Message.
	Post(ctx context.Context, m Mail) error

	// Posted returns which of the runs have unread mail or are to be cancelled. It leaves out all others, also unknown runs
	// and those that have ended. A process that drives runs beside other processes calls it about once a second.
	Posted(ctx context.Context, runs []string) (map[string]Posted, error)
	// Read returns at most max events of the conversation after a Seq, in order. A max of 0 or less means all. An unknown
	// conversation has none.
	Read(ctx context.Context, conversation string, after int64, max int) ([]*event.Event, error)
	// ReadPage is Read with a bound of encoded bytes. The page ends with the commit that reaches it, and has at least one
	// event if there is one. more reports whether events follow. A most of 0 or less is no bound.
	ReadPage(ctx context.Context, conversation string, after int64, max int, most int64) (events []*event.Event, more bool, err error)
	// Tail returns the end of the log from which a fold can begin. A store that knows what a long conversation still needs
	// leaves out the rest. An unknown conversation has an empty one.
	Tail(ctx context.Context, conversation string) (Tail, error)
	// StoredTail is Tail for a caller that can begin with a stored fold. If the conversation has one at or after the Tail's
	// First, the events begin with the one at its position. Otherwise StoredTail returns what Tail returns.
	StoredTail(ctx context.Context, conversation string) (StoredTail, error)
	// StoredParts returns the parts of the conversation's stored fold, in order. An unknown conversation has none.
	StoredParts(ctx context.Context, conversation string) ([][]byte, error)
	// StoreFold replaces the conversation's stored fold. It writes nothing unless the lease is the conversation's newest,
	// held or released, and the log ends at f.Seq: the error is ErrConflict then. It is ErrConflict too if there are fewer
	// than f.Before parts. A power cut may lose the stored fold, and a store may drop it at any time.
	//
	// A stored fold repeats what the log says. So a commit that erases an event at or before its position removes it in the
	// same transaction, and so do [Catalog].Remove, Tombstone and RemoveTenant. It does not count for [Catalog].StoredBytes.
	//
	// A store without stored folds returns what Tail returns, no parts, and nil without storing anything.
	StoreFold(ctx context.Context, l Lease, f StoredFold) error
	// Entered returns the run that has read the MailMessage with the id, wherever in the log; empty for none. A fold that
	// begins with a Tail does not know it, and a caller that repeats a message long after needs it.
	Entered(ctx context.Context, conversation, id string) (run string, err error)
	// Queue lists the conversation's runs that have not ended, in the order in which they are taken. The first one runs,
	// waits or is taken next.
	Queue(ctx context.Context, conversation string) ([]Run, error)

	// Due lists at most limit runs that a driver could take now, the one admitted first first; a limit of 0 or less means
	// all. These are queued runs at the head of their conversation, running ones whose lease has run out or was released,
	// and waiting ones whose WakeAt has come or that have unread mail other than MailMessage: a message does not answer what a
	// run waits for. A store may leave out Run.Input; Acquire returns it.
	Due(ctx context.Context, limit int) ([]Run, error)
}

// CodePassed is the Code of the error for a run that Follows one that is no longer its conversation's newest.
const CodePassed = "RUN_PASSED"

// Run is a run's row.
type Run struct {
	// ID names the run. The caller chooses it; it is not empty.
	ID string
	// Conversation names the run's log. The caller chooses it; it is not empty.
	Conversation string
	// Tenant is the isolation boundary, and scopes "app:" state. It may be empty in a library.
	Tenant string
	// User is the user within the tenant, and scopes "user:" state. It may be empty in a library.
	User string
	// Agent is the root agent's name.
	Agent string
	// Input is what the run answers. A run without input continues with what is there.
	Input []event.Message
	// Key makes admission idempotent within the conversation; empty means none.
	Key string
	// Executor and Metadata are the caller's labels.
	Executor string
	Metadata map[string]string
	// NewSession begins a new stretch of the log that the model sees.
	NewSession bool
	// Alone admits the run only if no other run of the conversation is open. It is neither stored nor compared.
	Alone bool
	// Follows is the turn that the conversation's newest run must have for this run to be admitted; 0 admits it after
	// any. The transaction that assigns the turn checks it. It is neither stored nor compared.
	Follows int
	// Since, if it is above 0, has the store set NewSession: the run begins a session unless a run from the turn Since on
	// was admitted to begin one. The transaction that assigns the turn decides it. Since is not stored, and a repeat is
	// recognised whatever was decided.
	Since int
	// Past precedes the Input if the run is the conversation's first, and is ignored otherwise. The transaction that
	// assigns the turn decides it.
	Past []event.Message
	// Incarnation distinguishes conversations that reuse one ID. A run of one with a tombstone ([Catalog].Tombstone) is
	// ErrNotFound. It is neither stored nor compared; empty is not checked.
	Incarnation string

	// The store sets the fields below; Admit ignores them in its argument.

	// Turn numbers the conversation's runs from 1.
	Turn int
	// Session is the number of the session in which the run has begun, from 1; 0 if it has not begun.
	Session int
	// First is the Seq of the run's first event; 0 if it has not begun. Due and FindRuns may leave it 0.
	First  int64
	Status event.RunStatus
	// WakeAt is when a waiting run is due again. Zero means that only mail makes it due.
	WakeAt time.Time
	// Cancelled is set once MailCancel was posted.
	Cancelled bool
	// Admitted is the store's clock at admission.
	Admitted time.Time
	// Lost counts the drivers that the run has lost since its last progress. Acquire adds one if it takes over a lease that
	// was not given back, and a commit that [Progresses] sets it to 0.
	Lost int
	// Failure is the kind of the error that ended a failed run; empty for every other run.
	Failure event.ErrorKind
}

// Lease is the right to write a conversation's log.
type Lease struct {
	Conversation string
	Run          string
	// Epoch rises with every Acquire of the conversation, and fences off older leases.
	Epoch int64
	// Until is when the lease runs out, on the store's clock.
	Until time.Time
	// Term is how long the lease lasts from Acquire and from each Renew. A driver counts it on its own clock, so
	// the two clocks need not agree.
	Term time.Duration
}

// Opened is what Acquire returns.
type Opened struct {
	Lease Lease
	Run   Run
	// Last is the Seq of the conversation's last event.
	Last int64
	// Events are those after the Seq that the caller has.
	Events []*event.Event
	// Mail is the run's unread mail, oldest first.
	Mail []Mail
	// Shared is the "app:" and "user:" state of the run's tenant and user, with prefixed keys. The map is the caller's.
	Shared map[string]json.RawMessage
}

// News is what Renew returns: what others left while the lease is held.
type News struct {
	// Cancelled is the current Run.Cancelled.
	Cancelled bool
	// Mail is the run's unread mail, oldest first.
	Mail []Mail
}

// Posted reports what was left for a run.
type Posted struct {
	// Mark rises with every letter, so a caller that remembers it sees whether there is a new one. It is 0 without
	// unread mail.
	Mark int64
	// Cancelled is [Run.Cancelled].
	Cancelled bool
}

// Batch is one commit.
type Batch struct {
	// Events are appended. Their Seq is dense and begins after the log's last one.
	Events []*event.Event
	// Read lists the ids of mail that the events consume. A run that waits with unread mail is due at once, unless that is
	// MailMessage.
	Read []string
	// Status is the run's new state; empty keeps it.
	Status event.RunStatus
	// WakeAt goes with RunWaiting.
	WakeAt time.Time
	// Release gives the lease back with this commit. A run that ends or waits is always released.
	Release bool
	// Usage goes into the [Ledger] with the events. Text that a store cannot hold is repaired, never refused.
	Usage []UsageEntry
	// Tools goes into the [Ledger] in the same way.
	Tools []ToolEntry
}

// SettingsLabel is the key in a run's Metadata that holds the settings which the run has for itself, such as limits and
// instructions. Whoever drives the run goes by them. The root's options write it.
const SettingsLabel = "braid.settings"

// ContinuesLabel is the key in a run's Metadata that names the ended run that it continues. It goes with a run without
// input. An agent that resumes a failed run sets it, and so does an engine that admits such a run.
const ContinuesLabel = "braid.continues"

// LetterID returns the ID of a [Mail] with a message that joined an open run under a key (Run.Key). The
// [event.UserMessage] has it as its Mail when the message is in the log.
func LetterID(key string) string { return "message-" + key }

// MailKind is the purpose of mail.
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
	// By is the sender.
	By string
	// Message goes with MailMessage.
	Message []event.Block

	// The store sets the fields below; Post ignores them in its argument.

	// Posted is the store's clock when it was posted.
	Posted time.Time
	// Early marks a letter to an earlier run that ended without reading it. It precedes this run's input.
	Early bool
}
