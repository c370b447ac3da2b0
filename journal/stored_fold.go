package journal

import (
	"github.com/braidrun/braid/event"
)

// StoredFold is a cache of what a driver folds from a log, up to a position. A store keeps at most one for each conversation
// and does not know what the bytes mean. Who reads it verifies it, and folds the log if there is any doubt.
//
// The head is read whenever the conversation is opened. The parts are read when they are needed, and new ones are added to
// those that are there, so that storing a fold costs as much as what is new.
type StoredFold struct {
	// Seq is the position: the Seq of the last event in the fold.
	Seq int64
	// Head is not empty.
	Head []byte
	// Parts follow the first Before parts that are stored already. Other parts that are stored are removed.
	Before int
	Parts  [][]byte
}

// StoredTail is the end of a log for a fold that begins with a stored one.
type StoredTail struct {
	Tail
	// Seq and Head are those of the stored fold, and Events begins with the event Seq. Head is empty if there is no stored
	// fold that shortens the Tail. First, Session, Begin and State are not set if there is one.
	Seq  int64
	Head []byte
}

// CheckStoredFold returns ErrInvalid for a stored fold that is wrong in any state of a store. It checks its arguments only.
func CheckStoredFold(op string, l Lease, f *StoredFold) error {
	switch {
	case l.Run == "" || l.Conversation == "":
		return noID(op, "a lease names a run and its conversation")
	case f.Seq < 1 || len(f.Head) == 0 || f.Before < 0:
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "a stored fold has a position, a head and no negative number of parts",
		}
	}
	return nil
}

// StaleFold returns the error for a stored fold that does not fit the log.
func StaleFold(op string) error {
	return &event.Error{Op: op, Kind: event.ErrConflict, Message: "the log or the stored fold has changed", Hint: "fold the log again"}
}
