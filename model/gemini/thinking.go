package gemini

import (
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// minimal reports whether the model has the level MINIMAL. The light models of Gemini 3 have it, and Flash up to 3.6
// (docs/thinking).
func (m *Model) minimal() bool {
	name := short(m.name)
	switch {
	case m.generation < levels:
		return false
	case strings.Contains(name, "flash-lite"):
		return true
	default:
		const last = 306
		return strings.Contains(name, "flash") && m.generation <= last
	}
}

// thought is how much a request lets the model think, in the vendor's form. The zero value leaves that to the model.
type thought struct {
	level Level
	// budget is in tokens, for models that have budgets; nil means none.
	budget *int
	// show requests summaries of the thinking.
	show bool
}

// efforts maps efforts to levels. Gemini has none above HIGH.
var efforts = map[model.Effort]Level{
	"minimal": LevelMinimal, model.EffortLow: LevelLow, model.EffortMedium: LevelMedium, model.EffortHigh: LevelHigh, model.EffortMax: LevelHigh,
}

// effortBudgets is the vendor's own mapping of efforts to budgets (docs/openai).
var effortBudgets = map[model.Effort]int{
	model.EffortNone: 0, "minimal": 1024, model.EffortLow: 1024, model.EffortMedium: 8192, model.EffortHigh: 24576, model.EffortMax: 1 << 20,
}

// thinking maps the settings of a request. The effort takes precedence over the budget, and both over
// [ThinkingLevel].
func (m *Model) thinking(o *model.Options) (thought, error) {
	t := thought{show: o.ShowThinking || o.Thinking > 0 && o.Effort == "" && m.thoughts == nil || m.thoughts != nil && *m.thoughts}
	switch {
	case o.Effort != "":
		return m.effort(t, o.Effort)
	case m.generation < budgets:
		return thought{}, nil
	case m.generation >= levels && o.Thinking > 0:
		t.level = levelOf(o.Thinking)
	case m.generation >= levels:
		t.level = m.level
	case o.Thinking > 0:
		t.budget = new(m.within(o.Thinking))
	}
	return t, nil
}

// effort maps an effort (docs/thinking).
func (m *Model) effort(t thought, e model.Effort) (thought, error) {
	level, known := efforts[e]
	if !known && e != model.EffortNone {
		return t, notSent(event.ErrUnsupported, "Gemini has no effort %q", "use none, minimal, low, medium, high or max", string(e))
	}
	switch {
	case m.generation >= levels && (e == model.EffortNone || level == LevelMinimal):
		if !m.minimal() {
			return t, notSent(event.ErrUnsupported, "this model always thinks: it has no effort below low", "use low, or take another model")
		}
		t.level = LevelMinimal
	case m.generation >= levels:
		t.level = level
	case m.generation >= budgets:
		n := effortBudgets[e]
		if n == 0 && strings.Contains(short(m.name), "pro") {
			return t, notSent(event.ErrUnsupported, "this model always thinks: it has no effort none", "use low, or take another model")
		}
		if n > 0 {
			n = m.within(n)
		} else {
			t.show = false // without thinking the API refuses to send summaries
		}
		t.budget = &n
	case m.generation > 0 && e == model.EffortNone:
		return thought{}, nil // it never thinks
	default:
		return t, notSent(event.ErrUnsupported, "this model does not think", "leave the effort out, or take Gemini 2.5 or later")
	}
	return t, nil
}

// within limits a budget to the model's range.
func (m *Model) within(budget int) int {
	return min(max(budget, leastBudget(m.name)), mostBudget(m.name))
}

// levelOf returns the level for a budget of tokens.
func levelOf(budget int) Level {
	switch {
	case budget < 2048:
		return LevelLow
	case budget < 16384:
		return LevelMedium
	default:
		return LevelHigh
	}
}

// appendThinking writes the thinking settings (docs/thinking).
func (m *Model) appendThinking(b []byte, o *model.Options) ([]byte, error) {
	t, err := m.thinking(o)
	if err != nil {
		return nil, err
	}
	var members []string
	if t.show {
		members = append(members, `"includeThoughts":true`)
	}
	if t.level != "" {
		members = append(members, `"thinkingLevel":"`+string(t.level)+`"`)
	}
	if t.budget != nil {
		members = append(members, `"thinkingBudget":`+strconv.Itoa(*t.budget))
	}
	if len(members) == 0 {
		return b, nil
	}
	b = append(b, `"thinkingConfig":{`...)
	b = append(b, strings.Join(members, ",")...)
	return append(b, `},`...), nil
}

// tiers are the service tiers (docs/priority-inference and docs/flex-inference).
var tiers = []string{"standard", "flex", "priority"}

// sharedType is the header that requests a tier from Vertex AI, which has tiers only at its global address
// (priority-paygo and flex-paygo of its pages).
const sharedType = "X-Vertex-Ai-Llm-Shared-Request-Type"

// tier checks a service tier.
func (m *Model) tier(tier string) error {
	switch {
	case tier == "":
		return nil
	case !slices.Contains(tiers, tier):
		return notSent(event.ErrUnsupported, "Gemini has no service tier %q", "use standard, flex or priority", tier)
	case m.vertex && tier != "standard" && m.location != "" && m.location != "global":
		return notSent(event.ErrUnsupported, "Vertex AI has the service tier %q at the location global alone",
			"use the location global, or leave the tier out", tier)
	}
	return nil
}
