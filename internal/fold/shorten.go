package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// shorten applies a new compaction without folding the log again. The units of a traced transcript show which messages
// go. It reports whether the result equals that of a new fold. Otherwise it changes nothing, for example if the
// compaction splits a unit or does not cover an earlier one.
func (v *Conversation) shorten(e *event.Event, b *event.Compacted) bool {
	if v.anew || !v.Past.Traced || !v.Open() {
		return false
	}
	s := v.Run.Scope(e.Scope)
	if s == nil || s.Closed != nil || s.Batch.Calls != nil || s.Answer.Pieces != nil {
		return false
	}
	c := Range{Scope: e.Scope, From: b.From, To: b.To, keep: b.Keep, cut: b.Cut, shown: true}
	if !b.Cut {
		c.summary = b.Summary
	}
	if e.Scope == "" {
		c.From = max(c.From, v.Begin+1)
	}
	if c.From > c.To || !b.Cut && !v.Hidden.Covers(&c) {
		return false
	}
	before := 0
	if e.Scope == "" {
		before = len(v.Past.Units)
	}
	units, kept, ok := c.apply(s.Transcript.Units, before, e.Scope != "" || c.From >= v.Run.First)
	if !ok || !slices.ContainsFunc(units, s.Newest.in) && slices.ContainsFunc(s.Transcript.Units, s.Newest.in) {
		return false
	}
	if e.Scope == "" {
		v.Past.Messages, v.Past.Units, v.Past.kept = nil, units[:kept:kept], nil
		v.Past.retell(units[:kept], kept)
		s.Transcript = v.Past.branch()
	} else {
		s.Transcript.Messages = nil
	}
	s.Transcript.Units = units
	s.Transcript.retell(units[kept:], cap(units))
	v.Hidden.ranges = append(v.Hidden.ranges, c)
	v.Hidden.Settle(v.Begin)
	if e.Scope == "" {
		v.keeping.tried = 0 // the stored fold is not used any more
	}
	return true
}

// in reports whether the unit holds the message.
func (m *Said) in(u Unit) bool { return slices.Contains(u.Seqs, m.Seq) }

// Covers reports whether c contains all other compactions of its scope that leave events out, so that none of their
// summaries remains.
func (h *Hidden) Covers(c *Range) bool {
	return !slices.ContainsFunc(h.ranges, func(o Range) bool {
		return o.Scope == c.Scope && !o.cut && (c.From > o.From || c.To < o.To)
	})
}

// Reach returns the last event that a compaction of the scope leaves out; 0 for none.
func (h *Hidden) Reach(scope string) int64 {
	to := int64(0)
	for i := range h.ranges {
		if r := &h.ranges[i]; r.Scope == scope && !r.cut {
			to = max(to, r.To)
		}
	}
	return to
}

// hides reports whether the compaction leaves out an event of its scope.
func (r *Range) hides(seq int64) bool {
	return seq >= r.From && seq <= r.To && !slices.Contains(r.keep, seq)
}

// apply returns the units that stay. The first before units belong to earlier runs; kept is the number of those that
// stay. The summary comes before the first affected unit; late reports whether that unit is in the open run. ok is
// false if the compaction would split a unit.
func (r *Range) apply(units []Unit, before int, late bool) (stay []Unit, kept int, ok bool) {
	stay = make([]Unit, 0, 3*len(units)/2)
	summed := r.cut || len(r.summary) == 0
	if !summed && !late {
		summed = true
		stay = append(stay, Unit{Kind: UnitSummary, Said: r.summary})
	}
	for i := range units {
		u := units[i]
		if i == before {
			kept = len(stay)
		}
		if u.Kind == UnitInput {
			stay = append(stay, u) // an event of another scope
			continue
		}
		if !summed && i >= before {
			summed = true
			stay = append(stay, Unit{Kind: UnitSummary, Said: r.summary})
		}
		in, hidden := 0, 0
		for _, seq := range u.Seqs {
			if seq >= r.From && seq <= r.To {
				in++
			}
			if r.hides(seq) {
				hidden++
			}
		}
		switch {
		case r.cut && in > 0:
			if in < len(u.Seqs) {
				return nil, 0, false
			}
			u.Got = cutResults(u.Got)
		case r.cut:
		case u.Kind == UnitSummary:
			continue // of what this one covers
		case hidden == len(u.Seqs):
			continue
		case hidden > 0:
			return nil, 0, false
		}
		stay = append(stay, u)
	}
	if before >= len(units) {
		kept = len(stay)
	}
	return stay, kept, summed
}

// retell appends the messages of units. room is the expected number of units.
func (t *Transcript) retell(units []Unit, room int) {
	t.Messages = slices.Grow(t.Messages, 2*room-len(t.Messages))
	for i := range units {
		u := &units[i]
		switch u.Kind {
		case UnitAnswer:
			t.assistant(u.Said)
		case UnitPair:
			t.pair(u.Said, u.Got)
		default:
			t.user(u.Said)
		}
	}
}

// swapUnit replaces the content of a unit.
func (t *Transcript) swapUnit(own, other []event.Block) {
	for i, u := range slices.Backward(t.Units) {
		if u.Kind != UnitPair && slices.Equal(u.Said, own) {
			t.Units = slices.Clone(t.Units)
			t.Units[i].Said = other
			return
		}
	}
}
