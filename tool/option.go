package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Option sets a trait of a tool, in [Func] or [Adjust].
type Option func(*Traits)

// set applies options. nil is none.
func (t *Traits) set(opts []Option) {
	for _, o := range opts {
		if o != nil {
			o(t)
		}
	}
}

// Pure says that the tool changes nothing: it may run again at any time.
func Pure() Option { return func(t *Traits) { t.Effect = event.EffectPure } }

// Idempotent says that running it again with the same [Call.Key] is the same as
// running it once.
func Idempotent() Option { return func(t *Traits) { t.Effect = event.EffectIdempotent } }

// Reconcile says that fn can tell what became of a call that was in flight when
// its driver died.
func Reconcile(fn func(ctx context.Context, args json.RawMessage) (out Output, known bool, err error)) Option {
	return func(t *Traits) {
		t.Effect = event.EffectReconcilable
		t.Reconcile = fn
	}
}

// Timeout bounds one attempt of a call, from when it runs. Its context ends then, and the
// model is told.
func Timeout(d time.Duration) Option { return func(t *Traits) { t.Timeout = d } }

// Parallel bounds the calls of the tool that run at once in one run. Calls above it wait
// for their turn, and their time-out does not run meanwhile.
func Parallel(n int) Option { return func(t *Traits) { t.Parallel = n } }

// Polling says that asking again and again is what the tool is for: its calls never count
// as a loop, however often they bring the same.
func Polling() Option { return func(t *Traits) { t.Polling = true } }

// Retry is a policy for what failed and may succeed later.
type Retry struct {
	// Attempts counts the first one too; 1 means no repetition. 0 means the default of whoever takes the policy: 6 for
	// models, none for tools.
	Attempts int
	// Base is the wait before the first repetition. The waits double. 0 means 4 s for models and 1 s for tools.
	Base time.Duration
	// Max bounds one wait. 0 means 240 s for models and 30 s for tools.
	Max time.Duration
	// Exact switches the jitter off, which takes up to half of each wait.
	Exact bool
}

// Retries repeats a call that failed and may succeed later. It is for
// tools that are [Pure], [Idempotent] or can [Reconcile]; of the last, the outside is asked
// first what became of the failed attempt. An agent refuses a policy for a tool of another
// effect, because nobody knows what a repetition would do.
//
// Repeated is an error that says nothing of its kind, one whose kind may be repeated
// ([event.KindInfo]), and the tool's own time-out. Not repeated are wrong arguments, panics,
// an [Output] with IsError, and tools that were left behind.
func Retries(r Retry) Option { return func(t *Traits) { t.Retry = r } }

// Repeats reports whether a tool with these traits may be called again after it failed.
func (t *Traits) Repeats() bool {
	switch t.Effect {
	case event.EffectPure, event.EffectIdempotent:
		return true
	case event.EffectReconcilable:
		return t.Reconcile != nil
	default:
		return false
	}
}
