package engine

import (
	"context"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Engine drives runs. All methods are safe for concurrent use and return *[event.Error]s.
type Engine interface {
	// Start begins driving: first the runs that the journal has, then submitted ones. Runs are
	// driven with the values of ctx, and not cancelled when ctx ends. It returns the journal's
	// error, and then nothing was started.
	Start(ctx context.Context) error

	// Submit admits a run and queues it. Once it returns, the run is in the journal and will be
	// driven, even if this process dies. The result and the errors are those of
	// [journal.Store.Admit]. Submitting the same run or the same key again changes nothing.
	//
	// It returns [event.ErrBacklogFull] with RetryAfter if too many runs are queued, of the tenant
	// or in total, and [event.ErrUnavailable] while the engine drains. Then nothing was written.
	Submit(ctx context.Context, run journal.Run) (journal.Run, error)

	// Wake says that there is mail for a run, such as an answer or a message. A waiting run is
	// driven; a running one is notified by [Work.Mail]. It reads run's ID, Conversation and Tenant.
	// Waking without need does no harm, and without it the run goes on a little later. If the run
	// ends without having read a message, the run to which the journal gave the message is driven.
	Wake(ctx context.Context, run journal.Run) error

	// Cancel requests the end of a run. Once it returns, the request is in the journal. A run that
	// is being driven has its context cancelled at once, with a cause of kind [event.ErrCancelled];
	// another one is driven so that its end is written. by says who cancels. It reads the same
	// fields of run as Wake. It returns the errors of [journal.Store.Post]: [event.ErrConflict] for
	// an ended run.
	Cancel(ctx context.Context, run journal.Run, by string) error

	// Drain stops the engine. It takes no new runs and asks every drive to release its run
	// ([Work.Draining]). After a grace period, or when ctx ends, it cancels the remaining drives,
	// with a cause of kind [event.ErrUnavailable]. It returns when no drive is left; queued runs
	// stay in the journal.
	//
	// It returns [event.ErrTimeout] if drives ignore their context until ctx ends. Draining again
	// changes nothing.
	Drain(ctx context.Context) error
}

// Drive drives a run until it ends, waits or is released, and returns its state. It acquires the
// run's lease.
//
// An error means that the run could not be driven. A run that failed or was cancelled was driven
// without an error. The engine understands these kinds:
//
//   - [event.ErrConflict]: the run has ended already.
//   - [event.ErrLocked]: another driver has the conversation, or an earlier run of it has not
//     ended. With RetryAfter the run is tried again after that time, without it when the earlier
//     run has ended.
//   - [event.ErrLeaseLost]: another driver has taken over.
//
// After any other error, or a panic, the run is tried again, later each time.
//
// ctx is cancelled with a cause. With [event.ErrCancelled] the run was cancelled, and its end must
// be written. With [event.ErrUnavailable] the process is about to end, and the run must be left for
// the next process.
type Drive func(ctx context.Context, work Work) (Outcome, error)

// Work is a run to drive.
type Work struct {
	// Run is the run's row as far as the engine knows it. ID, Conversation and Tenant are set,
	// Input is not. Acquiring the run returns the rest.
	Run journal.Run
	// Mail receives a value when the run is woken while it is being driven. The driver then reads
	// the run's mail. If a value is left at the end, the engine drives the run again.
	Mail <-chan struct{}
	// Draining is closed when the engine drains. The drive must start nothing that takes long, and
	// release the run when nothing is in flight.
	Draining <-chan struct{}
}

// Outcome is the state of a run after a drive.
type Outcome struct {
	// Status is that of an ended run, waiting, or running for a released run.
	Status event.RunStatus
	// WakeAt is when a waiting run is due again. Zero means only by mail.
	WakeAt time.Time
}
