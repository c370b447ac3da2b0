package drive

import (
	"encoding/json"

	"github.com/braidrun/braid/internal/lease"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
)

// Request says which run to drive, and how.
type Request struct {
	// Log is the conversation of the run.
	Log *Handle
	// Run is the run to drive; empty for a new one, or for the conversation's open one.
	Run string
	// Waits says that the drive waits for its turn. Without it a busy conversation is an error.
	Waits bool
	// Engine is what an engine passes for the drive. It is nil if the caller waits for the run itself.
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
	// Settings are those that a run may have for itself; nil for none.
	Settings Settings
	// orphan says that the run is one.
	orphan bool
	// renewer renews the lease of a run whose log was read after it was taken; nil for none.
	renewer *lease.Renewer
}

// Settings are those that runs may have for themselves.
type Settings interface {
	// Settled returns the agent with the settings of an accepted run; nil for the agent as it is. An orphan is a run that
	// the request did not ask for.
	Settled(run *journal.Run, orphan bool) (*Agent, error)
}
