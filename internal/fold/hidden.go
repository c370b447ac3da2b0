package fold

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
)

// Hidden says which events the transcript does not show as they are.
type Hidden struct {
	ranges   []Range
	Redacted map[int64][]event.Block
}

// Range is one compaction: the events of one scope that its summary
// stands for, but for those that are kept. The summary is shown where the first of
// them stood. One that cuts hides nothing but a part of what tools gave.
type Range struct {
	Scope    string
	From, To int64
	keep     []int64
	cut      bool
	summary  []event.Block
	shown    bool
}

// holds reports whether the event is one of those that the compaction is about.
func (r *Range) holds(e *event.Event) bool {
	return r.Scope == e.Scope && e.Seq >= r.From && e.Seq <= r.To
}

// Note takes in what an event says about events before it: what a compaction leaves out, and what is redacted.
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

// Settle puts the compactions in order, for a log whose session began with the event
// begin: those of earlier sessions are dropped, and so are summaries of stretches
// that a later compaction covers as a whole, because its own stands for them. The
// others are shown in the order in which their stretches begin. The event that
// only says that the session begins counts for nothing.
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

// prune drops the compactions that a later one leaves nothing to say: a conversation may have
// had many, and each event is held against all that are left.
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

// has reports whether the event is compacted away.
func (h *Hidden) has(e *event.Event) bool {
	for i := range h.ranges {
		if r := &h.ranges[i]; !r.cut && r.holds(e) && !slices.Contains(r.keep, e.Seq) {
			return true
		}
	}
	return false
}

// cuts reports whether only a part is shown of what a tool gave in the event.
func (h *Hidden) cuts(e *event.Event) bool {
	for i := range h.ranges {
		if r := &h.ranges[i]; r.cut && r.holds(e) {
			return true
		}
	}
	return false
}

// summaries gives the summaries that are to be shown before the event, each once.
func (h *Hidden) summaries(e *event.Event, show func([]event.Block)) {
	for i := range h.ranges {
		if r := &h.ranges[i]; !r.shown && r.holds(e) {
			r.shown = true
			show(r.summary)
		}
	}
}

// content is what the event's content looks like: its own, or what replaced it.
func (h *Hidden) content(e *event.Event, own []event.Block) []event.Block {
	if r, ok := h.Redacted[e.Seq]; ok {
		return r
	}
	return own
}

// callContent is content for an answer with calls: redacted, it keeps the calls
// without their arguments, because their results follow.
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
