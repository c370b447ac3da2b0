package claude

import "encoding/json"

// Model names the model of the main agent, by its full name or an alias: "sonnet", "opus", "haiku".
func Model(name string) Option { return func(c *config) { c.model.name = name } }

// FallbackModels names the models that answer while the main one is overloaded, in order.
func FallbackModels(names ...string) Option { return func(c *config) { c.model.fallback = names } }

// Thinking says how much a model thinks before it answers.
type Thinking struct {
	// Mode is "adaptive", "enabled" or "disabled".
	Mode string
	// Budget is the number of tokens for "enabled"; 0 lets the model decide.
	Budget int
	// Display is "summarized" or "omitted"; empty is the program's default.
	Display string
}

// ThinkingMode sets how models think.
func ThinkingMode(t Thinking) Option { return func(c *config) { c.model.thinking = &t } }

// Effort is low, medium, high, xhigh or max.
func Effort(level string) Option { return func(c *config) { c.model.effort = level } }

// Betas names beta features of the API.
func Betas(names ...string) Option { return func(c *config) { c.model.betas = names } }

// MaxTurns bounds how often the model is called in a turn. A turn above it ends with error_max_turns. 0 is no bound.
func MaxTurns(n int) Option { return func(c *config) { c.model.turns = n } }

// MaxBudgetUSD bounds the estimated cost of a turn in US dollars. The program checks after each call of a model, so the
// last one may exceed it. 0 is no bound.
func MaxBudgetUSD(amount float64) Option { return func(c *config) { c.model.budget = amount } }

// TaskBudget tells the model how many tokens it may use. 0 tells it nothing.
func TaskBudget(tokens int) Option { return func(c *config) { c.model.taskBudget = tokens } }

// JSONSchema has the model answer in the form of a schema: see [Result.Structured]. The program gives none with an empty [Tools].
func JSONSchema(schema json.RawMessage) Option { return func(c *config) { c.model.schema = schema } }
