package drive

import (
	"cmp"
	"errors"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// The waits between the attempts of a tool call where its policy names none: shorter
// than those of a model, because a person waits and most tools are near.
const (
	toolRetryBase = time.Second
	toolRetryMax  = 30 * time.Second
)

// forTools fills in what a tool's policy leaves out.
func forTools(r tool.Retry) tool.Retry {
	return tool.Retry{Base: cmp.Or(r.Base, toolRetryBase), Max: cmp.Or(r.Max, toolRetryMax), Exact: r.Exact}
}

// askedToWait is how long the other side wants to be left alone; 0 where it did not say.
func askedToWait(err error) time.Duration {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// retryCall is the stage that makes a failed call again, where a hook or the tool's own policy wants it. It ends this
// attempt, and reports whether the call ends.
func (d *driver) retryCall(w *Work) bool {
	if d.ctx.Err() != nil {
		return true
	}
	c, end, at := w.call, w.end, d.now
	switch {
	case end.again && w.attempt < hookTries:
	case end.failure != nil && c.traits.Retry.Attempts > 1 && w.triesAgain():
		retry := forTools(c.traits.Retry)
		at = d.now.Add(RetryWait(&retry, w.entry.Extra().Retries+1, askedToWait(end.err)))
	default:
		return true
	}
	d.endCall(w.scope, w.step, w.attempt, &callEnd{outcome: event.OutcomeFailed, err: end.failure, took: end.took, retryAt: at})
	return false
}

// triesAgain reports whether the tool's own policy has a failed call made again. What failed
// is known to have: hooks that made a result of it have been asked before.
func (w *Work) triesAgain() bool {
	c, end := w.call, w.end
	if w.entry.Extra().Retries+1 >= c.traits.Retry.Attempts || end.err == nil || !c.traits.Repeats() {
		return false
	}
	if _, ok := errors.AsType[*tool.ArgumentsError](end.err); ok {
		return false // the model's to mend
	}
	if e, ok := errors.AsType[*event.Error](end.err); ok {
		return e.Kind.Info().Retry
	}
	if k, ok := errors.AsType[event.ErrorKind](end.err); ok {
		return k.Info().Retry
	}
	return true
}
