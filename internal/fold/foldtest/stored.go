package foldtest

import (
	"errors"
	"fmt"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// StoredFolds stores the fold of a log wherever that is possible, and opens the conversation from it at many later
// positions. Each such fold must be the fold of the whole log. It returns how many folds it compared.
func StoredFolds(log []*event.Event) (compared int, err error) {
	const id = "c"
	// One fold has grown event by event, the other began with the last stored fold.
	grown, resumed := fold.New(nil), fold.New(nil)
	var ofGrown, ofResumed shelf
	for n := range log {
		for _, v := range []**fold.Conversation{&grown, &resumed} {
			if (*v).Add(log[n]); (*v).Stale {
				*v = fold.New(log[:n+1])
			}
		}
		if !grown.Storable() {
			continue
		}
		for _, is := range []struct {
			v *fold.Conversation
			s *shelf
		}{{grown, &ofGrown}, {resumed, &ofResumed}} {
			stored, ok := is.v.Store(id)
			if !ok {
				return compared, fmt.Errorf("the fold of %d events cannot be stored", n+1)
			}
			is.s.put(stored)
			is.v.Keep(stored)
			for end := n + 1; end <= len(log); end += 1 + (end-n)*(end-n)/16 {
				if err := is.s.compare(id, log[:end]); err != nil {
					return compared, fmt.Errorf("stored after event %d, opened after event %d: %w", n+1, end, err)
				}
				compared++
			}
		}
		if resumed = ofResumed.open(id, log[:n+1]); resumed == nil {
			return compared, fmt.Errorf("the fold of %d events is not used", n+1)
		}
	}
	return compared, nil
}

// shelf is what a store keeps of a conversation's fold.
type shelf struct {
	seq   int64
	head  []byte
	parts [][]byte
}

func (s *shelf) put(f *fold.Stored) {
	s.seq, s.head = f.Seq, f.Head
	s.parts = append(s.parts[:f.Before:f.Before], f.Parts...)
}

func (s *shelf) open(id string, log []*event.Event) *fold.Conversation {
	return fold.FromStored(id, s.seq, s.head, log[s.seq-1:])
}

// compare holds the stored fold and what follows it to the fold of the whole log.
func (s *shelf) compare(id string, log []*event.Event) error {
	v := s.open(id, log)
	if changesBefore(log, s.seq) {
		if v != nil {
			return errors.New("the stored fold is used although a later event changes it")
		}
		return nil
	}
	if v == nil {
		return errors.New("the stored fold is not used")
	}
	whole := fold.New(log)
	if a, b := figures(v, s.seq), figures(whole, s.seq); a != b {
		return fmt.Errorf("before the older messages are read:\n%s---\n%s", a, b)
	}
	first, ok := v.Older(id, s.parts)
	if ok != (v.Missing() > 0) || len(first) != v.Missing() {
		return fmt.Errorf("%d older messages, %d are missing", len(first), v.Missing())
	}
	v.Complete(first)
	if a, b := figures(v, s.seq), figures(whole, s.seq); a != b {
		return fmt.Errorf("after the older messages were read:\n%s---\n%s", a, b)
	}
	without := []string{"Conversation.Partial", "Conversation.Mail", "Conversation.keeping", "Transcript.kept", "Conversation.Hidden"}
	if whole.Run.First <= s.seq {
		// Nothing continues the run.
		without = append(without, "Conversation.Run", "Conversation.base", "Conversation.baseGauge")
	}
	if a, b := deep(v, without, true), deep(whole, without, true); a != b {
		return fmt.Errorf("the folds differ:\n%s---\n%s", a, b)
	}
	return nil
}

// figures writes what decisions take from a fold without its messages. Of a run that a stored fold has, only its end is
// left.
func figures(v *fold.Conversation, seq int64) string {
	r := v.Run
	list := []any{
		v.Open(), v.Unanswered(), v.Continuable(), v.Limited(), r.ID, r.Agent, r.Labels, r.First, r.Ended, r.Started.UnixNano(), r.At.UnixNano(),
		v.Past.Len(), v.Hidden.Reach(""), v.Past.Messages[max(len(v.Past.Messages)-1, 0):], r.OpenQuestions(),
	}
	if r.First > seq {
		tokens, whole := r.Scopes[0].Tokens()
		list = append(list, tokens, whole, r.Scopes[0].Transcript.Len())
	}
	return deep(list, nil, true)
}

// changesBefore reports whether an event after seq changes what came before it.
func changesBefore(log []*event.Event, seq int64) bool {
	for _, e := range log[seq:] {
		switch b := e.Body.(type) {
		case *event.Compacted:
			if b.From <= seq {
				return true
			}
		case *event.Redacted:
			if !b.Clean && b.Target <= seq {
				return true
			}
		}
	}
	return false
}
