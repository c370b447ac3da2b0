package journal

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Lease is the right to write a conversation's log.
type Lease struct {
	Conversation string
	Run          string
	// Epoch rises with every Acquire of the conversation, and fences off older leases.
	Epoch int64
	// Until is when the lease runs out, on the store's clock.
	Until time.Time
	// Term is how long the lease lasts from Acquire and from each Renew. A driver counts it on its own clock, so
	// the two clocks need not agree.
	Term time.Duration
}

// Opened is what Acquire returns.
type Opened struct {
	Lease Lease
	Run   Run
	// Last is the Seq of the conversation's last event.
	Last int64
	// Events are those after the Seq that the caller has.
	Events []*event.Event
	// Mail is the run's unread mail, oldest first.
	Mail []Mail
	// Shared is the "app:" and "user:" state of the run's tenant and user, with prefixed keys. The map is the caller's.
	Shared map[string]json.RawMessage
}

// News is what Renew returns: what others left while the lease is held.
type News struct {
	// Cancelled is the current Run.Cancelled.
	Cancelled bool
	// Mail is the run's unread mail, oldest first.
	Mail []Mail
}
