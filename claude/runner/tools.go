package runner

import (
	"context"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// builtin is one of the program's own tools. Braid's loop begins a call, and the program runs it.
type builtin struct {
	model *Model
	name  string
}

// tools returns the program's tools of these names.
func (m *Model) tools(names []string) []tool.Tool {
	list := make([]tool.Tool, 0, len(names))
	for _, name := range names {
		m.own[name] = true
		list = append(list, &builtin{m, name})
	}
	return list
}

// Spec implements [tool.Tool]. The program describes its tools to the model itself.
func (b *builtin) Spec() tool.Spec {
	return tool.Spec{
		Name: b.name, Description: "The tool " + b.name + " of the Claude program.", Schema: json.RawMessage(`{"type":"object"}`),
	}
}

// Traits says what repeating a call would do: reading does nothing.
func (b *builtin) Traits() tool.Traits {
	switch b.name {
	case "Read", "Glob", "Grep", "WebFetch", "WebSearch":
		return tool.Traits{Effect: event.EffectPure}
	}
	return tool.Traits{Effect: event.EffectUnsafe}
}

// Source is the tool's source in logs of tool calls.
func (*builtin) Source() string { return "claude" }

// Call lets the program run the call, and waits for the result.
func (b *builtin) Call(ctx context.Context, args json.RawMessage) (tool.Output, error) {
	c := tool.CallOf(ctx)
	if c == nil {
		return tool.Output{}, tool.NoCall("tool " + b.name)
	}
	s := b.model.running(c.Run, c.Scope)
	if s == nil || !s.asked(c.ID) {
		return tool.Output{}, &event.Error{
			Op: "tool " + b.name, Kind: event.ErrUnavailable, Message: "the program that asked for this call has ended; it was not run",
			Hint: "Call the tool again if it is still needed.",
		}
	}
	s.decide(c.ID, true, args, "")
	return s.result(ctx, c.ID)
}
