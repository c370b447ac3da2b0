package drive

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/compact"
)

// summing is a model call for a summary.
type summing struct {
	compact.Omission
	// summary is what came of it.
	summary []event.Block
	// err is why there is no summary.
	err error
	// failWith is the error of a hook.
	broke error
}
