package anthropic

import (
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

// Braid derives a model's features from its name. The vendor's page about-claude/models
// lists the names; build-with-claude/thinking says which take a budget.

var generations = lazyre.New(`claude(?:-[a-z]+)*-(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`)

// generation returns 405 for "claude-sonnet-4-5-20250929" and 307 for
// "claude-3-7-sonnet"; 0 for a name without a version.
func generation(model string) int {
	g := generations.FindStringSubmatch(model)
	if g == nil {
		return 0
	}
	major, _ := strconv.Atoi(g[1]) // digits by the expression
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

// budgeted reports whether the model takes a token budget for thinking. Later models
// refuse a budget and decide for themselves.
func budgeted(model string) bool {
	g := generation(model)
	return g > 0 && g < 406
}

// schematic reports whether the model has structured outputs
// (build-with-claude/structured-outputs).
func schematic(model string) bool { return generation(model) >= 405 }

// answerTokens returns the default of max_tokens, which the API requires. Every served
// model accepts it.
func answerTokens(model string) int {
	switch g := generation(model); {
	case g > 0 && g < 305:
		return 4096
	case g > 0 && g < 307:
		return 8192
	default:
		return 32000
	}
}

// binds reports whether the model accepts its thinking only after the prefix that it
// was made for (build-with-claude/preserved-thinking/prefix-checks): from Claude 5.5,
// Fable 5.1 and Mythos 5.1 on. The vendor's page of Fable 5.1 says that Mythos 5.1 does
// not check; leaving thinking out costs it little. A name without a version counts as
// binding, because it may be a gateway's name for any of them.
func binds(model string) bool {
	g := generation(model)
	return g == 0 || g > 500
}

// forcible reports whether tool_choice can force a call. From Fable 5.1, Mythos 5.1 and
// Claude 5.5 on, models refuse the choices any and tool
// (models/fable-5-1/whats-new-fable-5-1#forced-tool-use-is-not-supported).
func forcible(model string) bool { return generation(model) <= 500 }

// window returns the context window in tokens; 0 if unknown. From Claude 4.6 on it is a
// million without a beta header (about-claude/models/overview, and the page of each
// model under docs/en/models).
func window(model string) int {
	switch g := generation(model); {
	case g == 0:
		return 0
	case g < 406:
		return 200_000
	default:
		return 1_000_000
	}
}

// midway reports whether the model takes instructions and tools between messages
// (build-with-claude/mid-conversation-system-messages): Opus 4.8 and all of Claude 5 and
// later, but for Sonnet 5.
func midway(model string) bool {
	switch g := generation(model); g {
	case 408:
		return strings.Contains(model, "opus")
	case 500:
		return !strings.Contains(model, "sonnet") && !strings.Contains(model, "haiku")
	default:
		return g > 500
	}
}
