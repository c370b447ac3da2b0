package braid

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/drive"
)

// input makes the messages of a run of a text, an attachment and a history. None and no error means that there are only
// answers.
func (o *runOptions) input(text string) ([]event.Message, error) {
	in, given := &o.beside, o.beside.any()
	said := strings.TrimSpace(text) != ""
	switch {
	case len(in.answers) > 0 && (given || said):
		return nil, badInput("there are answers beside it")
	case len(in.answers) > 0:
		return nil, nil
	case !utf8.ValidString(text):
		return nil, &event.Error{
			Op: "run", Kind: event.ErrInvalid, Message: "the input is not valid UTF-8", Hint: "convert it to UTF-8 first",
		}
	case !given && !said:
		return nil, emptyInput()
	case !given:
		return []event.Message{event.UserText(text)}, nil
	}
	messages := slices.Clip(in.before)
	content := make([]event.Block, 0, 1+len(in.more))
	if said {
		content = append(content, &event.Text{Text: text})
	}
	if content = append(content, in.more...); len(content) > 0 {
		messages = append(messages, event.Message{Role: event.RoleUser, Content: content})
	}
	return inputMessages(messages)
}

func emptyInput() error {
	return &event.Error{
		Op: "run", Kind: event.ErrInvalid, Message: "the input is empty",
		Hint: "say something, or use Resume to go on with what is there",
	}
}

// inputMessages refuses messages that cannot be the input of a run. The drive repairs what can be repaired
// ([drive.FitHistory]) and reports it.
func inputMessages(in []event.Message) ([]event.Message, error) {
	if len(in) == 0 {
		return nil, emptyInput()
	}
	fit, _, err := drive.FitHistory(in)
	if err != nil {
		return nil, err
	}
	n := len(in) - 1
	ends := len(fit) > 0 && fit[len(fit)-1].Role == event.RoleUser
	switch last := in[n]; {
	case ends && last.Role == event.RoleAssistant:
		// A message without content, so that its calls get results.
		return append(slices.Clone(in), event.Message{Role: event.RoleUser}), nil
	case ends, len(fit) > 0 && last.Role == event.RoleAssistant:
		return in, nil
	case last.Role == event.RoleUser && slices.ContainsFunc(last.Content, isCall):
		return nil, badInput(fmt.Sprintf("message %d has nothing but a tool call, which only a model makes", n))
	case last.Role == event.RoleUser && slices.ContainsFunc(last.Content, isResult):
		return nil, badInput(fmt.Sprintf("message %d has a result for a call that the message before it does not make", n))
	case len(fit) == 0:
		return nil, emptyInput()
	default:
		return nil, badInput(fmt.Sprintf("message %d is empty", n))
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
