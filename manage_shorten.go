package braid

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// shorten takes a compaction in that was just written, without folding the log anew: the
// units of a traced transcript say which of its messages go. It reports whether the view is what a
// new fold would give, and changes nothing where it is not: where what is left out is not whole
// units, or where other compactions are not covered by this one.
func (v *view) shorten(e *event.Event, b *event.Compacted) bool {
	if v.anew || !v.past.traced || !v.open() {
		return false
	}
	s := v.run.scope(e.Scope)
	if s == nil || s.closed != nil || s.batch != nil || s.pieces != nil {
		return false
	}
	c := compactedRange{scope: e.Scope, from: b.From, to: b.To, keep: b.Keep, cut: b.Cut, shown: true}
	if !b.Cut {
		c.summary = b.Summary
	}
	if e.Scope == "" {
		c.from = max(c.from, v.begin+1)
	}
	if c.from > c.to || !b.Cut && !v.hide.covers(&c) {
		return false
	}
	before := 0
	if e.Scope == "" {
		before = len(v.past.units)
	}
	units, kept, ok := c.apply(s.talk.units, before, e.Scope != "" || c.from >= v.run.first)
	if !ok || !slices.ContainsFunc(units, s.newest.in) && slices.ContainsFunc(s.talk.units, s.newest.in) {
		return false
	}
	if e.Scope == "" {
		v.past.msgs, v.past.units = nil, units[:kept:kept]
		v.past.retell(units[:kept], kept)
		s.talk = v.past.branch()
	} else {
		s.talk.msgs = nil
	}
	s.talk.units = units
	s.talk.retell(units[kept:], cap(units))
	v.hide.ranges = append(v.hide.ranges, c)
	v.hide.settle(v.begin)
	return true
}

// in reports whether the unit is the message.
func (m *said) in(u unit) bool { return slices.Contains(u.seqs, m.seq) }

// covers reports whether all compactions of the scope that leave something out lie in this one, so that
// of what they have put in its place nothing stays.
func (h *hidden) covers(c *compactedRange) bool {
	return !slices.ContainsFunc(h.ranges, func(o compactedRange) bool {
		return o.scope == c.scope && !o.cut && (c.from > o.from || c.to < o.to)
	})
}

// reach is how far the scope's compactions leave something out.
func (h *hidden) reach(scope string) int64 {
	to := int64(0)
	for i := range h.ranges {
		if r := &h.ranges[i]; r.scope == scope && !r.cut {
			to = max(to, r.to)
		}
	}
	return to
}

// hides reports whether the event, one of the scope, is left out.
func (r *compactedRange) hides(seq int64) bool {
	return seq >= r.from && seq <= r.to && !slices.Contains(r.keep, seq)
}

// apply gives the units that stay, of which the first before are those of earlier runs, and how
// many of those stay. The summary stands before the first of them that the compaction is about;
// late says that this is in the open run. It reports whether the units are left out as wholes.
func (r *compactedRange) apply(units []unit, before int, late bool) (stay []unit, kept int, ok bool) {
	stay = make([]unit, 0, 3*len(units)/2)
	summed := r.cut || len(r.summary) == 0
	if !summed && !late {
		summed = true
		stay = append(stay, unit{kind: unitSummary, said: r.summary})
	}
	for i := range units {
		u := units[i]
		if i == before {
			kept = len(stay)
		}
		if u.kind == unitInput {
			stay = append(stay, u) // an event of another scope
			continue
		}
		if !summed && i >= before {
			summed = true
			stay = append(stay, unit{kind: unitSummary, said: r.summary})
		}
		in, hidden := 0, 0
		for _, seq := range u.seqs {
			if seq >= r.from && seq <= r.to {
				in++
			}
			if r.hides(seq) {
				hidden++
			}
		}
		switch {
		case r.cut && in > 0:
			if in < len(u.seqs) {
				return nil, 0, false
			}
			u.got = cutResults(u.got)
		case r.cut:
		case u.kind == unitSummary:
			continue // of what this one covers
		case hidden == len(u.seqs):
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

// retell appends the messages of units; room is for how many units there will be.
func (t *transcript) retell(units []unit, room int) {
	t.msgs = slices.Grow(t.msgs, 2*room-len(t.msgs))
	for i := range units {
		u := &units[i]
		switch u.kind {
		case unitAnswer:
			t.assistant(u.said)
		case unitPair:
			t.pair(u.said, u.got)
		default:
			t.user(u.said)
		}
	}
}

// swapUnit puts other content in place of what a unit was.
func (t *transcript) swapUnit(own, other []event.Block) {
	for i, u := range slices.Backward(t.units) {
		if u.kind != unitPair && slices.Equal(u.said, own) {
			t.units = slices.Clone(t.units)
			t.units[i].said = other
			return
		}
	}
}
