package braid

import (
	"context"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Work is what an engine passes to a drive besides the run. The zero value is valid.
type Work struct {
	// Sink gets every event as it happens, durable ones after their commit. The driver calls it and waits, so it must be
	// quick. nil means nobody.
	Sink func(event.Event)
	// Mail receives a value if something was left in the run's inbox.
	Mail <-chan struct{}
	// Draining is closed to have the run handed back as soon as nothing of it is running.
	Draining <-chan struct{}
	// ForgetFailed does for this run what [ForgetFailed] does for an agent.
	ForgetFailed bool
	// Secrets are the run's secrets, as those of [WithSecrets].
	Secrets map[string]secret.Secret
	// Shown names the Secrets that are not secret: tools read them, and they are not masked.
	Shown []string
	// Models returns what is called in the place of a model, so that an engine can act around every model call of the
	// run, those of sub-agents and for summaries included. Only the method Stream of its result is called, which must
	// keep the promises of the model's own. nil means the models themselves.
	Models func(Model) Model
	// Options are those that the run's row does not keep: [WithModel], [WithTools], [WithState]. [WithAnswers] has
	// no effect: a driven run that asks is parked.
	Options []RunOption
	// Stalled is called with the store's error when the drive begins to wait because the store refuses to write, and
	// with nil when it continues. It may not be called again before the drive ends. nil means nobody.
	Stalled func(error)
}

// Drive drives an admitted run, whatever its status, under a lease of its own, until it ends, waits or is handed back.
// Result.WakeAt says until when it waits. A run also waits instead of holding its lease if a model is to be called
// again in more than 30 s.
//
// The error says that the run could not be driven, not how it ended; Result.Status and Result.Stop say that. It is
// [event.ErrConflict] if the run has ended, [event.ErrLocked] if another driver or an earlier run has the
// conversation, [event.ErrLeaseLost] if another driver has taken over, and [event.ErrNotFound] if the run is unknown
// or was begun by another agent.
//
// If ctx is cancelled, the run ends as cancelled; at a deadline it ends as timed out. If the cause is of kind
// [event.ErrUnavailable], the run is handed back instead: Result.Status is running, and the next driver finds
// unfinished steps as after a crash.
func (a *Agent) Drive(ctx context.Context, conv *Conversation, run string, w Work) (*Result, error) {
	r := &Result{}
	sink := func(event.Event) bool { return true }
	if w.Sink != nil {
		sink = func(e event.Event) bool {
			w.Sink(e)
			return true
		}
	}
	given := drive.EngineWork{
		Mail: w.Mail, Draining: w.Draining, ForgetFailed: w.ForgetFailed, Secrets: w.Secrets, Shown: w.Shown, Models: w.Models, Stalled: w.Stalled,
	}
	o := options(w.Options)
	o.Run, o.Engine, o.conv = run, &given, conv
	err := a.drive(ctx, goesOn, o, r, sink)
	return r, err
}
