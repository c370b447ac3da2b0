package braid

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/drive"
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

// inputMessages refuses messages that cannot be the input of a run. The drive repairs what can be repaired
// ([drive.FitHistory]) and reports it.
func inputMessages(in []event.Message) ([]event.Message, []Answer, error) {
	if len(in) == 0 {
		return nil, nil, emptyInput()
	}
	fit, _, err := drive.FitHistory(in)
	if err != nil {
		return nil, nil, err
	}
	n := len(in) - 1
	ends := len(fit) > 0 && fit[len(fit)-1].Role == event.RoleUser
	switch last := in[n]; {
	case ends && last.Role == event.RoleAssistant:
		// A message without content, so that its calls get results.
		return append(slices.Clone(in), event.Message{Role: event.RoleUser}), nil, nil
	case ends, len(fit) > 0 && last.Role == event.RoleAssistant:
		return in, nil, nil
	case last.Role == event.RoleUser && slices.ContainsFunc(last.Content, isCall):
		return nil, nil, badInput(fmt.Sprintf("message %d has nothing but a tool call, which only a model makes", n))
	case last.Role == event.RoleUser && slices.ContainsFunc(last.Content, isResult):
		return nil, nil, badInput(fmt.Sprintf("message %d has a result for a call that the message before it does not make", n))
	case len(fit) == 0:
		return nil, nil, emptyInput()
	default:
		return nil, nil, badInput(fmt.Sprintf("message %d is empty", n))
	}
}

func isCall(b event.Block) bool {
	_, ok := b.(*event.ToolCall)
	return ok
}

func isResult(b event.Block) bool {
	_, ok := b.(*event.ToolResult)
	return ok
}

func badInput(what string) error {
	return &event.Error{
		Op: "run", Kind: event.ErrInvalid, Message: "the messages cannot be an input: " + what,
		Hint: "end with a user's message, and put each tool result into the message after its call",
	}
}
