package fold

import (
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow/kind"
)

// noFlow is the Flow of a scope that has opened nothing and decided nothing. It must not be written to.
var noFlow Flow

// OwnFlow returns what a kind of agent without a model sees of its scope. The caller must not change it.
func (s *Scope) OwnFlow() *Flow {
	if s.Flow == nil {
		return &noFlow
	}
	return s.Flow
}

// flow returns the scope's own Flow for writing.
func (s *Scope) flow() *Flow {
	if s.Flow == nil {
		s.Flow = &Flow{}
	}
	return s.Flow
}

// seen returns what the kind of the parent sees of a scope; nil if that is nothing, or nothing any more.
func (s *Scope) seen() *kind.Child {
	if s.Place.Part == 0 || s.Parent.Flow == nil || s.Place.Part > len(s.Parent.Flow.Seen) {
		return nil
	}
	if one := &s.Parent.Flow.Seen[s.Place.Part-1]; one.ID == s.ID {
		return one
	}
	return nil
}

// leaves notes in the Flow of the parent how a scope ended.
func (s *Scope) leaves(at time.Time) {
	if s.Place.Part > 0 {
		defer s.release()
	}
	if one := s.seen(); one != nil && one.Open {
		s.Parent.Flow.close(s.Place.Part-1, s.Closed, s.Batch.Answer, at)
	}
}

// release drops what nothing reads of a closed scope that no call has opened. Its answer is in Closed, its usage in Totals. A run
// may have 10,000 of them.
func (s *Scope) release() {
	s.Transcript, s.Newest, s.Answer, s.Batch, s.Flow = Transcript{}, Said{}, Answer{}, Batch{}, nil
	s.compaction, s.Repeats, s.Before, s.Tools = nil, nil, nil, ScopeTools{}
}

// escalate notes that a scope asks the loop around it to stop.
func (s *Scope) escalate() {
	s.flow().Escalated = true
	if one := s.seen(); one != nil {
		one.Escalated = true
	}
}

// changes notes the keys of the state that a scope has changed, for all kinds of agents above it.
func (s *Scope) changes(b *event.StateChanged) {
	for ; s != nil && s.Depth > 0; s = s.Parent {
		one := s.seen()
		if one == nil {
			continue
		}
		keys := slices.Clone(one.State)
		for k := range b.Set {
			keys = append(keys, k)
		}
		keys = append(keys, b.Delete...)
		slices.Sort(keys)
		one.State = slices.Compact(keys)
	}
}
