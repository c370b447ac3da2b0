package journal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// Journal is all that a server asks of where it keeps conversations. Package journal's own stores are journals.
type Journal interface {
	Store
	Catalog
	Ledger
	// Blobs returns the store of bytes in the same place. What removes a conversation or a tenant from the journal
	// removes their blobs, and [Catalog].StoredBytes counts them.
	Blobs() blob.Store
}

// Store is what driving runs takes of a journal. All methods are safe for concurrent use, honour
// ctx, and return *[event.Error]s of the kinds named below; a store that cannot
// be reached answers [event.ErrUnavailable], and what it then did is unknown.
// Events that a store hands out are shared: nobody changes them.
//
// An id that is empty is refused with ErrInvalid, and so is a name, a label or an id
// that is not UTF-8. Where ctx is done already, the
// answer is ErrCancelled or ErrTimeout and nothing has happened. A call that is
// refused changes nothing.
type Store interface {
	// Admit writes a run that is queued, with its input, and makes the
	// conversation if there is none. The answer is the run as stored, with its
	// Turn. A run with the same id, or the same Key in the same
	// conversation, is returned as it stands if its input is the same, and is
	// refused with ErrConflict if not. A run of another conversation's tenant is
	// refused with ErrNotFound. A new run that is to be Alone is refused with
	// ErrLocked while another run of the conversation has not ended. A new run that Follows another one is
	// refused with ErrConflict and the code CodePassed if that one is not the conversation's newest.
	//
	// The input is what was asked for: Conversation, User, Agent, Key, Input (with or
	// without the Past) and NewSession (without Since). Executor and Metadata are labels and are not compared. An id
	// that names another tenant's run is ErrNotFound as well.
	Admit(ctx context.Context, r Run) (Run, error)

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
	// Acquire takes the run's conversation for one driver: it raises the epoch,
	// so that every earlier lease is void, and answers with what a driver
	// needs to go on: the run, the events after seq have, the mail that is
	// not consumed and the shared state. One run of a conversation is acquired
	// at a time: while another holds a lease that has not run out, the answer is
	// ErrLocked; for a run that has ended it is ErrConflict; for an unknown
	// one ErrNotFound; for one that has been queued behind another ErrLocked.
	//
	// Runs are taken in the order of their turns: one behind another stays
	// queued until that one has ended, also while it waits. A waiting run may be
	// taken at any time. The run taken is RunRunning and has no WakeAt. Where the lease before was not given
	// back, its driver is lost: Run.Lost rises by one in the same transaction. A caller
	// whose have is above Last has seen what never happened: it gets no events
	// and must begin anew.
	Acquire(ctx context.Context, run string, have int64) (Opened, error)

	// Commit writes b in one transaction. It is refused with ErrLeaseLost when
	// the lease's epoch is not the conversation's, when the lease was released, or
	// when the first event's Seq is not the last one plus one; and with ErrConflict
	// when a step ends that has not begun with that attempt or has ended.
	// A batch whose events are all there already is a success and changes
	// nothing, so that a commit of unknown outcome may simply be repeated.
	// Expiry alone does not void a lease: only a later Acquire does.
	// A step that ends with attempt 0 never began: it needs no beginning. The
	// slices of b are the caller's again when Commit returns; the events are not.
	//
	// Repeats. An event is there already when the same lease wrote one with
	// its Seq, Run, kind, Step and Attempt; what another epoch wrote never
	// counts, however alike it is. A repeat succeeds also after the lease was
	// released. After another driver has taken over it succeeds only for a
	// batch that gave the lease back (Release, or a run that waits or ends):
	// success lets a driver start the steps that its batch begins, and
	// these now belong to the other one. A batch without events is known by
	// its effect, and only until another driver takes over.
	//
	// Steps. StepEnded ends the attempt that it names, AssistantMessage one of a
	// model, Asked one of a tool; the attempt may begin earlier in the same
	// batch. The last two may name no step and then end none. A message that is
	// only a Piece ends nothing, but belongs to an attempt that runs. Several questions
	// of one attempt stand in one batch. Beginning an attempt ends what is open of
	// the step's earlier ones: their late results are refused; beginning one
	// that is not above the open one is ErrConflict. A call that gets its
	// result while no attempt of it runs (it could not begin, or waits for
	// an answer that nobody wants any more) is closed by a StepEnded with
	// Attempt 0; one that asked may also be closed under the Attempt that did,
	// with OutcomeCancelled.
	//
	// Redactions. An [event.Redacted] erases what it hides, in the same transaction: from then
	// on the store has its target as [Erase] leaves it, and where that repeats the run's Input,
	// the run has no Input any more. A later Admit that asks for the same is still known to
	// be a repeat. What the store has handed out before is not changed. A target that is not there
	// erases nothing. What a [Ledger] repeats of the target is erased with it.
	//
	// Progress. A batch that [Progresses] sets Run.Lost to 0.
	//
	// Mail. A batch that reads mail which the run does not have, or has consumed,
	// is refused with ErrConflict. A run that ends without having read a
	// MailMessage does not lose it: in the same transaction all such letters move,
	// in their order, to the conversation's next run, before what that one has, and
	// with Early set. Where none is queued, one is admitted for them: its ID is that
	// of the ended run and a "+" (more of them while there is such a run), its Tenant,
	// User, Agent, Executor and Metadata are the same, and it has neither Input nor
	// Key. A letter whose ID the next run knows already gets "@" and the
	// ended run's ID behind its own, again where that is known as well.
	//
	// ErrInvalid refuses a batch that can never be right: Seqs that are not dense,
	// a body that is nil or live, an event of another conversation or run, "temp:"
	// state, a step begun without a name or with an Attempt below 1, a Status
	// that is queued or no status, a WakeAt without RunWaiting, and a RunEnded
	// that is not the last event or whose status is not the batch's: a run
	// ends with that event and not without it.
	Commit(ctx context.Context, l Lease, b Batch) error

	// Renew moves the lease's end to now plus its term on the store's clock, and
	// tells what others have left for the run since. ErrLeaseLost when the lease is
	// void or was released.
	Renew(ctx context.Context, l Lease) (News, error)

	// Post leaves mail for a run. It needs no lease. The same ID twice is once.
	// ErrNotFound for an unknown run, ErrConflict for one that has ended. IDs
	// are the run's own: two runs may have mail with the same one. A repeat of
	// mail that the run has, or had, changes nothing and succeeds, also after its
	// end; the same ID with another Kind, Token, Value or Message is ErrConflict.
	Post(ctx context.Context, m Mail) error

	// Posted tells which of the runs have mail that is not consumed, or are to be cancelled.
	// The others, and those that are not there or have ended, are left out of the answer. A process
	// that drives runs beside other processes asks it about once a second.
	Posted(ctx context.Context, runs []string) (map[string]Posted, error)
	// Read gives at most max events of the conversation after seq after, in
	// order; max ≤ 0 means all. An unknown conversation has none.
	Read(ctx context.Context, conversation string, after int64, max int) ([]*event.Event, error)
	// ReadPage is Read with a bound of bytes as the events are encoded: the page ends with the commit that reaches
	// it, and holds one event at least if there is one. more says that the log goes on behind the page. A most of 0 or less
	// is no bound.
	ReadPage(ctx context.Context, conversation string, after int64, max int, most int64) (events []*event.Event, more bool, err error)
	// Tail gives the end of the log that a fold may begin from: a store that knows what is still needed of a
	// long conversation leaves out the rest. An unknown conversation has an empty one.
	Tail(ctx context.Context, conversation string) (Tail, error)
	// Entered names the run of the conversation that has read the MailMessage with the
	// id, wherever in the log that was; empty for none. A fold that begins with a Tail does not
	// know, and whoever sends a message again long after asks for it.
	Entered(ctx context.Context, conversation, id string) (run string, err error)
	// Queue lists the conversation's runs that have not ended in the order in which they are taken:
	// the first is the one that runs, waits, or is taken next.
	Queue(ctx context.Context, conversation string) ([]Run, error)

	// Due lists at most limit runs that a driver could take now, oldest first:
	// queued ones at the head of their conversation, running ones whose
	// lease has run out, waiting ones whose WakeAt has come or that have unread
	// mail which is no MailMessage: a message does not answer what a run waits for.
	// Oldest is by admission; limit ≤ 0 means all. A lease that was released
	// has run out. A store may leave Run.Input out here: acquiring the run gives it.
	Due(ctx context.Context, limit int) ([]Run, error)
}

// CodePassed is the Code of the error for a run that follows one that is not its conversation's newest any more.
const CodePassed = "RUN_PASSED"

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
	// Alone admits the run only where no other one of the conversation is open.
	// It is neither kept nor compared.
	Alone bool
	// Follows is the turn that the conversation's newest run must have for this run to be admitted; 0 admits it
	// after any. The transaction that gives the turn looks. It is neither kept nor compared.
	Follows int
	// Since, where it is above 0, has the store say what NewSession is: the run begins
	// a session unless one from the turn Since on was admitted to begin one. Who has
	// noted a turn from which the next run is to begin one need not know which that is.
	// Past stands before the Input of the run that is the conversation's first, and of
	// no other one. Both are decided in the transaction that gives the turn, and are not
	// kept. A repeat of the request is known whatever was decided then.
	Since int
	Past  []event.Message
	// Life tells apart the conversations that have this ID one after the other: a run for one
	// that [Catalog].Bury has buried is ErrNotFound. It is neither kept nor compared; empty is not looked at.
	Life string

	// What follows is the store's: Admit ignores it in its argument.

	// Turn numbers the conversation's runs from 1.
	Turn int
	// Session numbers the sessions, from 1: the one that the run has begun in, 0
	// while it has not begun.
	Session int
	Status  event.RunStatus
	// WakeAt is when a waiting run is due again; zero means only by mail.
	WakeAt time.Time
	// Cancelled is set once somebody posted MailCancel.
	Cancelled bool
	// Admitted is the store's clock at admission.
	Admitted time.Time
	// Lost counts the drivers that the run has lost since it got on last: Acquire adds one where it takes over a
	// lease that was not given back, and a commit that [Progresses] sets it to 0.
	Lost int
	// Failure is the kind of the error that ended a failed run; empty for every other run.
	Failure event.ErrorKind
}

// Lease is the right to write a conversation's log.
type Lease struct {
	Conversation string
	Run          string
	// Epoch fences: it rises with every Acquire of the conversation.
	Epoch int64
	// Until is when the lease runs out, on the store's clock; Term is how long it
	// lasted when it was given, and lasts anew from each Renew. A driver counts
	// Term on its own clock, so the two clocks need not agree.
	Until time.Time
	Term  time.Duration
}

// Opened is what Acquire answers.
type Opened struct {
	Lease Lease
	Run   Run
	// Last is the Seq of the conversation's last event.
	Last int64
	// Events are those after the Seq that the caller has.
	Events []*event.Event
	// Mail is the run's that has not been consumed, oldest first.
	Mail []Mail
	// Shared is the "app:" and "user:" state of the run's tenant and user,
	// keys with their prefix. The map is the caller's.
	Shared map[string]json.RawMessage
}

// News is what Renew answers: what others left while the lease is held.
type News struct {
	// Cancelled is Run.Cancelled as it stands now.
	Cancelled bool
	// Mail is the run's that has not been consumed, oldest first.
	Mail []Mail
}

// Posted says what was left for a run.
type Posted struct {
	// Mark rises with every letter that comes: who remembers it sees whether there is
	// something new. It is 0 where there is no unread mail.
	Mark int64
	// Cancelled is [Run.Cancelled].
	Cancelled bool
}

// Batch is one commit.
type Batch struct {
	// Events are appended; their Seq is dense and begins after the last one.
	Events []*event.Event
	// Read lists the ids of mail that the events answer for: it is consumed. A run
	// that waits with mail unread is due at once, unless that is MailMessage.
	Read []string
	// Status is the run's new state; empty keeps it.
	Status event.RunStatus
	// WakeAt goes with RunWaiting.
	WakeAt time.Time
	// Release gives the lease back with this commit. A run that ends or waits
	// is always released.
	Release bool
	// Usage and Tools go into the [Ledger] with the events: what these used and did. Text that a
	// store cannot hold is mended and never refused.
	Usage []UsageEntry
	Tools []ToolEntry
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

	// What follows is the store's: Post ignores it in its argument.

	// Posted is the store's clock.
	Posted time.Time
	// Early says that the letter was left for an earlier run, which ended without
	// reading it: it stands before this run's input.
	Early bool
}
