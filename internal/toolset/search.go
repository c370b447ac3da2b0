package toolset

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/braidrun/braid/tool/search"
)

// FindTool is the name of the tool with which a model looks for others.
const FindTool = "find_tools"

// Search is how a model looks for tools in an offer. It is safe for concurrent use once its settings are made. A nil
// search is never on.
type Search struct {
	// Above is how many tools a model is shown without looking for them.
	Above int
	// Always names tools that are shown in any case.
	Always []string
	// Results bounds what one search finds.
	Results int
	// index is of the last offer that was searched.
	index atomic.Pointer[index]
}

// On reports whether an offer has so many tools that a model looks for them.
func (s *Search) On(o *Offer) bool { return s != nil && len(o.Tools)-1 > s.Above }

// Shows reports whether a tool is shown without having been found.
func (s *Search) Shows(o *Offer, i int) bool {
	return o.Names[i] == FindTool || slices.Contains(s.Always, o.Names[i]) || slices.Contains(o.Agents, o.Names[i])
}

// Find looks for tools by words. It leaves out tools that are shown in any case, and those that hidden reports. It returns
// the names of the tools that it found, and the text for the model.
func (s *Search) Find(o *Offer, query string, hidden func(name string) bool) (names []string, text string) {
	x := s.index.Load()
	if x == nil || x.offer != o {
		x = newIndex(o)
		s.index.Store(x)
	}
	found := x.Find(query, s.Results, func(i int) bool { return s.Shows(o, i) || hidden(o.Names[i]) })
	if len(found) == 0 {
		return nil, "No tool fits. Try other words for what it is to do."
	}
	var sb strings.Builder
	sb.WriteString("You can call these now:")
	names = make([]string, len(found))
	for n, i := range found {
		names[n] = o.Names[i]
		sb.WriteString("\n- " + o.Names[i] + ": " + firstSentence(o.Specs[i].Description))
	}
	return names, sb.String()
}

// index finds the tools of an offer by words.
type index struct {
	*search.Index

	offer *Offer
}

// newIndex reads what a tool's description says of it: its name counts most, and what its arguments say least.
func newIndex(o *Offer) *index {
	docs := make([]search.Document, len(o.Specs))
	for i := range o.Specs {
		spec := &o.Specs[i]
		parts := []search.Text{{Text: spec.Name, Weight: 3}, {Text: spec.Description, Weight: 1}}
		var schema struct {
			Properties map[string]struct {
				Description string `json:"description"`
			} `json:"properties"`
		}
		if json.Unmarshal(spec.Schema, &schema) == nil {
			for name, p := range schema.Properties {
				parts = append(parts, search.Text{Text: name, Weight: 1}, search.Text{Text: p.Description, Weight: 0.5})
			}
		}
		docs[i] = search.Document{Name: spec.Name, Texts: parts}
	}
	return &index{Index: search.New(docs), offer: o}
}

// firstSentence is enough of a description to choose by.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	if short := []rune(text); len(short) > 200 {
		text = string(short[:199]) + "…"
	}
	return text
}
