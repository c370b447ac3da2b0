package fold

import "github.com/braidrun/braid/event"

// redact hides the content of an earlier event. It replaces a scope's newest message in place, because the run
// continues. Any other redaction requires folding the log again.
func (v *Conversation) redact(e *event.Event, b *event.Redacted) {
	if b.Clean {
		return
	}
	v.Hidden.Note(e)
	s := v.Run.Scope(e.Scope)
	if s == nil || s.Newest.Seq != b.Target || b.Target == 0 || !s.Newest.Whole {
		v.Stale = true
		return
	}
	instead := shownInstead(b)
	if len(s.Newest.Content) == 0 || !s.Transcript.swap(s.Newest.Content, instead) {
		v.Stale = true
		return
	}
	s.Newest.Content = instead
}
