package journal

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// Tail is the end of a log and what must be known of the part before it.
//
// It begins with the first event of a run, and what stands before it is not
// part of what a model sees next: it belongs to an earlier session, or a
// compaction in Events covers it. A fold that begins here shows the summary of
// such a compaction first. Where nothing can be left out, Events is the whole log.
type Tail struct {
	// First is the Seq of the first of Events, Last that of the last; where there
	// are none, First is Last plus one.
	First int64
	Last  int64
	// Events are those from First to Last.
	Events []*event.Event
	// Session is the number of the session that First stands in, Begin the Seq of that
	// session's first event; 0 where the store does not say.
	Session int
	Begin   int64
	// State is the conversation's own state, keys without a prefix, as Events
	// leave it or as it was a little before. Folding Events over it gives what
	// folding the whole log gives. It is nil where First is 1. The map is the caller's.
	State map[string]json.RawMessage
}
