package openai

import (
	"cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// forced is the word of tool_choice for "some tool".
func (m *Model) forced() string { return cmp.Or(m.dialect.Forced, "required") }

// canForce returns an error where the server forces no tool.
func (m *Model) canForce() error {
	if m.dialect.Forced != ForcedNever {
		return nil
	}
	return notSent(event.ErrUnsupported, "%s cannot make a model use a tool.", "leave the choice to the model, or take another server", m.title)
}

// canName reports whether tool_choice can name one of the tools. Where it is a word, that word
// stands for the only tool there is.
func (m *Model) canName(tools []model.ToolSpec) (bool, error) {
	switch {
	case m.canForce() != nil:
		return false, m.canForce()
	case m.api == Responses || !m.dialect.NoNamed:
		return true, nil
	case len(tools) == 1:
		return false, nil
	default:
		return false, notSent(event.ErrUnsupported, "%s cannot make a model use one of several tools.",
			"offer that tool alone, or force any tool", m.title)
	}
}
