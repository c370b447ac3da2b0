package braid

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/tool"
)

// Tool is [tool.Tool]: something that a model may call.
type Tool = tool.Tool

// Call is [tool.Call]: the running tool call, which is a tool's context.
type Call = tool.Call

// FuncTool is a tool made from a Go function. It is a [Part], so that an agent takes it as it is.
type FuncTool struct{ *tool.FuncTool }

var (
	_ Tool = (*FuncTool)(nil)
	_ Part = (*FuncTool)(nil)
)

// Func is [tool.Func]: it makes a tool from a function. The schema comes from In, a struct, and Out becomes the result.
func Func[In, Out any](
	name, description string, fn func(context.Context, In) (Out, error), opts ...tool.Option,
) *FuncTool {
	return &FuncTool{tool.Func(name, description, fn, opts...)}
}

// StreamFunc is [tool.StreamFunc]: it makes a tool from a function that yields its result bit by bit.
func StreamFunc[In, Out any](
	name, description string, fn func(context.Context, In) iter.Seq2[Out, error], opts ...tool.Option,
) *FuncTool {
	return &FuncTool{tool.StreamFunc(name, description, fn, opts...)}
}

// attach adds the tool. Its schema needs no check: it was made from a Go type.
func (t *FuncTool) attach(a *Agent) error {
	if err := t.Err(); err != nil {
		return err
	}
	return a.draft.Add(a.set.Name, t, t.Spec())
}

// Ask is [tool.Ask]: it asks a user, inside a tool or a hook, and the run waits for the answer.
func Ask[T any](ctx context.Context, prompt string, opts ...tool.AskOption) (T, error) {
	return tool.Ask[T](ctx, prompt, opts...)
}

// From adds what sources of tools offer when the agent is made: their tools, and their instructions below the agent's
// [Instructions], with an empty line between, in the order in which they are added. The first event of each run
// records how the servers of the tools are doing; see [tool.ServerSource]. A source with very many tools lets the model
// search them; see [tool.ManySource]. A source that is nil is left out.
func From(sources ...tool.Source) Part {
	return partFunc(func(a *Agent) error {
		for _, s := range sources {
			if foreign.IsNil(s) {
				continue
			}
			if text := s.Instructions(); text != "" {
				a.below = append(a.below, text)
			}
			tools := s.Tools()
			if err := Tools(tools...).attach(a); err != nil {
				return err
			}
			if m, ok := s.(tool.ManySource); ok && a.set.Search == nil && len(tools) > m.SearchAbove() {
				if err := SearchTools(ToolSearch{Above: m.SearchAbove()}).attach(a); err != nil {
					return err
				}
			}
			if s, ok := s.(tool.ServerSource); ok {
				a.set.Servers = bothServers(a.set.Servers, s.ToolServers)
			}
		}
		return nil
	})
}

// bothServers returns what lists the servers of earlier sources and those of the next one. before may be nil.
func bothServers(before, next func() []event.ToolServer) func() []event.ToolServer {
	if before == nil {
		return next
	}
	return func() []event.ToolServer { return slices.Concat(before(), next()) }
}

// SearchTools hides most tools of an agent with many of them. If it has more than s.Above, its model sees the tool
// "find_tools" and the tools that it has found with it. The model may also call a tool that it has not found.
//
// A found tool stays visible for the rest of the session, after the tools that were visible before, so that a
// provider's cache stays valid. The log records it ([event.StepEnded], [event.RunStarted]), so every driver and every
// later run shows the same tools. Of several SearchTools the last one holds.
func SearchTools(s ToolSearch) Part {
	return partFunc(func(a *Agent) error {
		s.Above, s.Results = cmp.Or(s.Above, 20), cmp.Or(s.Results, 5)
		again := a.set.Search != nil
		a.set.Search = &toolset.Search{Above: s.Above, Always: s.Always, Results: s.Results}
		if again {
			return nil // the tool is there
		}
		return Func(toolset.FindTool,
			"You have more tools than are listed. This one finds them by what they are for; those that it finds you can call from then on. "+
				"Look here before you say that something cannot be done.",
			a.set.FindTools, tool.Pure()).attach(a)
	})
}

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
