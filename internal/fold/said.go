package fold

import (
	"slices"

	"github.com/braidrun/braid/event"
)

// Said is a user's message in the transcript.
type Said struct {
	Seq int64
	// Content is empty if the transcript shows none of the message.
	Content []event.Block
	// Whole reports whether the transcript shows all of it, so that it can be redacted without folding the log again.
	Whole bool
	// before is the previous message if no answer came between the two.
	before *Said
}

// in reports whether the unit holds the message.
func (m *Said) in(u Unit) bool { return slices.Contains(u.Seqs, m.Seq) }
