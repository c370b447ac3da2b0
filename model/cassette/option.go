package cassette

import (
	"github.com/braidrun/braid/secret"
)

// op is what errors of this package say that was being done.
const op = "cassette"

// Option changes how something is recorded or replayed. One that has no meaning for
// what it is given to does nothing.
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

// Secrets hides these in what is written, wherever they turn up: as they are, quoted as
// in JSON or an address, in base64, cut by the border of two chunks. Those of fewer than 4 bytes are not hidden.
// A replay may be given them too: it then also hides them in its errors.
func Secrets(secrets ...secret.Secret) Option {
	return func(o *options) {
		for _, s := range secrets {
			o.hide.know(s)
		}
	}
}

// Redact hides more in what is written. f is given whole texts: a block, the string
// of a tool's argument, an error's message. It gives the text back without what is to be hidden, must
// do nothing to what it gave back itself, and must be safe for concurrent use. Where
// it puts something else than "[redacted]" in, a replay must be given it too.
func Redact(f func(text string) string) Option {
	return func(o *options) { o.hide.funcs = append(o.hide.funcs, f) }
}

// Timeless leaves times out of what is written, so that two recordings of the same
// are the same bytes. They cannot be replayed by [Paced].
func Timeless() Option { return func(o *options) { o.timeless = true } }

// InOrder replays answers only in the order in which they were asked for. Without it a
// request is found by its run, scope, cycle and attempt, so that agents that work at the
// same time may be quicker or slower than they were.
func InOrder() Option { return func(o *options) { o.inOrder = true } }

// Paced replays chunks at the times at which they came; speed 2 is twice as fast.
// Without it, or at 0 and below, they come at once.
func Paced(speed float64) Option { return func(o *options) { o.speed = speed } }

// Drift is a tool's result at a replay that is not the one which was recorded.
type Drift struct {
	// Call and Tool name the call.
	Call, Tool string
	// Was and Is are the beginnings of what they differ in.
	Was, Is string
}

// Drifting replays also where a tool gives another result than it gave when the
// recording was made, as a clock does: told is called once for each such result. The
// model's answers go on as they were recorded. told must be safe for concurrent
// use; nil tells nobody. Without this option another result is an error.
func Drifting(told func(Drift)) Option {
	return func(o *options) {
		if told == nil {
			told = func(Drift) {}
		}
		o.drifted = told
	}
}
