package drive

import (
	"github.com/braidrun/braid/event"
)

// callSaid is what a function of a flow said as the author of its scope, beside its result.
type callSaid struct {
	// may is set for a call that no model asked for. input is what its scope was asked.
	may   bool
	input []event.Block
	// list are the messages in their order. bytes is their size, and limit bounds it; 0 is no limit.
	list         [][]event.Block
	bytes, limit int
	// transfer hands the scope over; nil does not. transfers counts those before.
	transfer  *event.Transferred
	transfers int
	// escalated is set where the call asked the loop around its scope to stop, and reason says why.
	escalated bool
	reason    string
}
