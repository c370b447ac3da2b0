package journal

import "context"

// Teller tells, in one answer for many, what other processes did. A process that drives
// runs and serves watchers beside others asks it about once a second: what it says is
// where to look, and the journal's other methods say what is there.
type Teller interface {
	// Heads gives the Seq of the last event of each of the conversations, 0 for one that
	// has none yet. One that is not there is left out of the answer.
	Heads(ctx context.Context, conversations []string) (map[string]int64, error)
	// Posted tells which of the runs have mail that is not consumed, or are to be cancelled.
	// The others, and those that are not there or have ended, are left out of the answer.
	Posted(ctx context.Context, runs []string) (map[string]Posted, error)
}

// Posted says what was left for a run.
type Posted struct {
	// Mark rises with every letter that comes: who remembers it sees whether there is
	// something new. It is 0 where there is no unread mail.
	Mark int64
	// Cancelled is [Run.Cancelled].
	Cancelled bool
}
