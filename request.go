package braid

import (
	"encoding/json"

	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/secret"
)

// request says which run is to be driven and how.
type request struct {
	// log is the conversation of the run.
	log *handle
	// run is the run to drive; empty for a new one, or for the conversation's open one.
	run string
	// waits says that the drive waits for its turn; without it a conversation that is busy is an error.
	waits bool
	// engine is what an engine gives for the drive. It is nil where the caller waits for the run itself.
	engine *engineWork
	// private says that nobody else has the run's conversation.
	private bool

	// key is the run's idempotency key, and the fields below it are what its row says.
	key        string
	executor   string
	metadata   map[string]string
	newSession bool
	tenant     string
	user       string

	// secrets are the run's; nil for none.
	secrets map[string]secret.Secret
	// given is the run's first temporary state; nil for none.
	given map[string]json.RawMessage
	// output is the form of the root's output; nil leaves it to the agent.
	output *output.Form
	// programs run the foreign programs that work in the place of agents, by the agents' names; nil for none.
	programs map[string]stepRunner
	// renewer renews the lease of a run whose log was read after it was taken; nil for none.
	renewer *leaseRenewer
}
