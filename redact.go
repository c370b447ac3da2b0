package braid

import (
	"strings"

	"github.com/braidrun/braid/event"
)

// said is a person's message as the transcript has it. content is empty where it shows
// none of it; whole says that it shows all, so that it can be taken back without folding
// the log anew.
type said struct {
	seq     int64
	content []event.Block
	whole   bool
}

// takeBack writes that a guardrail does not let the newest message of the model's scope
// stand. Whoever is shown the log from then on is shown text instead; what other
// runs of the conversation have said is left alone.
func (d *driver) takeBack(w *work, text string) {
	if seq := w.scope.newest.seq; seq > 0 {
		d.add(w.scope, w.step, w.attempt, &event.Redacted{
			Target: seq, Replacement: []event.Block{&event.Text{Text: text}}, Reason: "guardrail",
		})
	}
}

// redact hides what an earlier event said. A scope's newest message, which is all that
// a driver itself takes back, is replaced where it stands, because the run goes
// on; for anything else the view must be folded anew.
func (v *view) redact(e *event.Event, b *event.Redacted) {
	if b.Clean {
		return
	}
	v.hide.note(e)
	s := v.run.scope(e.Scope)
	if s == nil || s.newest.seq != b.Target || b.Target == 0 || !s.newest.whole {
		v.stale = true
		return
	}
	instead := shownInstead(b)
	if len(s.newest.content) == 0 || !s.talk.swap(s.newest.content, instead) {
		v.stale = true
		return
	}
	s.newest.content = instead
}

// shownInstead is what stands for a redacted event's content.
func shownInstead(b *event.Redacted) []event.Block {
	if len(b.Replacement) == 0 {
		return redactedContent
	}
	return b.Replacement
}

// orRedacted is a guardrail's text, or ours where it gives none.
func orRedacted(text string) string {
	if strings.TrimSpace(text) == "" {
		return "[redacted]"
	}
	return validText(text)
}
