package braid

import (
	"github.com/braidrun/braid/event"
)

// How a run takes over the work of one that failed: [Agent.Resume] admits a run without input that names the
// failed one, and its first step is what failed. The failed run and its end stay in the log as they are.

// ContinuesLabel is the label of a run's row that names the ended run that it continues. [Agent.Resume] sets it.
// An engine sets it on a run without input, where [Conversation.Retryable] names that run.
const ContinuesLabel = "braid.continues"

// ForgetFailed makes conversations forget the messages of the agent's failed runs: later runs see only a note
// of what their tools did. Without it they see whole messages and results, and a note that the run failed.
// A failed run can be continued with [Agent.Resume] either way. Each run's end records which it was.
func ForgetFailed() Part {
	return partFunc(func(a *Agent) error {
		a.set.forgets = true
		return nil
	})
}

// takesOver notes at a run's beginning which failed run it continues. Where another run came between, the run
// fails: it has no input of its own.
func (d *driver) takesOver(b *event.RunStarted) {
	failed := d.row.Metadata[ContinuesLabel]
	if failed == "" || len(d.row.Input) > 0 {
		return
	}
	if v := d.view; v.Run != nil && v.Run.ID == failed && !d.row.NewSession {
		switch {
		case v.Continuable():
			b.Continues, b.From = failed, v.Run.First
			return
		case v.Limited():
			return
		}
	}
	d.broke(&event.Error{
		Op: "resume", Kind: event.ErrConflict, Message: "the run that was to be continued is not the conversation's newest, or did not fail",
		Hint: "begin a run with new input",
	})
}
