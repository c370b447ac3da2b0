package openai

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// forced is the word of tool_choice for "some tool".
func (m *Model) forced() string {
	if m.dialect.Forced == "" || m.dialect.Forced == ForcedNever {
		return "required"
	}
	return m.dialect.Forced
}

// canForce returns an error where the server forces no tool. DeepSeek forces one while the
// model does not think (deepseek-ai/DeepSeek-V3#1376).
func (m *Model) canForce(o *model.Options) error {
	if m.dialect.Forced != ForcedNever || m.dialect.Effort == EffortThinking && o.Effort == model.EffortNone {
		return nil
	}
	return notSent(event.ErrUnsupported, "%s cannot make a model use a tool", "leave the choice to the model, or take another server", m.title)
}

// canName reports whether tool_choice can name one of the tools. Where it is a word, that word
// stands for the only tool there is.
func (m *Model) canName(req *model.Request) (bool, error) {
	if err := m.canForce(&req.Options); err != nil {
		return false, err
	}
	switch {
	case m.api == Responses || !m.dialect.NoNamed:
		return true, nil
	case len(req.Tools) == 1:
		return false, nil
	default:
		return false, notSent(event.ErrUnsupported, "%s cannot make a model use one of several tools",
			"offer that tool alone, or force any tool", m.title)
	}
}
