package toolset

import (
	"slices"

	"github.com/braidrun/braid/model"
)

// Shown is the part of an offer that a model is shown while it looks for tools. The list grows at its end only, so that a
// provider's cache keeps what it has up to there.
type Shown struct {
	offer *Offer
	specs []model.ToolSpec
	// found counts the found tools that have been looked at.
	found int
}

// Show begins what a model is shown of an offer before it has found anything.
func (s *Search) Show(o *Offer) *Shown {
	shown := &Shown{offer: o}
	many := s.On(o)
	for i := range o.Specs {
		if many && s.Shows(o, i) || !many && o.Names[i] != FindTool {
			shown.specs = append(shown.specs, o.Specs[i])
		}
	}
	return shown
}

// Of reports whether this is a part of the offer o.
func (w *Shown) Of(o *Offer) bool { return w != nil && w.offer == o }

// With adds the tools that were found since the last call, and returns what the model is shown. found lists all that the
// model has found so far.
func (w *Shown) With(s *Search, found []string) []model.ToolSpec {
	if s.On(w.offer) {
		for _, name := range found[w.found:] {
			if i := w.offer.Find(name); i >= 0 && !s.Shows(w.offer, i) {
				w.specs = append(w.specs, w.offer.Specs[i])
			}
		}
	}
	w.found = len(found)
	return slices.Clip(w.specs)
}
