package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// allEfforts are the values of output_config.effort (build-with-claude/effort#effort-levels).
// Claude 4.6 has no xhigh, Opus 4.5 has neither xhigh nor max, and older models have no effort.
// A name without a version may be a gateway's name for any model, so it gets all values.
var allEfforts = []string{"low", "medium", "high", "xhigh", "max"}

func efforts(name string) []string {
	switch g := generation(name); {
	case g == 0 || g >= 407:
		return allEfforts
	case g == 406:
		return []string{"low", "medium", "high", "max"}
	case g == 405 && strings.Contains(name, "opus"):
		return allEfforts[:3]
	default:
		return nil
	}
}

// budgets returns the thinking budget for an effort, for models that take a budget. Up to
// Claude 4.1 the whole answer is limited to 32,000 tokens.
func budgets(name string, e model.Effort) (int, bool) {
	switch e {
	case model.EffortLow:
		return 2000, true
	case model.EffortMedium:
		return 8000, true
	case model.EffortHigh:
		return 16_000, true
	case model.EffortMax:
		if generation(name) >= 405 {
			return 48_000, true
		}
		return 24_000, true
	default:
		return 0, false
	}
}

// trying holds a request's settings for effort and thinking.
type trying struct {
	// thinking is the JSON value of the member thinking, or empty.
	thinking string
	// word is the value of output_config.effort, or empty.
	word string
	// most is max_tokens.
	most int
	// thinks is set if thinking was switched on.
	thinks bool
}

// try determines effort and thinking. without is set if the history is sent without its
// thinking.
func (m *Model) try(req *model.Request, without bool) (t trying, err error) {
	o := &req.Options
	if t.most = o.MaxTokens; t.most <= 0 {
		t.most = answerTokens(m.name)
	}
	if o.Effort == model.EffortNone {
		t.thinking, err = m.unthinking()
		return t, err
	}
	if t.word, err = m.effort(o.Effort); err != nil {
		return t, err
	}
	g := generation(m.name)
	switch {
	case forces(req):
		// The API refuses thinking together with a forced tool call.
	case budgeted(m.name):
		return t, m.budget(&t, req, without)
	case o.Thinking > 0, o.ShowThinking && (o.Effort != "" || g >= 500):
		t.thinks, t.thinking = true, m.adaptive()
	case o.Effort != "" && g > 0 && g < 500:
		// These models think only on request.
		t.thinks, t.thinking = true, `{"type":"adaptive"}`
	}
	return t, nil
}

// forces reports whether the model must call a tool.
func forces(req *model.Request) bool {
	return req.ToolChoice.Mode == model.ToolsAny || req.ToolChoice.Mode == model.ToolsOne
}

// effort returns the vendor's value for an effort; "" if the model takes a budget instead.
func (m *Model) effort(e model.Effort) (string, error) {
	if e == "" {
		return "", nil
	}
	words := efforts(m.name)
	if slices.Contains(words, string(e)) {
		return string(e), nil
	}
	if e == model.EffortMax && len(words) > 0 {
		return words[len(words)-1], nil
	}
	g := generation(m.name)
	if _, ok := budgets(m.name, e); ok && words == nil && g >= 307 {
		return "", nil
	}
	if g > 0 && g < 307 {
		return "", notSent(event.ErrUnsupported, "the model does not think, so it has no effort",
			"leave the effort out, or take Claude 4.5 or a newer one")
	}
	if words == nil {
		words = []string{"low", "medium", "high", "max"}
	}
	return "", notSent(event.ErrUnsupported, "the model has no effort %q", "use none, "+strings.Join(words, ", "), string(e))
}

// unthinking returns the member that turns thinking off. Opus 5.5 and all Fable and Mythos
// models always think (models/opus-5-5/whats-new-opus-5-5#thinking-cant-be-disabled,
// models/fable-5/migration-guide). Sonnet 5.5 has its own value
// (models/sonnet-5-5/whats-new-sonnet-5-5). Models before Claude 5 think only on request.
func (m *Model) unthinking() (string, error) {
	g := generation(m.name)
	is := func(family string) bool { return strings.Contains(m.name, family) }
	switch {
	case is("fable"), is("mythos"), is("opus") && g >= 505:
		return "", notSent(event.ErrUnsupported, "the model always thinks", "use the effort low, or take claude-sonnet-5-5")
	case is("sonnet") && g >= 505:
		return `{"type":"between_tools"}`, nil
	case g > 0 && g < 500:
		return "", nil
	default:
		return `{"type":"disabled"}`, nil
	}
}

// budget sets a token budget for thinking.
func (m *Model) budget(t *trying, req *model.Request, without bool) error {
	const least = 1024 // the API's minimum
	o := &req.Options
	n, byEffort := budgets(m.name, o.Effort)
	if !byEffort {
		n = o.Thinking
	}
	if n <= 0 || midTurnWithoutThinking(req.Messages, without) {
		return nil
	}
	n = max(n, least)
	switch {
	case o.MaxTokens <= 0:
		t.most = max(t.most, n+answerTokens(m.name)/4)
	case byEffort && o.MaxTokens-o.MaxTokens/4 >= least:
		n = min(n, o.MaxTokens-o.MaxTokens/4)
	case n >= o.MaxTokens:
		return notSent(event.ErrInvalid, "a budget of %d tokens for thinking leaves none of %d for the answer",
			"allow more tokens for the answer: thinking counts as part of it", n, o.MaxTokens)
	}
	t.thinks, t.thinking = true, budgetOf(n)
	return nil
}

// adaptive returns the member that lets the model decide how much it thinks. Newer
// models show their thinking only if display asks for it. Older ones always show it,
// and refuse display on Bedrock and perhaps on Vertex AI.
func (m *Model) adaptive() string {
	if g := generation(m.name); m.onCloud() && g > 0 && g < 407 {
		return `{"type":"adaptive"}`
	}
	return `{"type":"adaptive","display":"summarized"}`
}

func budgetOf(n int) string { return `{"type":"enabled","budget_tokens":` + strconv.Itoa(n) + `}` }

// midTurnWithoutThinking reports whether the current turn began without thinking.
// Models with a budget refuse to start thinking there. without reports that the
// request leaves out the thinking of the history.
func midTurnWithoutThinking(messages []event.Message, without bool) bool {
	n := len(messages)
	if n < 2 || !slices.ContainsFunc(messages[n-1].Content, isResult) {
		return false
	}
	for _, b := range messages[n-2].Content {
		switch b := b.(type) {
		case *event.Thinking:
			return without || !ours(b.Signature)
		case *event.RedactedThinking:
			return without || !ours(b.Data)
		}
	}
	return true
}

func isResult(b event.Block) bool {
	_, ok := b.(*event.ToolResult)
	return ok
}
