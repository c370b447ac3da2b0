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

// compacted applies to the counters that a scope's transcript was shortened.
func (v *Conversation) compacted(e *event.Event) {
	if e.Scope == "" {
		v.gauge = gauge{}
	}
	v.forgetSetups(e.Scope)
	s := v.Run.Scope(e.Scope)
	if s == nil {
		return
	}
	v.Run.Metrics.Compactions++
	s.gauge = gauge{}
	c := s.changeCompaction()
	c.State, c.Tries, c.Tried = ModelIdle, 0, max(c.Tried, e.Cycle)
	if s.Overflowed() && !s.Model.Eased {
		s.Model.Eased = true
		s.Model.Easings++
	}
}
