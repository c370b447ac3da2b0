package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Said is a user's message as the transcript has it.
type Said struct {
	Seq int64
	// Content is empty when the transcript shows none of it. Whole says that it shows all, so that the message can be taken
	// back without folding the log anew.
	Content []event.Block
	Whole   bool
	// before is the message before it, if no answer stands between the two.
	before *Said
}

// hear notes a user's message.
func (s *Scope) hear(seq int64) {
	if s.Newest.Seq == 0 || s.Fresh != event.WhyInput && s.Fresh != event.WhyMessage {
		s.Newest = Said{Seq: seq}
		return
	}
	before := s.Newest
	s.Newest = Said{Seq: seq, before: &before}
}

// Input is what the scope was asked: what users have said that it has not answered.
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

// Unanswered lists the events of this run that the model has not answered. Without any it is the newest message:
// the model goes on with an answer to it.
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

// redact hides what an earlier event said. A scope's newest message is replaced where it stands, because
// the run goes on; for anything else the log must be folded anew.
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

// shownInstead is what stands for a redacted event's content.
func shownInstead(b *event.Redacted) []event.Block {
	if len(b.Replacement) == 0 {
		return RedactedContent
	}
	return b.Replacement
}
