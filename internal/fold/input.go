package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

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
