package drive

import (
	"context"
	"slices"

	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

type findIn struct {
	Query string `json:"query" jsonschema:"what the tool is to do, in a few words, or its name"`
}

// FindTools is the tool with which a model looks for others; see SearchTools in the root.
func (a *Agent) FindTools(ctx context.Context, in findIn) (tool.Output, error) {
	names, text := a.Search.Find(a.Current(), in.Query, a.Denies)
	if c := runningCallOf(ctx); c != nil && len(names) > 0 {
		c.setFound(names)
	}
	return tool.Text(text), nil
}

// shown gives the tools that the scope's model is shown.
func (a *Agent) shown(s *fold.Scope, own *thread, o *toolset.Offer) []model.ToolSpec {
	if a.Search == nil {
		return o.Specs
	}
	if !own.shown.Of(o) {
		own.shown = a.Search.Show(o)
	}
	return own.shown.With(a.Search, s.Tools.Found)
}

// foundBy lists the tools that a call has brought to light: those that it looked for, or the
// called one, where the model knew it without being shown.
func (w *Work) foundBy(o *toolset.Offer) []string {
	c := w.call
	if w.agent.Search == nil {
		return nil
	}
	if found := c.did.found; len(found) > 0 {
		return found
	}
	i := o.Find(c.Name)
	if i < 0 || !w.agent.Search.On(o) || w.agent.Search.Shows(o, i) || slices.Contains(w.scope.Tools.Found, c.Name) {
		return nil
	}
	return []string{c.Name}
}

// orTheyAreFound says what there is instead of a tool that there is not.
func orTheyAreFound(agent *Agent, o *toolset.Offer) string {
	if agent.Search.On(o) {
		return "find one with " + toolset.FindTool
	}
	return "the tools are: " + toolset.List(slices.DeleteFunc(slices.Clone(o.Names), agent.Denies))
}
