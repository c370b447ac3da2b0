package journal

import (
	"time"

	"github.com/braidrun/braid/event"
)

// Batch is one commit.
type Batch struct {
	// Events are appended. Their Seq is dense and begins after the log's last one.
	Events []*event.Event
	// Read lists the ids of mail that the events consume. A run that waits with unread mail is due at once, unless that is
	// MailMessage.
	Read []string
	// Status is the run's new state; empty keeps it.
	Status event.RunStatus
	// WakeAt goes with RunWaiting.
	WakeAt time.Time
	// Release gives the lease back with this commit. A run that ends or waits is always released.
	Release bool
	// Usage goes into the [Ledger] with the events. Text that a store cannot hold is repaired, never refused.
	Usage []UsageEntry
	// Tools goes into the [Ledger] in the same way.
	Tools []ToolEntry
}

// givesBack reports whether the lease ends with the batch.
func (b Batch) givesBack() bool {
	return b.Release || b.Status == event.RunWaiting || b.Status.Ended()
}

// GivesBack reports whether the lease ends with the batch: it is released, or the run waits or ends.
func (b Batch) GivesBack() bool { return b.givesBack() }
