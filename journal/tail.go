package journal

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// Tail is the end of a log, with what a fold must know of the part before it.
//
// It begins with the first event of a run. A model does not see what precedes it: that belongs to an earlier session, or
// a compaction in Events covers it. A fold that begins here shows the summary of such a compaction first. If nothing
// can be left out, Events is the whole log.
type Tail struct {
	// First is the Seq of the first of Events, or Last plus one if there are none.
	First int64
	// Last is the Seq of the last event.
	Last int64
	// Events are those from First to Last.
	Events []*event.Event
	// Session is the number of the session that First is in; 0 if the store does not know.
	Session int
	// Begin is the Seq of that session's first event; 0 if the store does not know.
	Begin int64
	// State is the conversation's own state with unprefixed keys, as Events leave it or a little older. Folding Events over
	// it gives what folding the whole log gives. It is nil if First is 1. The map is the caller's.
	State map[string]json.RawMessage
}
