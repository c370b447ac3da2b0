package fold

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
)

// Hidden holds the events that the transcript does not show unchanged.
type Hidden struct {
	ranges   []Range
	Redacted map[int64][]event.Block
}

// Range is one compaction. Its summary replaces the events of one scope from From to To, except those that are kept.
// The transcript shows the summary in place of the first of them. A compaction that cuts hides only parts of tool
// results.
type Range struct {
	Scope    string
	From, To int64
	keep     []int64
	cut      bool
	summary  []event.Block
	shown    bool
}

// holds reports whether the event is in the range.
func (r *Range) holds(e *event.Event) bool {
	return r.Scope == e.Scope && e.Seq >= r.From && e.Seq <= r.To
}

// Note records a compaction or a redaction of earlier events.
func (h *Hidden) Note(e *event.Event) {
	switch b := e.Body.(type) {
	case *event.Compacted:
		h.ranges = append(h.ranges, Range{
			Scope: e.Scope, From: b.From, To: b.To, keep: b.Keep, cut: b.Cut, summary: b.Summary, shown: b.Cut,
		})
	case *event.Redacted:
		if b.Clean {
			return
		}
		if h.Redacted == nil {
			h.Redacted = make(map[int64][]event.Block)
		}
		h.Redacted[b.Target] = shownInstead(b)
	}
}

// Settle orders the compactions of a session that began with the event begin. It drops the compactions of earlier
// sessions. It also drops a summary if a later compaction covers its whole range, because the later summary replaces
// it. The event begin itself is outside every range.
func (h *Hidden) Settle(begin int64) {
	for i := range h.ranges {
		if a := &h.ranges[i]; a.Scope == "" {
			a.From = max(a.From, begin+1)
		}
	}
	h.ranges = slices.DeleteFunc(h.ranges, func(r Range) bool { return r.From > r.To })
	for i := range h.ranges {
		a := &h.ranges[i]
		for _, b := range h.ranges[i+1:] {
			if !b.cut && a.Scope == b.Scope && b.From <= a.From && b.To >= a.To {
				a.shown, a.summary = true, nil
			}
		}
	}
	h.prune()
	slices.SortStableFunc(h.ranges, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
}

// prune drops the compactions that later ones make redundant. Each event is compared with every compaction, and a
// conversation may have had many.
func (h *Hidden) prune() {
	n := 0
	for i, a := range h.ranges {
		if !slices.ContainsFunc(h.ranges[i+1:], func(b Range) bool {
			return a.Scope == b.Scope && b.From <= a.From && b.To >= a.To && (a.cut || !b.cut) &&
				!slices.ContainsFunc(b.keep, func(seq int64) bool { return seq >= a.From && seq <= a.To })
		}) {
			h.ranges[n] = a
			n++
		}
	}
	h.ranges = h.ranges[:n]
}

// has reports whether a compaction leaves the event out.
func (h *Hidden) has(e *event.Event) bool {
	for i := range h.ranges {
		if r := &h.ranges[i]; !r.cut && r.holds(e) && !slices.Contains(r.keep, e.Seq) {
			return true
		}
	}
	return false
}

// cuts reports whether a compaction shortens the event's tool results.
func (h *Hidden) cuts(e *event.Event) bool {
	for i := range h.ranges {
		if r := &h.ranges[i]; r.cut && r.holds(e) {
			return true
		}
	}
	return false
}

// summaries passes to show, once each, the summaries that come before the event.
func (h *Hidden) summaries(e *event.Event, show func([]event.Block)) {
	for i := range h.ranges {
		if r := &h.ranges[i]; !r.shown && r.holds(e) {
			r.shown = true
			show(r.summary)
		}
	}
}

// content returns the event's own content or its redacted replacement.
func (h *Hidden) content(e *event.Event, own []event.Block) []event.Block {
	if r, ok := h.Redacted[e.Seq]; ok {
		return r
	}
	return own
}

// callContent returns the content of an answer with calls. A redacted answer keeps its calls without their arguments,
// because their results follow.
func (h *Hidden) callContent(e *event.Event, own []event.Block) []event.Block {
	repl, ok := h.Redacted[e.Seq]
	if !ok {
		return own
	}
	blocks := joinBlocks(repl, nil)
	for _, c := range event.CallsOf(own) {
		blocks = append(blocks, &event.ToolCall{ID: c.ID, Name: c.Name, Args: json.RawMessage("{}")})
	}
	return blocks
}

// shownInstead returns the replacement of a redacted event's content.
func shownInstead(b *event.Redacted) []event.Block {
	if len(b.Replacement) == 0 {
		return RedactedContent
	}
	return b.Replacement
}

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
