package live

import "github.com/braidrun/braid/event"

// Snapshot is the state of a step in flight: [event.Snapshot], which the wires send.
type Snapshot = event.Snapshot

// Block is one block of an answer, as far as it has come.
type Block = event.SnapshotBlock
