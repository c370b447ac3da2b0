package journal

import "context"

// Beginner is a [Store] that can admit a run, take its lease and write its first batch in one commit, so that beginning
// a run waits for the disk once. Other stores do it in three calls.
type Beginner interface {
	Store

	// Propose returns what Acquire would return for a run that Admit has put at the place, and changes nothing. It reads
	// no events: the caller has them all.
	Propose(ctx context.Context, r Run, at Place) (Opened, error)

	// Begin does what Admit of the run, Acquire and Commit of the batch under o's lease do, in one transaction: if it
	// returns nil, all of it is in the store, otherwise nothing. o is what Propose returned for the run.
	//
	// It refuses a run that would not be where o says: with [event.ErrConflict] one whose conversation has gone on, or
	// that exists already, with [event.ErrLocked] one behind an open run. Its other errors are those of the three calls.
	Begin(ctx context.Context, r Run, o *Opened, b Batch) error
}

// Place is where a run begins in its conversation.
type Place struct {
	// Turn is the run's turn, from 1.
	Turn int
	// Last is the Seq of the last event before the run; 0 is none.
	Last int64
	// Epoch is the epoch of the run's first lease, from 1.
	Epoch int64
}
