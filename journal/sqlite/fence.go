package sqlite

import (
	"database/sql"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// fence guards a conversation's log: it says who may write, and at which Seq. It names the run of
// the newest lease.
type fence struct {
	key       int64
	id        string
	last      int64
	epoch     int64
	held      bool
	steps     []journal.OpenStep
	runKey    int64
	run       string
	turn      int
	status    event.RunStatus
	wake      sql.NullInt64
	cancelled bool
	tenant    string
	user      string
	lost      int
}

// current reports whether l is the newest lease, released or not.
func (f *fence) current(l journal.Lease) bool {
	return f.key != 0 && f.run == l.Run && f.epoch == l.Epoch && f.id == l.Conversation
}

// heldBy reports whether l is the lease in force.
func (f *fence) heldBy(l journal.Lease) bool { return f.held && f.current(l) }
