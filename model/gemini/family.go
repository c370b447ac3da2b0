package gemini

import (
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

// What is known of a model by its name (docs/models).

var generations = lazyre.New(`^gemini-(\d{1,2})(?:\.(\d{1,2}))?(?:-|$)`)

// short is a model's name without what stands before it, such as a publisher.
func short(model string) string { return model[strings.LastIndexByte(model, '/')+1:] }

// newest stands for names without a number, such as gemini-flash-latest: they
// point to the models of the day.
const newest = 9900

// generation reads 205 from "gemini-2.5-flash" and 300 from "gemini-3-pro-preview";
// 0 is a name of another family, or of nobody's.
func generation(model string) int {
	model = short(model)
	g := generations.FindStringSubmatch(model)
	if g == nil {
		if strings.HasPrefix(model, "gemini-") {
			return newest
		}
		return 0
	}
	major, _ := strconv.Atoi(g[1]) // digits by the expression
	minor, _ := strconv.Atoi(g[2])
	return major*100 + minor
}

// Where the generations differ.
const (
	// budgets is the first that thinks, by a budget of tokens.
	budgets = 205
	// levels is the first that thinks by a level, refuses calls without their
	// signature, sees images in results, and takes a schema beside tools.
	levels = 300
)

// leastBudget and mostBudget bound the tokens for thinking (docs/thinking).
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

// window is the context window in tokens; 0 where the vendor's pages do not say
// it of all models with such a name.
func window(model string) int {
	if generation(model) < 200 || special.MatchString(model) {
		return 0
	}
	return 1_048_576
}
