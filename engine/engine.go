package engine

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Engine sees to it that runs are driven. All methods are safe for concurrent use
// and return *[event.Error]s.
type Engine interface {
	// Start begins to drive: what was left over in the journal, then what is
	// submitted. ctx is for the beginning; runs are driven with its values and
	// without its end. The error is the journal's, and then nothing was started.
	Start(ctx context.Context) error

	// Submit admits a run and queues it. Once it has succeeded the run is in
	// the journal and will be driven, whatever dies. The answer is as
	// [journal.Store.Admit] gives it, and so are the errors; the same run, or the
	// same key, twice is once.
	//
	// Where too many runs of the tenant, or of all, are queued already, the error
	// is [event.ErrBacklogFull] with RetryAfter; an engine that drains answers
	// [event.ErrUnavailable]. Then nothing was written.
	Submit(ctx context.Context, run journal.Run) (journal.Run, error)

	// Wake says that there is mail for a run: an answer, a message. One that
	// waits is driven, one that is being driven is told by [Work.Mail]. Of run
	// the ID, Conversation and Tenant are read. It is a hint, and waking
	// without need does no harm; without it the run goes on a little later. Where
	// the run ends, or has ended, without having read a message, the run that the
	// journal has given it to is driven.
	Wake(ctx context.Context, run journal.Run) error

	// Cancel asks for a run to end. The wish is in the journal when Cancel
	// succeeds; one that is being driven has its context cancelled at once, with
	// a cause of kind [event.ErrCancelled], and one that is not is driven
	// so that its end is written. by says who wished it. Of run the same is read
	// as for Wake. Errors are those of [journal.Store.Post]: [event.ErrConflict]
	// for a run that has ended.
	Cancel(ctx context.Context, run journal.Run, by string) error

	// Drain ends the engine: it takes nothing new, asks every drive to hand its
	// run back ([Work.Draining]), and after a grace period, or when ctx ends,
	// cancels those that go on, with a cause of kind [event.ErrUnavailable]. It
	// comes back when no drive is left, and then nothing of the engine runs. What
	// was queued stays in the journal for whoever starts next. Drives that
	// ignore their context are reported as [event.ErrTimeout] when ctx has
	// ended. Draining twice is draining once.
	Drain(ctx context.Context) error
}

// Drive drives a run until it ends, waits or is handed back, and says how it
// stands then. It takes the run's lease itself.
//
// An error says that the run could not be driven, not how it ended: a run that
// failed or was cancelled was driven well. The engine understands these kinds:
//
//   - [event.ErrConflict]: the run has ended already.
//   - [event.ErrLocked]: somebody else has the conversation, or an earlier run of
//     it has not ended. With RetryAfter it is tried again then, without when
//     the earlier run has ended.
//   - [event.ErrLeaseLost]: another driver has taken over.
//
// After any other error, or a panic, the run is tried again, later each time.
//
// ctx is cancelled with a cause: of kind [event.ErrCancelled] where somebody
// wished the run to end, and then its end is to be written; of kind
// [event.ErrUnavailable] where the process is about to end, and then the
// run is to be left as it is for the next process.
type Drive func(ctx context.Context, work Work) (Outcome, error)

// Work is a run to be driven.
type Work struct {
	// Run is the run's row as far as the engine knows it: ID, Conversation and
	// Tenant are set, Input is not. Acquiring it gives the rest.
	Run journal.Run
	// Mail has something in it when the run was woken while it is being driven. Who
	// takes it out looks for mail; what is still in it at the end makes the
	// engine drive the run again.
	Mail <-chan struct{}
	// Draining is closed when the engine drains: begin nothing that takes long,
	// and hand the run back where nothing is in flight.
	Draining <-chan struct{}
}

// Outcome says how a run stands after a drive.
type Outcome struct {
	// Status is ended, waiting, or running for a run that was handed back.
	Status event.RunStatus
	// WakeAt is when a waiting run is due again; zero means only by mail.
	WakeAt time.Time
}
