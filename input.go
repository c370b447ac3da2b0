package braid

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/foreign"
)

// inputOf reads what Run was given. No messages and no error means to resume.
func inputOf(input any) ([]event.Message, []Answer, error) {
	switch in := input.(type) {
	case string:
		if strings.TrimSpace(in) == "" {
			return nil, nil, emptyInput()
		}
		if !utf8.ValidString(in) {
			return nil, nil, &event.Error{
				Op: "run", Kind: event.ErrInvalid, Message: "the input is not valid UTF-8",
				Hint: "convert it to UTF-8 first",
			}
		}
		return []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: in}}}}, nil, nil
	case event.Block:
		return inputMessages([]event.Message{{Role: event.RoleUser, Content: []event.Block{in}}})
	case []event.Block:
		return inputMessages([]event.Message{{Role: event.RoleUser, Content: in}})
	case event.Message:
		return inputMessages([]event.Message{in})
	case []event.Message:
		return inputMessages(in)
	case Answer:
		return nil, []Answer{in}, nil
	case []Answer:
		if len(in) == 0 {
			return nil, nil, emptyInput()
		}
		return nil, in, nil
	case directCall:
		return in.messages(), nil, nil
	case resume:
		return nil, nil, nil
	case nil:
		return nil, nil, emptyInput()
	default:
		return nil, nil, &event.Error{
			Op: "run", Kind: event.ErrInvalid, Message: fmt.Sprintf("the type %T is no input", input),
			Hint: "pass a string, blocks, messages or answers",
		}
	}
}

func emptyInput() error {
	return &event.Error{
		Op: "run", Kind: event.ErrInvalid, Message: "the input is empty",
		Hint: "say something, or use Resume to go on with what is there",
	}
}

// inputMessages holds a history against what a model takes: it ends with the
// user, and every call has its result in the next message.
func inputMessages(in []event.Message) ([]event.Message, []Answer, error) {
	bad := func(what string) ([]event.Message, []Answer, error) {
		return nil, nil, &event.Error{
			Op: "run", Kind: event.ErrInvalid, Message: "the messages cannot be an input: " + what,
			Hint: "end with a user's message, and put each tool result into the message after its call",
		}
	}
	if len(in) == 0 {
		return nil, nil, emptyInput()
	}
	var open []*event.ToolCall
	in = withoutBlanks(in)
	for i, m := range in {
		if m.Role != event.RoleUser && m.Role != event.RoleAssistant {
			return bad(fmt.Sprintf("message %d has the role %q", i, m.Role))
		}
		if len(m.Content) == 0 {
			if len(in) == 1 {
				return nil, nil, emptyInput()
			}
			if m.Role == event.RoleUser {
				return bad(fmt.Sprintf("message %d is empty", i))
			}
		}
		if foreign.HasNil(m.Content) {
			return bad(fmt.Sprintf("message %d holds a block that is nil", i))
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case *event.Text:
				if !utf8.ValidString(b.Text) {
					return bad(fmt.Sprintf("message %d is not valid UTF-8", i))
				}
			case *event.ToolCall:
				if m.Role == event.RoleUser {
					return bad(fmt.Sprintf("message %d is the user's and calls the tool %q", i, b.Name))
				}
			case *event.ToolResult:
				n := len(open)
				open = slices.DeleteFunc(open, func(c *event.ToolCall) bool { return c.ID == b.Call })
				if m.Role != event.RoleUser || len(open) != n-1 {
					return bad(fmt.Sprintf("message %d has a result for a call that the message before it does not make", i))
				}
			}
		}
		if len(open) > 0 {
			return bad(fmt.Sprintf("call %q has no result", open[0].ID))
		}
		if m.Role == event.RoleAssistant {
			open = m.Calls()
		}
	}
	if in[len(in)-1].Role != event.RoleUser {
		return bad("the last one is not the user's")
	}
	// An empty answer, which other frameworks keep, says nothing to a model and is refused by providers.
	return slices.DeleteFunc(in, func(m event.Message) bool { return len(m.Content) == 0 }), nil, nil
}

// withoutBlanks leaves out blocks of blank text, which providers refuse. The caller's slices stay as they are.
func withoutBlanks(in []event.Message) []event.Message {
	blank := func(b event.Block) bool {
		t, ok := b.(*event.Text)
		return ok && t != nil && utf8.ValidString(t.Text) && strings.TrimSpace(t.Text) == ""
	}
	out := slices.Clone(in)
	for i := range out {
		if slices.ContainsFunc(out[i].Content, blank) {
			out[i].Content = slices.DeleteFunc(slices.Clone(out[i].Content), blank)
		}
	}
	return out
}
