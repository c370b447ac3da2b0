package drive

import (
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/strictjson"
)

// This file checks the content that hooks put into one message, as history.go checks messages: what a model is shown must
// keep the promise of [model.Request] whatever hooks do.

// fitMessage refuses an answer that the log cannot keep, or whose calls have the same id.
func fitMessage(m *event.AssistantMessage) error {
	bad := func(what string, cause error) error {
		return &event.Error{Op: "hook", Kind: event.ErrInvalid, Message: "a hook made an answer " + what, Err: cause}
	}
	var ids []string
	for _, b := range m.Content {
		if foreign.HasNil([]event.Block{b}) {
			return bad("with a block that is nil", nil)
		}
		if _, err := event.AppendBlock(nil, b); err != nil {
			return bad("that cannot be kept", err)
		}
		c, ok := b.(*event.ToolCall)
		if !ok {
			continue
		}
		if c.ID == "" || slices.Contains(ids, c.ID) {
			return bad("whose calls cannot be told apart", nil)
		}
		ids = append(ids, c.ID)
		if c.Args != nil {
			if err := strictjson.Check(c.Args, strictjson.DefaultDepth); err != nil {
				return bad("with a call whose arguments are no usable JSON", err)
			}
		}
	}
	return nil
}

// withoutTools refuses results, and calls unless they may be, in what a hook lets somebody say: a provider
// takes each only where it belongs.
func withoutTools(what string, content []event.Block, calls bool) error {
	for _, b := range content {
		_, call := b.(*event.ToolCall)
		if _, result := b.(*event.ToolResult); result || call && !calls {
			return &event.Error{
				Op: "hook", Kind: event.ErrInvalid, Message: "a hook made an " + what + " with a tool call or a tool result in it",
				Hint: "leave it out: only models call tools, and only tools give results",
			}
		}
	}
	return nil
}

// fitSummary refuses a summary that cannot stand in a user's message.
func fitSummary(blocks []event.Block) error {
	if foreign.HasNil(blocks) {
		return &event.Error{Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a summary with a block that is nil"}
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			if validText(b.Text) != b.Text {
				return &event.Error{Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a summary that is not valid UTF-8"}
			}
		case *event.Image, *event.Document:
			if _, err := event.AppendBlock(nil, b); err != nil {
				return &event.Error{Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a summary that cannot be kept", Err: err}
			}
		default:
			return &event.Error{
				Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a summary of something else than text, pictures and documents",
			}
		}
	}
	return nil
}
