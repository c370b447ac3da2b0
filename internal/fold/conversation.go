package fold

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Conversation is the fold of one conversation's log: all that decisions about the open run and requests to its models
// need. It advances one event at a time. Only its State is safe for concurrent use.
//
// A driver may fold events before it commits them. If the commit fails, the driver folds the log again.
type Conversation struct {
	// Last is the Seq of the newest event.
	Last int64
	// Turn is the number of the newest run.
	Turn int
	// Session is the number of the newest run's session.
	Session int
	// Past is the root transcript of this session's ended runs.
	Past Transcript
	// gauge is the size of Past.
	gauge gauge
	// base is Past before the newest run, or before the failed run that it continues.
	base Transcript
	// baseGauge is the size of base.
	baseGauge gauge
	// Begin is the Seq of the session's first event; 0 if unknown.
	Begin int64
	// State is the folded state of the conversation and of its newest run.
	State *State
	// Run is the newest run, open or ended; nil if the log shows none.
	Run *Run
	// Setups holds each agent's last recorded setup by the agent's name.
	Setups map[string]*model.Setup
	// Found are the tools that root agents' models found in this session.
	Found []string
	// Mail maps the id of each inbox message in the log to the run that took it.
	Mail map[string]string
	// Partial reports whether only the end of the log was folded, so that Mail may miss messages.
	Partial bool
	// Spent is what the ended runs used.
	Spent event.Spent
	// SpentKnown reports whether Spent is complete. If only the end of a log was folded, a run there must record the
	// earlier usage.
	SpentKnown bool
	// Hidden holds the events that the transcript does not show unchanged.
	Hidden Hidden
	// Stale reports whether a compaction or a redaction changed earlier events and could not be applied in place. The
	// log must be folded again before the next decision.
	Stale bool
	// anew is set while FromTail folds a log, whose compactions it already knows.
	anew bool
	// keeping is what storing the fold needs.
	keeping keeping
}

// Open reports whether the newest run has not ended.
func (v *Conversation) Open() bool { return v.Run != nil && v.Run.Ended == nil }

// Unanswered reports whether the session's last message is the user's.
func (v *Conversation) Unanswered() bool {
	n := len(v.Past.Messages)
	return n > 0 && v.Past.Messages[n-1].Role == event.RoleUser
}
