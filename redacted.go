package braid

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// said is a person's message as the transcript has it. content is empty where it shows
// none of it; whole says that it shows all, so that it can be taken back without folding
// the log anew. before is the message before it where no answer stands between the two.
type said struct {
	seq     int64
	content []event.Block
	whole   bool
	before  *said
}

// hear notes a message of a person.
func (s *scope) hear(seq int64) {
	if s.newest.seq == 0 || s.fresh != event.WhyInput && s.fresh != event.WhyMessage {
		s.newest = said{seq: seq}
		return
	}
	before := s.newest
	s.newest = said{seq: seq, before: &before}
}

// news lists the events of this run that the model has not answered. Without any it is the newest message:
// the model goes on with an answer to it.
func (s *scope) news() (seqs []int64) {
	for _, c := range s.last {
		if c.ended > 0 && !slices.Contains(seqs, c.ended) {
			seqs = append(seqs, c.ended)
		}
	}
	asked := int64(0)
	if s.last != nil {
		asked = s.askedAt
	}
	for m := &s.newest; m != nil && m.seq > asked; m = m.before {
		if !slices.Contains(seqs, m.seq) {
			seqs = append(seqs, m.seq)
		}
	}
	return seqs
}

// redact hides what an earlier event said. A scope's newest message is replaced where it stands, because
// the run goes on; for anything else the view must be folded anew.
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
