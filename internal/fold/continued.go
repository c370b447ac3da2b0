package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Limited reports whether a limit or the deadline ended the newest run before the model answered. The log keeps its
// messages, so a run without input continues after them.
func (v *Conversation) Limited() bool {
	r := v.Run
	return r != nil && r.Ended != nil && (r.Ended.Why == event.WhyLimit || r.Ended.Why == event.WhyDeadline) && v.Unanswered()
}

// Continuable reports whether the newest run failed after it had begun to work. A run that failed earlier must be
// repeated with its input, because a hook may have refused that input.
func (v *Conversation) Continuable() bool {
	r := v.Run
	return r != nil && r.Ended != nil && r.Ended.Status == event.RunFailed && r.Worked()
}

// Worked reports whether the run has called a model or has an answer. Otherwise later runs do not use its input,
// because a hook or a guardrail may have refused it.
//
// A run that continues another run includes that run's work.
func (r *Run) Worked() bool {
	return r.continues || r.Metrics.ModelCalls > 0 || r.Scopes[0].Answer.spoke
}

// continued returns the failed run that a run continues. It returns nil if there is none or if the log does not fit.
func (v *Conversation) continued(b *event.RunStarted) *Run {
	if b.Continues == "" || v.Run == nil || v.Run.ID != b.Continues || !v.Continuable() {
		return nil
	}
	return v.Run
}

// takeOver begins a run where a failed run ended, before the model call that failed. The root agent keeps its
// transcript; counters start at zero. The effects of the failed run's tools become the new run's, in case the new run
// also fails.
func (r *Run) takeOver(old *Run) {
	was, root := old.Scopes[0], r.Scopes[0]
	r.continues = true
	was.closeBatch()
	root.Transcript = was.Transcript
	root.Transcript.rewind()
	root.gauge, root.Tools.Found = was.gauge, was.Tools.Found
	root.Fresh, root.Answer.Stop, root.Newest, root.Answer.spoke = was.Fresh, was.Answer.Stop, was.Newest, was.Answer.spoke
	root.Answer.Words, root.Answer.Hooked = was.Answer.Words, was.Answer.Hooked
	root.Flow = was.Flow.takenOver()
	root.Cycle = was.Cycle
	if was.Model.State != ModelIdle {
		root.Cycle-- // its model call is made again
	}
	root.Totals.Base = root.Cycle
	r.First, r.LastMessage = old.First, old.LastMessage
	r.Effects = slices.Clone(old.Effects)
	if old.left != nil {
		left := *old.left
		left.changed, left.saved, left.doubts = slices.Clone(left.changed), slices.Clone(left.saved), slices.Clone(left.doubts)
		r.left = &left
	}
}
