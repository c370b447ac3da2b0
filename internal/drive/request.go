package drive

import (
	"encoding/json"

	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/secret"
)

// Request says which run is to be driven and how.
type Request struct {
	// Log is the conversation of the run.
	Log *Handle
	// Run is the run to drive; empty for a new one, or for the conversation's open one.
	Run string
	// Waits says that the drive waits for its turn; without it a conversation that is busy is an error.
	Waits bool
	// Engine is what an engine gives for the drive. It is nil where the caller waits for the run itself.
	Engine *EngineWork
	// Private says that nobody else has the run's conversation.
	Private bool

	// Key is the run's idempotency key, and the fields below it are what its row says.
	Key        string
	Executor   string
	Metadata   map[string]string
	NewSession bool
	Tenant     string
	User       string

	// Secrets are the run's; nil for none.
	Secrets map[string]secret.Secret
	// Given is the run's first temporary state; nil for none.
	Given map[string]json.RawMessage
	// Output is the form of the root's output; nil leaves it to the agent.
	Output *output.Form
	// Programs run the foreign programs that work in the place of agents, by the agents' names; nil for none.
	Programs map[string]StepRunner
	// renewer renews the lease of a run whose log was read after it was taken; nil for none.
	renewer *leaseRenewer
}
