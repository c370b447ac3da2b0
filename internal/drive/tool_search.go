package drive

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/search"
)

// FindTool is the tool with which a model looks for others; see SearchTools in the root.
const FindTool = "find_tools"

// ToolSearch is a [ToolSearch] with its defaults filled in.
type ToolSearch struct {
	Above   int
	Always  []string
	Results int
	// index is of the last offer that was searched.
	index atomic.Pointer[toolIndex]
}

type findIn struct {
	Query string `json:"query" jsonschema:"what the tool is to do, in a few words, or its name"`
}

// FindTools is the tool.
func (a *Agent) FindTools(ctx context.Context, in findIn) (tool.Output, error) {
	o := a.Current()
	index := a.Search.index.Load()
	if index == nil || index.offer != o {
		index = newToolIndex(o)
		a.Search.index.Store(index)
	}
	found := index.Find(in.Query, a.Search.Results, func(i int) bool { return a.Search.always(o, i) || a.denies(o.Names[i]) })
	if len(found) == 0 {
		return tool.Text("No tool fits. Try other words for what it is to do."), nil
	}
	var sb strings.Builder
	sb.WriteString("You can call these now:")
	names := make([]string, len(found))
	for n, i := range found {
		names[n] = o.Names[i]
		sb.WriteString("\n- " + o.Names[i] + ": " + firstSentence(o.Specs[i].Description))
	}
	if c := runningCallOf(ctx); c != nil {
		c.setFound(names)
	}
	return tool.Text(sb.String()), nil
}

// on reports whether there are so many tools that a model looks for them.
func (t *ToolSearch) on(o *Offer) bool { return t != nil && len(o.Tools)-1 > t.Above }

// always reports whether a tool is shown without having been found.
func (t *ToolSearch) always(o *Offer, i int) bool {
	return o.Names[i] == FindTool || slices.Contains(t.Always, o.Names[i]) || o.child(o.Names[i]) != nil
}

// shownTools is what the scope's model is shown of an offer. It grows at its end only, as
// long as the offer stays the same.
type shownTools struct {
	offer *Offer
	specs []model.ToolSpec
	// found counts the scope's found tools that have been looked at.
	found int
}

// shown gives the tools that the scope's model is shown.
func (a *Agent) shown(s *fold.Scope, own *thread, o *Offer) []model.ToolSpec {
	if a.Search == nil {
		return o.Specs
	}
	many, t := a.Search.on(o), own.shown
	if t == nil || t.offer != o {
		t = &shownTools{offer: o}
		own.shown = t
		for i := range o.Specs {
			if many && a.Search.always(o, i) || !many && o.Names[i] != FindTool {
				t.specs = append(t.specs, o.Specs[i])
			}
		}
	}
	if many {
		for _, name := range s.Tools.Found[t.found:] {
			if i := o.Find(name); i >= 0 && !a.Search.always(o, i) {
				t.specs = append(t.specs, o.Specs[i])
			}
		}
	}
	t.found = len(s.Tools.Found)
	return slices.Clip(t.specs)
}

// foundBy lists the tools that a call has brought to light: those that it looked for, or the
// called one, where the model knew it without being shown.
func (w *Work) foundBy(o *Offer) []string {
	c := w.call
	if w.agent.Search == nil {
		return nil
	}
	if found := c.did.found; len(found) > 0 {
		return found
	}
	i := o.Find(c.Name)
	if i < 0 || !w.agent.Search.on(o) || w.agent.Search.always(o, i) || slices.Contains(w.scope.Tools.Found, c.Name) {
		return nil
	}
	return []string{c.Name}
}

// toolIndex finds the tools of an offer by words.
type toolIndex struct {
	*search.Index

	offer *Offer
}

// newToolIndex reads what a tool's description says of it: its name counts most, and what its arguments say least.
func newToolIndex(o *Offer) *toolIndex {
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
	return &toolIndex{Index: search.New(docs), offer: o}
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

// orTheyAreFound says what there is instead of a tool that there is not.
func orTheyAreFound(agent *Agent, o *Offer) string {
	if agent.Search.on(o) {
		return "find one with " + FindTool
	}
	return "the tools are: " + List(slices.DeleteFunc(slices.Clone(o.Names), agent.denies))
}

// List returns names in one line, for a message.
func List(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
