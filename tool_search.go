package braid

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

// findTool is the tool with which a model looks for others; see [SearchTools].
const findTool = "find_tools"

// ToolSearch says when a model looks for its tools instead of being shown all of them.
type ToolSearch struct {
	// Above is how many tools a model is shown without looking for them; default 20. An agent
	// with no more than that shows them all.
	Above int
	// Always names tools that are shown in any case. Agents that are used as tools are, too.
	Always []string
	// Results is how many tools one search finds at most; default 5.
	Results int
}

// SearchTools spares an agent with many tools their schemas: where it has more than
// s.Above, its model is shown the tool "find_tools" instead, and those that it has found
// with it. It may call any other by its name all the same.
//
// What is found stays shown for the rest of the session, behind what was shown before, so that a
// provider's cache keeps what it has up to there. It is in the log
// ([event.StepEnded], [event.RunStarted]), so that every later run, wherever it is
// driven, shows the same.
func SearchTools(s ToolSearch) Part {
	return partFunc(func(a *Agent) error {
		s.Above, s.Results = or(s.Above, 20), or(s.Results, 5)
		a.set.search = &toolSearch{Above: s.Above, Always: s.Always, Results: s.Results}
		return Func(findTool,
			"You have more tools than are listed. This one finds them by what they are for; those that it finds you can call from then on. "+
				"Look here before you say that something cannot be done.",
			a.set.findTools, tool.Pure()).attach(a)
	})
}

// toolSearch is a [ToolSearch] with its defaults filled in.
type toolSearch struct {
	Above   int
	Always  []string
	Results int
	// index is of the last offer that was searched.
	index atomic.Pointer[toolIndex]
}

type findIn struct {
	Query string `json:"query" jsonschema:"what the tool is to do, in a few words, or its name"`
}

// findTools is the tool.
func (a *driveAgent) findTools(ctx context.Context, in findIn) (tool.Output, error) {
	o := a.current()
	index := a.search.index.Load()
	if index == nil || index.offer != o {
		index = newToolIndex(o)
		a.search.index.Store(index)
	}
	found := index.Find(in.Query, a.search.Results, func(i int) bool { return a.search.always(o, i) || a.denies(o.names[i]) })
	if len(found) == 0 {
		return tool.Text("No tool fits. Try other words for what it is to do."), nil
	}
	var sb strings.Builder
	sb.WriteString("You can call these now:")
	names := make([]string, len(found))
	for n, i := range found {
		names[n] = o.names[i]
		sb.WriteString("\n- " + o.names[i] + ": " + firstSentence(o.specs[i].Description))
	}
	if c := runningCallOf(ctx); c != nil {
		c.setFound(names)
	}
	return tool.Text(sb.String()), nil
}

// on reports whether there are so many tools that a model looks for them.
func (t *toolSearch) on(o *offer) bool { return t != nil && len(o.tools)-1 > t.Above }

// always reports whether a tool is shown without having been found.
func (t *toolSearch) always(o *offer, i int) bool {
	return o.names[i] == findTool || slices.Contains(t.Always, o.names[i]) || o.child(o.names[i]) != nil
}

// shownTools is what the scope's model is shown of an offer. It grows at its end only, as
// long as the offer stays the same.
type shownTools struct {
	offer *offer
	specs []model.ToolSpec
	// found counts the scope's found tools that have been looked at.
	found int
}

// shown gives the tools that the scope's model is shown.
func (a *driveAgent) shown(s *fold.Scope, own *thread, o *offer) []model.ToolSpec {
	if a.search == nil {
		return o.specs
	}
	many, t := a.search.on(o), own.shown
	if t == nil || t.offer != o {
		t = &shownTools{offer: o}
		own.shown = t
		for i := range o.specs {
			if many && a.search.always(o, i) || !many && o.names[i] != findTool {
				t.specs = append(t.specs, o.specs[i])
			}
		}
	}
	if many {
		for _, name := range s.Tools.Found[t.found:] {
			if i := o.find(name); i >= 0 && !a.search.always(o, i) {
				t.specs = append(t.specs, o.specs[i])
			}
		}
	}
	t.found = len(s.Tools.Found)
	return slices.Clip(t.specs)
}

// foundBy lists the tools that a call has brought to light: those that it looked for, or the
// called one, where the model knew it without being shown.
func (w *work) foundBy(o *offer) []string {
	c := w.call
	if w.agent.search == nil {
		return nil
	}
	if found := c.did.found; len(found) > 0 {
		return found
	}
	i := o.find(c.Name)
	if i < 0 || !w.agent.search.on(o) || w.agent.search.always(o, i) || slices.Contains(w.scope.Tools.Found, c.Name) {
		return nil
	}
	return []string{c.Name}
}

// toolIndex finds the tools of an offer by words.
type toolIndex struct {
	*search.Index

	offer *offer
}

// newToolIndex reads what a tool's description says of it: its name counts most, and what its arguments say least.
func newToolIndex(o *offer) *toolIndex {
	docs := make([]search.Document, len(o.specs))
	for i := range o.specs {
		spec := &o.specs[i]
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
func orTheyAreFound(agent *driveAgent, o *offer) string {
	if agent.search.on(o) {
		return "find one with " + findTool
	}
	return "the tools are: " + list(slices.DeleteFunc(slices.Clone(o.names), agent.denies))
}

// list returns names in one line, for a message.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
