package braid

import (
	"context"

	"github.com/braidrun/braid/internal/drive"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Work is what an engine gives a drive besides the run. The zero value is right for
// one who has no engine.
type Work struct {
	// Sink gets every event as it happens, durable ones after their commit. It is
	// called by the driver and must be quick; nil means nobody.
	Sink func(event.Event)
	// Mail has something in it when mail was left for the run.
	Mail <-chan struct{}
	// Draining is closed when the run is to be handed back as soon as nothing of it
	// is in flight.
	Draining <-chan struct{}
	// ForgetFailed does for this run what [ForgetFailed] does for an agent.
	ForgetFailed bool
	// Secrets are for this run what those of [WithSecrets] are.
	Secrets map[string]secret.Secret
	// Shown are the names of those Secrets that are none: tools read them, and nobody hides them.
	Shown []string
	// Models gives what is called in place of a model, for what an engine does around every call of the run; those of
	// sub-agents and for summaries, too. Nothing but Stream of what it gives is called, which must keep the promises of
	// the model's own. nil changes nothing.
	Models func(Model) Model
	// Stalled, if set, is called with the store's error when the drive begins to wait because the store refuses to write, and
	// with nil when it goes on. A drive that ends need not call it again.
	Stalled func(error)
}

// Drive drives a run that was admitted, in whatever state it is, under a lease of its
// own: until it ends, waits (Result.WakeAt tells for how long), or is handed back.
// A wait of more than 30 s for a model that is to be called again is a wait, too.
//
// The error says that the run could not be driven, not how it ended: Result.Status
// and Result.Stop do that. It is [event.ErrConflict] for a run that has ended,
// [event.ErrLocked] where another driver or an earlier run has the conversation,
// [event.ErrLeaseLost] where another driver has taken over, and [event.ErrNotFound]
// for an unknown run, or one that was begun by another agent.
//
// Where ctx is cancelled the run is ended as cancelled, or as timed out at a
// deadline. Where the cause is of the kind [event.ErrUnavailable] it is handed
// back instead: what was in flight is left for the next driver, who finds it as after
// a crash, and Result.Status is running.
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
	o := runOptions{Request: drive.Request{Run: run, Engine: &given}, conv: conv}
	err := a.drive(ctx, resume{}, &o, r, sink)
	return r, err
}
