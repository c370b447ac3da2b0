package braid

import (
	"maps"

	"github.com/braidrun/braid/secret"
)

// WithSecrets gives the run's tools secrets by name, such as the token with which they work for the caller. A tool
// reads one with [tool.SecretOf].
//
// Secrets are in this process's memory only, for as long as the run is driven: whoever drives the run later gives
// them again. Where a tool or a model repeats one it is replaced by [secret.Redacted] before it reaches a model, the
// log, a stream, a hook or an error, in all the forms that a [secret.Mask] finds, also in the live pieces of an
// answer. Thinking that repeats one is left out. Values of fewer than [secret.MaskFrom] bytes are not looked for. What the
// caller says, metadata, and the state of temporary keys stay as they are.
func WithSecrets(values map[string]secret.Secret) RunOption {
	return func(o *runOptions) {
		if o.Secrets == nil {
			o.Secrets = make(map[string]secret.Secret, len(values))
		}
		maps.Copy(o.Secrets, values)
	}
}
