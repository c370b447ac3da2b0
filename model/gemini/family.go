package gemini

import (
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

// What a model's name reveals about it (docs/models).

var generations = lazyre.New(`^gemini-(\d{1,2})(?:\.(\d{1,2}))?(?:-|$)`)

// short returns a model's name without a prefix, such as a publisher.
func short(model string) string { return model[strings.LastIndexByte(model, '/')+1:] }

// newest is the generation of names without a number, such as gemini-flash-latest. They always refer to the newest
// models.
const newest = 9900

// generation returns 205 for "gemini-2.5-flash" and 300 for "gemini-3-pro-preview"; 0 for a name of another family or
// an unknown name.
func generation(model string) int {
	model = short(model)
	g := generations.FindStringSubmatch(model)
	if g == nil {
		if strings.HasPrefix(model, "gemini-") {
			return newest
		}
		return 0
	}
	major, _ := strconv.Atoi(g[1]) // the expression matches digits only
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

// The generations at which the API changed.
const (
	// budgets is the first generation that thinks, with a budget of tokens.
	budgets = 205
	// levels is the first generation that thinks by a level. It refuses calls without their signature, sees images in
	// results, and accepts a schema beside tools.
	levels = 300
)

// leastBudget and mostBudget return the limits of the thinking budget in tokens (docs/thinking).
func leastBudget(model string) int {
	if strings.Contains(model, "flash-lite") {
		return 512
	}
	return 128
}

func mostBudget(model string) int {
	if strings.Contains(model, "pro") {
		return 32768
	}
	return 24576
}

var special = lazyre.New(`image|tts|live|audio|embedding|robotics|computer-use|omni`)

// window returns the context window in tokens. It is 0 if the vendor's pages do not state it for all models with such
// a name.
func window(model string) int {
	if generation(model) < 200 || special.MatchString(model) {
		return 0
	}
	return 1_048_576
}
