package braid

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// limited reports whether a limit or the deadline ended the newest run before it was answered. Its messages are kept
// anyhow, so a run without input goes on behind them.
func (v *view) limited() bool {
	r := v.run
	return r != nil && r.ended != nil && (r.ended.Why == event.WhyLimit || r.ended.Why == event.WhyDeadline) && v.unanswered()
}

// continuable reports whether the newest run failed after it had begun to work. One that failed before then
// is to be run again with its input: a hook may not have let that pass.
func (v *view) continuable() bool {
	r := v.run
	return r != nil && r.ended != nil && r.ended.Status == event.RunFailed && r.worked()
}

// worked reports whether the run came to its first step. Of one that did not, its input is kept for no later
// run: a hook or a guardrail may have refused it.
//
// A run that continues another one has that one's work.
func (r *runView) worked() bool { return r.continues || r.metrics.ModelCalls > 0 || r.scopes[0].spoke }

// continued gives the failed run that a run continues; nil for none, also where the log does not fit.
func (v *view) continued(b *event.RunStarted) *runView {
	if b.Continues == "" || v.run == nil || v.run.id != b.Continues || !v.continuable() {
		return nil
	}
	return v.run
}

// takeOver begins a run where a failed one ended: with what its root agent has seen, and before the call that
// failed. Its counters begin anew, as those of any run. What the failed run's tools did counts as the new
// run's, in case it fails, too.
func (r *runView) takeOver(old *runView) {
	was, root := old.scopes[0], r.scopes[0]
	r.continues = true
	was.closeBatch()
	root.talk = was.talk
	root.talk.rewind()
	root.gauge, root.found = was.gauge, was.found
	root.fresh, root.stop, root.newest, root.spoke = was.fresh, was.stop, was.newest, was.spoke
	root.words, root.hooked = was.words, was.hooked
	root.cycle = was.cycle
	if was.model.state != modelIdle {
		root.cycle-- // its model call is made again
	}
	root.base = root.cycle
	r.first, r.lastMessage = old.first, old.lastMessage
	r.effects = slices.Clone(old.effects)
	if old.left != nil {
		left := *old.left
		left.changed, left.saved, left.doubts = slices.Clone(left.changed), slices.Clone(left.saved), slices.Clone(left.doubts)
		r.left = &left
	}
}
