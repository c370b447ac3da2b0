package drive

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/guardrail"
)

// takeBack records that a provider's guardrail refuses the newest content: the results of the last tool calls, or the
// newest messages. From then on every reader of the log sees a replacement text. Earlier content stays, so a blocked
// result does not remove the user's question.
func (d *driver) takeBack(w *Work, text string) {
	for _, seq := range w.scope.Unanswered() {
		d.add(w.scope, w.step, w.attempt, &event.Redacted{
			Target: seq, Replacement: []event.Block{&event.Text{Text: text}}, Reason: "guardrail",
		})
	}
}

// orRedacted returns a guardrail's replacement text, or Braid's own.
func orRedacted(text string) string {
	if strings.TrimSpace(text) == "" {
		return guardrail.Redacted
	}
	return validText(text)
}
