package live

import "github.com/braidrun/braid/event"

// Snapshot is all that a step in flight has said so far: [event.Snapshot], which
// the wires send.
type Snapshot = event.Snapshot

// Block is one block of an answer as far as it has come.
type Block = event.SnapshotBlock
