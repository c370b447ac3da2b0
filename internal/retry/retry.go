// Package retry says when a failed call of a model or tool is made again, and after which wait.
package retry

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// quickly is the longest wait before a call that reached no server is made again.
const quickly = time.Second

// After returns how long to wait before the next attempt, and whether there is one. A call that
// reached no server is made again once: unreached counts those just before.
func After(r *tool.Retry, tries, unreached int, err *event.Error) (time.Duration, bool) {
	switch {
	case tries >= r.Attempts:
		return 0, false
	case model.Unreached(err):
		return min(Wait(r, 1, 0), quickly), unreached == 0
	default:
		return Wait(r, tries, err.RetryAfter), true
	}
}

// Wait returns how long to wait after attempt number n has failed.
func Wait(r *tool.Retry, n int, asked time.Duration) time.Duration {
	w := r.Base
	for i := 1; i < n && w < r.Max; i++ {
		w *= 2
	}
	w = min(w, r.Max)
	if !r.Exact && w > 1 {
		w -= rand.N(w / 2) //nolint:gosec // jitter needs no secrecy
	}
	return max(w, asked)
}

// The waits between the attempts of a tool call where its policy names none: shorter
// than those of a model, because a person waits and most tools are near.
const (
	toolBase = time.Second
	toolMax  = 30 * time.Second
)

// ForTools fills in what a tool's policy leaves out.
func ForTools(r tool.Retry) tool.Retry {
	return tool.Retry{Base: cmp.Or(r.Base, toolBase), Max: cmp.Or(r.Max, toolMax), Exact: r.Exact}
}

// AskedToWait returns how long the other side wants to be left alone; 0 where it did not say.
func AskedToWait(err error) time.Duration {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// MayHelp reports whether a call that failed with err may succeed if it is made again.
func MayHelp(err error) bool {
	if _, ok := errors.AsType[*tool.ArgumentsError](err); ok {
		return false // the model's to mend
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e.Kind.Info().Retry
	}
	if k, ok := errors.AsType[event.ErrorKind](err); ok {
		return k.Info().Retry
	}
	return true
}
