package live

import (
	"context"

	"github.com/braidrun/braid/event"
)

// Key names a conversation on the bus. Two tenants may have conversations with the same id: they do
// not share events.
type Key struct {
	Tenant       string
	Conversation string
	// Life distinguishes conversations that reuse one id.
	Life string
}

// Bus carries events from drivers to watchers. All methods are safe for concurrent use. Events are
// shared between watchers and must not be changed.
type Bus interface {
	// Publisher returns the publisher of a conversation's events, for one drive of a run. It must
	// be closed.
	Publisher(key Key) Publisher

	// Watch begins to watch a conversation, which need not exist yet. The watcher's first item is a
	// [Sync]. It must be closed. ctx is for the call only. It returns [event.ErrUnavailable] if the
	// bus is closed or cannot be reached, and [event.ErrCancelled] or [event.ErrTimeout] if ctx is
	// done.
	Watch(ctx context.Context, key Key) (Watcher, error)

	// Close ends every watcher with [event.ErrUnavailable] and returns when no Read is in progress.
	// Later events are dropped. Closing again changes nothing.
	Close() error
}

// Publisher publishes the events of one drive. It is safe for concurrent use. The order of the
// events is the order of the calls.
type Publisher interface {
	// Publish sends an event to all watchers. It never blocks and never fails: a watcher that is
	// too slow gets a [Sync] later.
	//
	// Publish every event of the driver in its order, durable ones after their commit. If one is
	// missing, all watchers get a Sync. Repeated and outdated events are dropped: a durable event
	// whose Seq is not above the last one, and a live event of an older epoch, of a number not
	// above the last one, or of a step that has not begun, has ended or is at another attempt.
	Publish(e event.Event)

	// Close says that the driver is gone. The snapshots of its unfinished steps are dropped.
	// Closing again changes nothing.
	Close()
}

// Watcher watches a conversation. It is for one goroutine at a time, but Close may be called by
// another.
type Watcher interface {
	// Read waits for items and returns how many it wrote: all that are ready, at most len(items).
	// items must not be empty.
	//
	// Nothing is missing between two Syncs: the durable events follow the Sync's Last without gaps,
	// and the live events follow its snapshots.
	//
	// It returns [event.ErrCancelled] or [event.ErrTimeout] if ctx is done, and then another Read
	// continues. It returns [event.ErrGone] after Close and [event.ErrUnavailable] after the bus
	// was closed. With an error nothing was read.
	Read(ctx context.Context, items []Item) (int, error)

	// Close stops watching and frees its memory. It returns when no Read is in progress. Closing
	// again changes nothing.
	Close()
}

// Item is what a watcher receives: either an event or a sync.
type Item struct {
	// Event is a durable or live event. The next Read may overwrite it: copy it to keep it. Its
	// body and everything else that it points to is shared and stays valid.
	Event *event.Event
	// Sync replaces events that the watcher was not given.
	Sync *Sync
}

// Sync is the state at one instant. It is a watcher's first item, and comes again whenever the
// watcher was too slow or events were lost.
type Sync struct {
	// Last is the Seq of the last durable event before this instant. The journal has it and all
	// before it. 0 means that the bus knows of none: it remembers nothing from before the first
	// publisher or watcher.
	Last int64
	// Steps are the steps in flight, in the order in which they began. They replace everything that
	// was shown of unfinished steps.
	Steps []Snapshot
	// Missed is how many events this Sync replaces, as far as the bus counted. It is 0 for a
	// watcher's first one.
	Missed int64
}
