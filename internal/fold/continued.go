package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Limited reports whether a limit or the deadline ended the newest run before it was answered. Its messages are kept
// anyhow, so a run without input goes on behind them.
func (v *Conversation) Limited() bool {
	r := v.Run
	return r != nil && r.Ended != nil && (r.Ended.Why == event.WhyLimit || r.Ended.Why == event.WhyDeadline) && v.Unanswered()
}

// Continuable reports whether the newest run failed after it had begun to work. One that failed before then
// is to be run again with its input: a hook may not have let that pass.
func (v *Conversation) Continuable() bool {
	r := v.Run
	return r != nil && r.Ended != nil && r.Ended.Status == event.RunFailed && r.Worked()
}

// Worked reports whether the run came to its first step. Of one that did not, its input is kept for no later
// run: a hook or a guardrail may have refused it.
//
// A run that continues another one has that one's work.
func (r *Run) Worked() bool {
	return r.continues || r.Metrics.ModelCalls > 0 || r.Scopes[0].Answer.spoke
}

// continued gives the failed run that a run continues; nil for none, also where the log does not fit.
func (v *Conversation) continued(b *event.RunStarted) *Run {
	if b.Continues == "" || v.Run == nil || v.Run.ID != b.Continues || !v.Continuable() {
		return nil
	}
	return v.Run
}

// takeOver begins a run where a failed one ended: with what its root agent has seen, and before the call that
// failed. Its counters begin anew, as those of any run. What the failed run's tools did counts as the new
// run's, in case it fails, too.
func (r *Run) takeOver(old *Run) {
	was, root := old.Scopes[0], r.Scopes[0]
	r.continues = true
	was.closeBatch()
	root.Transcript = was.Transcript
	root.Transcript.rewind()
	root.gauge, root.Tools.Found = was.gauge, was.Tools.Found
	root.Fresh, root.Answer.Stop, root.Newest, root.Answer.spoke = was.Fresh, was.Answer.Stop, was.Newest, was.Answer.spoke
	root.Answer.Words, root.Answer.Hooked = was.Answer.Words, was.Answer.Hooked
	for _, c := range was.Children {
		if c.Closed == nil || c.Closed.Err != nil {
			break // its work is done again
		}
		root.Children = append(root.Children, c)
	}
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
