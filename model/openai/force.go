package openai

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// forced returns the value of tool_choice that forces a call of any tool.
func (m *Model) forced() string {
	if m.dialect.Forced == "" || m.dialect.Forced == ForcedNever {
		return "required"
	}
	return m.dialect.Forced
}

// canForce returns an error if the server cannot force a tool call. DeepSeek can if thinking is
// off (deepseek-ai/DeepSeek-V3#1376).
func (m *Model) canForce(o *model.Options) error {
	if m.dialect.Forced != ForcedNever || m.dialect.Effort == EffortThinking && o.Effort == model.EffortNone {
		return nil
	}
	return notSent(event.ErrUnsupported, "%s cannot make a model use a tool", "leave the choice to the model, or take another server", m.title)
}

// canName reports whether tool_choice can name a tool. If it cannot and there is only one tool,
// forcing any tool has the same effect.
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
