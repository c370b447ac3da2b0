package drive

import (
	"slices"

	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/secret"
)

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
func maskGuard(m *secret.Mask) []Guard {
	if m == nil {
		return nil
	}
	return []Guard{{guardrail.Rule{Name: "secrets", Mask: m}, []guardrail.Place{guardrail.Output, guardrail.Result}}}
}

// lift sends what was held back of the live pieces of an answer, which is over.
func (w *Work) lift(deltas *guardrail.MaskedDeltas, a *assembler) {
	if !w.gate.enter() {
		return
	}
	defer w.gate.release(a)
	a.sending = true
	deltas.End()
	a.sending = false
}
