package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

func (r *Run) open(e *event.Event, b *event.ScopeOpened, v *Conversation) {
	if b.ID == "" || r.byID[b.ID] != nil {
		return
	}
	parent := r.Scope(b.Parent)
	if parent == nil {
		return
	}
	s := &Scope{ID: b.ID, Parent: parent, Agent: b.Agent, Depth: b.Depth, Place: ScopePlace{Branch: e.Branch, Began: e.Time}, Fresh: event.WhyInput}
	s.Newest = Said{Seq: e.Seq, Content: v.Hidden.content(e, b.Input), Whole: true}
	s.Transcript.Traced = v.Past.Traced
	s.Transcript.user(s.Newest.Content)
	s.Transcript.trace(UnitInput, s.Newest.Content, e.Seq)
	if b.Task {
		r.tasked(s, b)
	}
	if !r.split { // until now all usage was the root's
		r.split, r.Scopes[0].Totals.Own = true, slices.Clone(r.Models)
	}
	switch {
	case b.Background:
	case b.Call == "":
		s.Place.Node, s.Place.Part = b.Node, parent.flow().open(b.ID, b.Node, b.Agent, e.Time)
	default:
		if c := parent.CallByID(b.Call); c != nil {
			s.Opener = c
			c.Child = s
		}
	}
	if r.byID == nil {
		r.byID = make(map[string]*Scope)
	}
	r.byID[b.ID] = s
	r.Scopes, r.working = append(r.Scopes, s), append(r.working, s)
	for p := parent; p != nil; p = p.Parent {
		p.Totals.Spent.Scopes++
	}
}

// closed returns how a scope ended, with redacted output replaced.
func (v *Conversation) closed(e *event.Event, b *event.ScopeClosed) *event.ScopeClosed {
	instead, redacted := v.Hidden.Redacted[e.Seq]
	if !redacted {
		return b
	}
	shown := *b
	shown.Output = instead
	return &shown
}
