package braid

import (
	"context"
	"iter"

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
