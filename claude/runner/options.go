package runner

import (
	"time"

	"github.com/braidrun/braid/claude"
	"github.com/braidrun/braid/event"
)

// Options are the settings of an agent of the program.
type Options struct {
	// Dir is the working folder; empty for that of this process.
	Dir string
	// Model names the model, as the program's --model; empty for the program's default.
	Model string
	// Tools are the program's own tools that the agent has; nil for [DefaultTools], an empty list for none.
	Tools []string
	// Agents are sub-agents by their names, for the program's tool Task. Their Tools are of the program's own, without Task;
	// none for those of the agent.
	Agents map[string]claude.Agent
	// ReplacePrompt has the agent's instructions replace the program's system prompt. By default they are added to it.
	ReplacePrompt bool
	// Env adds environment variables in the form NAME=value, such as the provider's key or CLAUDE_CODE_USE_BEDROCK=1. By
	// default the program inherits those that [claude.CleanEnv] names.
	Env []string
	// Scratch is the folder for the process's configuration, home and temporary files, which are removed with it; empty for
	// the system's folder for temporary files.
	Scratch string
	// Idle is how long the program is kept for a run that waits for an answer; 0 means five minutes, below zero not at all.
	Idle time.Duration
	// Cost returns the price of a model call in 1e-9 US dollars, or false for an unknown one; nil knows no prices.
	Cost func(event.Usage) (nanoUSD int64, known bool)
	// ContextWindow is the model's, in tokens; 0 for unknown.
	ContextWindow int
	// Claude are more options of the program. Those that this package sets itself are not changed by them.
	Claude []claude.Option
}

// DefaultTools are the program's tools for files and commands.
func DefaultTools() []string { return []string{"Bash", "Edit", "NotebookEdit", "Read", "Write"} }

// idle returns how long the program is kept for a run that waits.
func (o *Options) idle() time.Duration {
	if o.Idle == 0 {
		return 5 * time.Minute
	}
	return max(o.Idle, 0)
}
