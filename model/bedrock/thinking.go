package bedrock

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// forced reports whether the model must call a tool.
func forced(req *model.Request) bool {
	return len(req.Tools) > 0 && (req.ToolChoice.Mode == model.ToolsAny || req.ToolChoice.Mode == model.ToolsOne)
}

// answerTokens is the default number of tokens for the answer after its thinking.
const answerTokens = 8192

// effort maps a token budget to an effort, for models without budgets.
func effort(budget int) string {
	const little, some = 4_000, 16_000
	switch {
	case budget <= little:
		return "low"
	case budget <= some:
		return "medium"
	default:
		return "high"
	}
}

// midTurnWithoutThinking reports whether the current turn began without thinking. Models with a
// budget refuse to start thinking there. without is set if the history is sent without its
// thinking.
func (m *setup) midTurnWithoutThinking(messages []event.Message, without bool) bool {
	n := len(messages)
	isResult := func(b event.Block) bool { _, ok := b.(*event.ToolResult); return ok }
	if n < 2 || !slices.ContainsFunc(messages[n-1].Content, isResult) {
		return false
	}
	if without {
		return true
	}
	e := encoder{family: &m.family}
	for _, b := range messages[n-2].Content {
		switch b := b.(type) {
		case *event.Thinking:
			if _, mine := e.mine(b.Signature); mine {
				return false
			}
		case *event.RedactedThinking:
			if _, mine := e.mine(b.Data); mine {
				return false
			}
		}
	}
	return true
}

// thought is a request's settings for thinking. The zero value sends none.
type thought struct {
	// budget is in tokens. If shrinks is set, a smaller MaxTokens reduces it.
	budget  int
	shrinks bool
	// adaptive lets the model decide, display shows what it thinks.
	adaptive, display bool
	// effort is the model's own word, off the type of thinking that is none.
	effort, off string
}

// budgets maps efforts to token budgets, for models without efforts. The largest budget and an
// answer after it fit the 32,000 tokens that the smallest of these models writes.
var budgets = map[model.Effort]int{
	model.EffortLow: 2048, model.EffortMedium: 8192, model.EffortHigh: 16_384, model.EffortMax: 23_552,
}

// thought returns the settings for thinking of req. Each family has its own efforts:
//
//   - Claude up to 4.5 has budgets (bedrock/latest/userguide, claude-messages-extended-thinking).
//   - Claude from 4.6 on has low, medium, high and max, and from 4.7 on xhigh
//     (claude-messages-adaptive-thinking; platform.claude.com/docs, build-with-claude/effort).
//   - Nova 2 has low, medium and high (nova2-userguide, extended-thinking), gpt-oss too.
func (m *setup) thought(req *model.Request) (thought, error) {
	o, f := &req.Options, &m.family
	t := thought{display: o.ShowThinking && f.hides}
	switch {
	case o.Effort == model.EffortDefault && o.Thinking <= 0:
		t.adaptive = t.display && f.always
		return t, nil
	case o.Effort == model.EffortDefault:
		switch f.thinks {
		case claudeBudget:
			const least = 1024 // says the API
			t.budget = max(o.Thinking, least)
		case claudeDecides:
			t.adaptive = true
		case novaEffort, wordEffort:
			t.effort = effort(o.Thinking)
		default: // it decides for itself
		}
		return t, nil
	case o.Effort == model.EffortNone:
		if f.off == never {
			return t, m.noEffort(o.Effort, "it cannot be kept from reasoning")
		}
		return thought{off: f.off}, nil
	}
	word := string(o.Effort)
	if f.thinks == claudeBudget {
		t.budget, t.shrinks = budgets[o.Effort], true
		if t.budget == 0 {
			return t, m.noEffort(o.Effort, "it has low, medium, high and max")
		}
		return t, nil
	}
	if o.Effort == model.EffortMax && len(f.efforts) > 0 {
		word = f.efforts[len(f.efforts)-1]
	}
	switch {
	case len(f.efforts) == 0:
		return t, m.noEffort(o.Effort, "it has none")
	case !slices.Contains(f.efforts, word):
		return t, m.noEffort(o.Effort, "it has other ones")
	}
	t.effort, t.adaptive = word, f.thinks == claudeDecides
	return t, nil
}

func (m *setup) noEffort(e model.Effort, why string) error {
	return notSent(event.ErrUnsupported, "the model %q does not have the effort %q on Amazon Bedrock: %s",
		"leave the effort out, or take another one",
		m.name, string(e), why)
}

// think sets the model's own parameters for thinking. It returns max_tokens, which includes
// thinking.
func (m *setup) think(req *model.Request, without bool, set func(key, value string)) (most int, err error) {
	o := &req.Options
	most = o.MaxTokens
	t, err := m.thought(req)
	if err != nil {
		return 0, err
	}
	if forced(req) {
		m.thinkForced(req, t, set)
		return most, nil
	}
	switch {
	case t.off != "" && t.off != never:
		set("thinking", `{"type":"`+t.off+`"}`)
	case t.budget > 0:
		return m.thinkBudget(req, t, without, set)
	case t.adaptive:
		thinking := `{"type":"adaptive"}`
		if t.display {
			thinking = `{"type":"adaptive","display":"summarized"}`
		}
		set("thinking", thinking)
		m.setEffort(req, t.effort, set)
	case t.effort != "" && m.family.thinks == wordEffort:
		set("reasoning_effort", `"`+t.effort+`"`)
	case t.effort != "":
		set("reasoningConfig", `{"type":"enabled","maxReasoningEffort":"`+t.effort+`"}`)
		if t.effort == "high" {
			if o.TopP != nil || o.Temperature != nil {
				return 0, notSent(event.ErrUnsupported, "the model %q takes neither a temperature nor a top_p while it reasons with high effort",
					"leave both out, or ask for less effort", m.name)
			}
			most = 0 // the two exclude each other
		}
	}
	return most, nil
}

// thinkForced sets Claude's effort for a forced tool call, which rules out thinking.
func (m *setup) thinkForced(req *model.Request, t thought, set func(key, value string)) {
	if t.effort != "" && m.family.thinks == claudeDecides {
		m.setEffort(req, withoutThinking(t.effort), set)
	}
}

// withoutThinking returns the effort of Claude for a call in which it cannot think: at most high (API_runtime_OutputConfig).
func withoutThinking(effort string) string {
	if effort == "xhigh" || effort == string(model.EffortMax) {
		return string(model.EffortHigh)
	}
	return effort
}

// setEffort writes Claude's effort. If the answer has a schema, the effort goes into Converse's
// own outputConfig with it.
func (m *setup) setEffort(req *model.Request, effort string, set func(key, value string)) {
	if effort != "" && req.Output == nil {
		set("output_config", `{"effort":"`+effort+`"}`)
	}
}

// thinkBudget sets a token budget for thinking.
func (m *setup) thinkBudget(req *model.Request, t thought, without bool, set func(key, value string)) (most int, err error) {
	most = req.Options.MaxTokens
	const least = 1024
	if t.shrinks && most > 0 {
		t.budget = min(t.budget, max(most-least, least))
	}
	switch {
	case m.midTurnWithoutThinking(req.Messages, without):
		return most, nil
	case most > 0 && t.budget >= most:
		return 0, notSent(event.ErrInvalid, "a budget of %d tokens for thinking leaves none of %d for the answer",
			"allow more tokens for the answer: thinking counts as part of it", t.budget, most)
	case most <= 0:
		most = t.budget + answerTokens
	}
	set("thinking", `{"type":"enabled","budget_tokens":`+strconv.Itoa(t.budget)+`}`)
	return most, nil
}
