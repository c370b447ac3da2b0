package drive

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/guardrail"
)

// takeBack writes that a provider's guardrail refuses what the model has not answered yet: the results of
// the last tool calls, or the newest messages. Everybody who reads the log from then on sees text instead.
// What was answered before stays, so that a result that is blocked does not take the user's question with it.
func (d *driver) takeBack(w *Work, text string) {
	for _, seq := range w.scope.Unanswered() {
		d.add(w.scope, w.step, w.attempt, &event.Redacted{
			Target: seq, Replacement: []event.Block{&event.Text{Text: text}}, Reason: "guardrail",
		})
	}
}

// orRedacted is a guardrail's text, or ours where it gives none.
func orRedacted(text string) string {
	if strings.TrimSpace(text) == "" {
		return guardrail.Redacted
	}
	return validText(text)
}
