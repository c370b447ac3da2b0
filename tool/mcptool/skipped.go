package mcptool

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/shorten"
)

// mostTold bounds what is remembered of tools that are left out.
const mostTold = 1000

// skip is a tool that is left out, in words that a log can keep.
func (s *server) skip(tool, why string) Skipped {
	return Skipped{Tool: shorten.Text(clean(s.hide(tool)), 200, "…"), Why: shorten.Text(clean(s.hide(why)), 500, "…")}
}

// leftOut notes that an agent, or one of its models, does without a tool.
func (s *server) leftOut(t *Tool, model string, why error) {
	words := why.Error()
	if e, ok := why.(*event.Error); ok { //nolint:errorlint // it is what the agent says
		words = e.Message
	}
	if model != "" {
		words = "it is left out for the model " + model + ": " + words
	}
	skipped := s.skip(t.name, words)
	s.mu.Lock()
	listed := slices.ContainsFunc(s.tools, func(one *Tool) bool { return one.name == t.name })
	if listed && len(s.unfit) < mostTold && !slices.Contains(s.unfit, skipped) {
		s.unfit = append(s.unfit, skipped)
	}
	s.mu.Unlock()
	s.tellSkipped(skipped)
}

// tellSkipped tells of tools that are left out, of each reason once.
func (s *server) tellSkipped(list ...Skipped) {
	if s.options.Skipped == nil {
		return
	}
	for _, one := range list {
		s.mu.Lock()
		known := s.told[one]
		if !known {
			if s.told == nil || len(s.told) >= mostTold {
				s.told = map[Skipped]bool{}
			}
			s.told[one] = true
		}
		s.mu.Unlock()
		if !known {
			s.options.Skipped(s.config.Name, one)
		}
	}
}

// listSkipped are the tools that the server's list itself made to be left out.
func (s *server) listSkipped() []Skipped {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.skipped)
}
