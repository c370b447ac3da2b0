package braid

import (
	"maps"
	"slices"

	"github.com/braidrun/braid/internal/guardrail"
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
		if o.secrets == nil {
			o.secrets = make(map[string]secret.Secret, len(values))
		}
		maps.Copy(o.secrets, values)
	}
}

// maskOf makes the mask of a run's secrets, but for those that may be shown.
func maskOf(secrets map[string]secret.Secret, shown []string) *secret.Mask {
	list := make([]secret.Secret, 0, len(secrets))
	for name, s := range secrets {
		if !slices.Contains(shown, name) {
			list = append(list, s)
		}
	}
	return secret.NewMask(list...)
}

// maskGuard is the guardrail that a mask is. It looks at what agents and tools say, and leaves no record.
func maskGuard(m *secret.Mask) []guard {
	if m == nil {
		return nil
	}
	return []guard{{guardrail.Rule{Name: "secrets", Mask: m}, []guardrail.Place{guardrail.Output, guardrail.Result}}}
}

// lift sends what was held back of the live pieces of an answer, which is over.
func (w *work) lift(deltas *guardrail.MaskedDeltas, a *assembler) {
	if !w.gate.enter() {
		return
	}
	defer w.gate.release(a)
	a.sending = true
	deltas.End()
	a.sending = false
}

// goesOn hides in a text of progress the rest of a secret that those before it have begun.
func (c *runningCall) goesOn(guards []guardrail.Rule, text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.secrets) == 0 {
		return text
	}
	for i := range guards {
		if m := guards[i].Mask; m != nil {
			text, c.guard.progress = m.Behind(c.guard.progress, text)
		}
	}
	return text
}
