package drive

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// endOpenSteps ends all steps of a scope that are still open, because the scope ends.
func (d *driver) endOpenSteps(s *fold.Scope) {
	for _, c := range slices.Clone(s.Batch.Calls) {
		if c.State != fold.CallEnded {
			d.endOpenCall(s, c)
		}
	}
	if s.Compaction().State == fold.ModelBegun {
		outcome, used := event.OutcomeCancelled, event.Usage{}
		if w := d.exec.flight(s.Compaction().Step); w != nil {
			outcome, used = event.OutcomeStraggler, w.usedUntilLeft()
			d.abandon(w)
		}
		d.endCompaction(s, s.Cycle, s.Compaction().Step, s.Compaction().Attempt, &modelCallEnd{
			outcome: outcome, charge: d.lostSummary(s, used),
		})
	}
	if s.Model.State == fold.ModelBegun {
		w, used := d.exec.flight(s.Model.Step), event.Usage{}
		if w != nil {
			used = w.usedUntilLeft()
		}
		end := &modelCallEnd{
			outcome: event.OutcomeCancelled, charge: d.lostCharge(s, s.Model.Name, used), known: used != event.Usage{},
		}
		if w != nil {
			end.outcome, end.err, end.took = event.OutcomeStraggler, leftBehind(s.Model.Name), d.now.Sub(w.begun)
			d.abandon(w)
		}
		d.endModel(s, s.Model.Step, s.Model.Attempt, end)
	}
}

// endOpenCall ends a tool call that is still open when its scope ends.
func (d *driver) endOpenCall(s *fold.Scope, c *fold.Call) {
	outcome, text := event.OutcomeCancelled, "The tool call was cancelled before it gave a result."
	switch {
	case c.State == fold.CallNew && s.Answer.Stop == event.StopMaxTokens:
		text = "The tool call was not run, because the answer was cut at its token limit."
	case c.State == fold.CallNew:
		text = "The tool call was cancelled and never begun."
	}
	attempt := c.Attempt
	if !c.Extra().RetryAt.IsZero() {
		text, attempt = "The tool call failed, and was cancelled before it was made again.", 0 // that attempt has ended
	}
	if w := d.exec.flight(c.Step); w != nil {
		outcome = event.OutcomeStraggler
		text = "The tool " + strconv.Quote(c.Name) + " did not stop when it was cancelled and was left behind; it may still have an effect."
		d.abandon(w)
	}
	d.endCallInWords(s, c, attempt, outcome, text)
}

// endOverdueCall ends a call whose tool did not return in time. The tool is left behind.
func (d *driver) endOverdueCall(w *Work) {
	d.abandon(w)
	text := "Error: the tool " + strconv.Quote(w.call.Name) + " did not return in time and was left behind; it may still have an effect."
	d.endCall(w.scope, w.step, w.attempt, &callEnd{
		outcome: event.OutcomeStraggler, result: errorResult(w.call.ID, w.call.Name, text), took: d.now.Sub(w.begun),
		err: &event.Error{Op: "tool " + w.call.Name, Kind: event.ErrTimeout, Message: "the tool did not return in time"},
	})
}

// leftBehind is the error of a model call that did not stop.
func leftBehind(model string) *event.Error {
	return &event.Error{
		Op: "model " + model, Kind: event.ErrCancelled, Message: "the model did not stop when it was cancelled and was left behind",
	}
}
