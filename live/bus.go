package live

import (
	"context"

	"github.com/braidrun/braid/event"
)

// Key names a conversation to the bus. Two tenants may have conversations of
// the same name: nothing of one reaches the other.
type Key struct {
	Tenant       string
	Conversation string
	// Life distinguishes conversations that reuse one id.
	Life string
}

// Bus carries events from drivers to watchers. All methods are safe for
// concurrent use. Events that it hands out are shared: nobody changes them.
type Bus interface {
	// Publisher opens the way to the watchers of a conversation, for one drive
	// of one of its runs. It must be closed.
	Publisher(key Key) Publisher

	// Watch begins to watch a conversation, which need not exist yet. The
	// watcher's first item is a [Sync]. It must be closed. ctx is for the
	// beginning alone. The error is [event.ErrUnavailable] where the bus is
	// closed or cannot be reached, and [event.ErrCancelled] or [event.ErrTimeout]
	// where ctx is done.
	Watch(ctx context.Context, key Key) (Watcher, error)

	// Close ends every watcher with [event.ErrUnavailable] and comes back when
	// no Read is on its way any more. What is published from then on is dropped.
	// Closing twice is closing once.
	Close() error
}

// Publisher sends the events of one drive. It is safe for concurrent use; its
// order is the order of the calls.
type Publisher interface {
	// Publish sends an event to all who watch. It never blocks and never fails:
	// whom it does not reach in time gets a [Sync] later.
	//
	// Send every event that the driver gives, durable ones after their commit, in
	// the order in which it gives them. Where one is missing, everybody
	// gets a Sync. What is there already is dropped: a durable event whose
	// Seq is not above the last one, a live event of an older epoch, of a number
	// not above the last one, or of a step that has not begun, has ended or is at
	// another attempt.
	Publish(e event.Event)

	// Close says that the driver has gone. The snapshots of steps that it
	// began and did not end are dropped, because nobody is left to go on with
	// them. Closing twice is closing once.
	Close()
}

// Watcher is one who watches a conversation. It is used by one goroutine at a
// time; Close may be called by another.
type Watcher interface {
	// Read waits until there is something, and then gives all that is ready, at
	// most len(items): how many it wrote. items must not be empty.
	//
	// Between one Sync and the next nothing is missing: the durable events
	// follow its Last one by one, and the live ones follow its snapshots.
	//
	// The error is [event.ErrCancelled] or [event.ErrTimeout] where ctx is done
	// (then another Read goes on where this one was), [event.ErrGone]
	// after Close and [event.ErrUnavailable] after the bus was closed. With an
	// error nothing was read.
	Read(ctx context.Context, items []Item) (int, error)

	// Close ends the watching and frees what it held. It comes back when no
	// Read is on its way any more. Closing twice is closing once.
	Close()
}

// Item is what a watcher gets: exactly one of the two.
type Item struct {
	// Event is a durable or a live event. It may be the watcher's own memory, which
	// its next Read uses again: who keeps an event longer copies it. What it points
	// to, its body above all, is shared and stays.
	Event *event.Event
	// Sync stands for what the watcher was not given.
	Sync *Sync
}

// Sync says where things stand, at one instant. It is a watcher's first item, and
// comes again whenever the watcher was too slow or something was lost on the
// way.
type Sync struct {
	// Last is the Seq of the last durable event before this instant. The journal
	// has it, and all before it that the watcher was not given. 0 means
	// that the bus knows of none: it has no memory of what was before anybody
	// published or watched.
	Last int64
	// Steps are the steps in flight, in the order in which they began. What was
	// shown of them before, and of any other step that has not ended, is
	// replaced.
	Steps []Snapshot
	// Missed is how many events this Sync stands for, as far as the bus counted;
	// 0 for a watcher's first one.
	Missed int64
}
