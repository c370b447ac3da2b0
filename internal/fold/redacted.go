package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Said is a user's message in the transcript.
type Said struct {
	Seq int64
	// Content is empty if the transcript shows none of the message.
	Content []event.Block
	// Whole reports whether the transcript shows all of it, so that it can be redacted without folding the log again.
	Whole bool
	// before is the previous message if no answer came between the two.
	before *Said
}

// hear records a user's message.
func (s *Scope) hear(seq int64) {
	if s.Newest.Seq == 0 || s.Fresh != event.WhyInput && s.Fresh != event.WhyMessage {
		s.Newest = Said{Seq: seq}
		return
	}
	before := s.Newest
	s.Newest = Said{Seq: seq, before: &before}
}

// Input returns the users' messages that the scope has not answered.
func (s *Scope) Input() (content []event.Block) {
	if s.Newest.Seq == 0 { // a run without input goes on behind an earlier one's
		if n := len(s.Transcript.Messages); n > 0 && s.Transcript.Messages[n-1].Role == event.RoleUser {
			return slices.Clone(s.Transcript.Messages[n-1].Content)
		}
	}
	for m := &s.Newest; m != nil; m = m.before {
		content = slices.Concat(m.Content, content)
	}
	return content
}

// Unanswered returns the events of this run that the model has not answered. If there are none, it returns the newest
// message, whose answer the model continues.
func (s *Scope) Unanswered() (seqs []int64) {
	for _, c := range s.Batch.last {
		if c.ended > 0 && !slices.Contains(seqs, c.ended) {
			seqs = append(seqs, c.ended)
		}
	}
	asked := int64(0)
	if s.Batch.last != nil {
		asked = s.Batch.askedAt
	}
	for m := &s.Newest; m != nil && m.Seq > asked; m = m.before {
		if !slices.Contains(seqs, m.Seq) {
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs
}

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

// shownInstead returns the replacement of a redacted event's content.
func shownInstead(b *event.Redacted) []event.Block {
	if len(b.Replacement) == 0 {
		return RedactedContent
	}
	return b.Replacement
}
