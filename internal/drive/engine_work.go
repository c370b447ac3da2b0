package drive

import (
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
)

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
