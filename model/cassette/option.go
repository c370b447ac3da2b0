package cassette

import (
	"github.com/braidrun/braid/secret"
)

// op names the operation in the errors of this package.
const op = "cassette"

// Option changes how a model is recorded or replayed. An option that does not apply is ignored.
type Option func(*options)

type options struct {
	hide     hider
	timeless bool

	inOrder bool
	speed   float64
	drifted func(Drift)
}

func configure(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Secrets hides these secrets in the recording: as plain text, quoted as in JSON or a URL, in
// base64, and split between two chunks. Secrets shorter than 4 bytes are not hidden. In a
// replay, Secrets hides them in errors.
func Secrets(secrets ...secret.Secret) Option {
	return func(o *options) {
		for _, s := range secrets {
			o.hide.know(s)
		}
	}
}

// Redact adds a function that hides text in the recording. f gets complete texts, such as a
// block, a string in a tool's arguments or an error message, and returns the text to record. It
// must leave its own results unchanged and be safe for concurrent use. If its replacement
// differs from "[redacted]", the replay needs the same function.
func Redact(f func(text string) string) Option {
	return func(o *options) { o.hide.funcs = append(o.hide.funcs, f) }
}

// Timeless records no times, so that two recordings of the same calls are identical. [Paced]
// cannot replay their timing.
func Timeless() Option { return func(o *options) { o.timeless = true } }

// InOrder replays answers only in the recorded order. Without it, a request is matched by its
// run, scope, cycle and attempt, so that the timing of concurrent agents may differ.
func InOrder() Option { return func(o *options) { o.inOrder = true } }

// Paced replays chunks with their recorded timing; speed 2 is twice as fast. Without it, or
// with a speed of 0 or less, chunks are not delayed.
func Paced(speed float64) Option { return func(o *options) { o.speed = speed } }

// Drift is a tool result in a replay that differs from the recorded one.
type Drift struct {
	// Call and Tool name the call.
	Call, Tool string
	// Was and Is are the beginnings of the differing parts.
	Was, Is string
}

// Drifting allows tool results that differ from the recorded ones, such as the time of day. It
// calls told for each such result, and the replay continues with the recorded answers. told
// must be safe for concurrent use; it may be nil. Without this option a differing result is an
// error.
func Drifting(told func(Drift)) Option {
	return func(o *options) {
		if told == nil {
			told = func(Drift) {}
		}
		o.drifted = told
	}
}
