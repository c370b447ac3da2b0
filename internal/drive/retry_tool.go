package drive

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/retry"
)

// retryCall is the stage that makes a failed call again, where a hook or the tool's own policy wants it. It ends this
// attempt, and reports whether the call ends.
func (d *activeRun) retryCall(w *Work) bool {
	if d.stoppedIn(w.scope) != nil {
		return true
	}
	c, end, at := w.call, w.end, d.now
	byHook := end.again && w.attempt < hookTries
	switch {
	case byHook:
	case end.failure != nil && c.traits().Retry.Attempts > 1 && w.triesAgain():
		policy := retry.ForTools(c.traits().Retry)
		at = d.now.Add(retry.Wait(&policy, w.entry.Extra().Retries+1, retry.AskedToWait(end.err)))
	default:
		return true
	}
	e := callEnd{outcome: event.OutcomeFailed, err: end.failure, took: end.took, retryAt: at, byHook: byHook}
	e.files, e.moreFiles = c.files()
	d.endCall(w.scope, w.step, w.attempt, &e)
	return false
}

// triesAgain reports whether the tool's own policy has a failed call made again. What failed
// is known to have: hooks that made a result of it have been asked before.
func (w *Work) triesAgain() bool {
	c, end := w.call, w.end
	if w.entry.Extra().Retries+1 >= c.traits().Retry.Attempts || end.err == nil || !c.traits().Repeats() {
		return false
	}
	return retry.MayHelp(end.err)
}
