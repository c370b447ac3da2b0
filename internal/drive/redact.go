package drive

import (
	"github.com/braidrun/braid/event"
)

// takeBack records that a provider's guardrail refuses the newest content: the results of the last tool calls, or the
// newest messages. From then on every reader of the log sees a replacement text. Earlier content stays, so a blocked
// result does not remove the user's question.
func (d *activeRun) takeBack(w *Work, text string) {
	for _, seq := range w.scope.Unanswered() {
		d.add(w.scope, w.step, w.attempt, &event.Redacted{
			Target: seq, Replacement: []event.Block{&event.Text{Text: text}}, Reason: "guardrail",
		})
	}
}
