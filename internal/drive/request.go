package drive

import (
	"encoding/json"

	"github.com/braidrun/braid/internal/lease"
	"github.com/braidrun/braid/internal/output"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
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
	// Programs run foreign programs in the place of agents, by the agents' names; nil for none.
	Programs map[string]StepRunner
	// renewer renews the lease of a run whose log was read after it was taken; nil for none.
	renewer *lease.Renewer
}

// Settings are those that runs may have for themselves.
type Settings interface {
	// Settled returns the agent with the settings of an accepted run; nil for the agent as it is. An orphan is a run that
	// the request did not ask for.
	Settled(run *journal.Run, orphan bool) (*Agent, error)
}

// EngineWork is what an engine passes to a drive besides the run. The root's Work explains the fields.
type EngineWork struct {
	// Mail receives a value when something was sent to the run.
	Mail <-chan struct{}
	// Draining is closed when the run is to be handed back.
	Draining <-chan struct{}
	// ForgetFailed says that later runs see nothing of this one if it fails.
	ForgetFailed bool
	// Secrets are the run's. Shown names those that nobody hides.
	Secrets map[string]secret.Secret
	Shown   []string
	// Models returns what is called in the place of a model; nil for the model itself.
	Models func(model.Model) model.Model
	// Stalled is called with the store's error when the drive begins to wait for it, and with nil when it goes on; nil for nobody.
	Stalled func(error)
}

// noEngine is what a run has that no engine drives. Nobody changes it.
var noEngine EngineWork

// stalled reports that the store refuses to write, or, with nil, that it writes again.
func (w *EngineWork) stalled(err error) {
	if w.Stalled != nil {
		w.Stalled(err)
	}
}
