package journal

import (
	"time"

	"github.com/braidrun/braid/event"
)

// FindAtOnce bounds how many runs [Catalog].FindRuns looks at in one call.
const FindAtOnce = 10_000

// RunQuery says which runs are wanted. A field that is empty does not narrow.
type RunQuery struct {
	// ID wants one run.
	ID string
	// Tenant wants the runs of one tenant.
	Tenant string
	// Status wants runs in one of these states.
	Status []event.RunStatus
	User   string
	Agent  string
	// Failure wants runs that failed with an error of this kind.
	Failure event.ErrorKind
	// Since wants runs that were admitted then or later.
	Since time.Time
	// Before is the Next of the page before; 0 begins with the newest run.
	Before int64
	// Limit is how many runs a page has at most; 0 or less means [FindAtOnce].
	Limit int
}

// RunPage is one answer of [Catalog].FindRuns.
type RunPage struct {
	Runs []Run
	// Next is where the next page begins; 0 means that there is none.
	Next int64
}

// Open reports whether the query wants only runs that have not ended.
func (q *RunQuery) Open() bool {
	for _, s := range q.Status {
		if s.Ended() {
			return false
		}
	}
	return len(q.Status) > 0
}

// Unsuccessful reports whether the query wants only runs that failed or were cancelled.
func (q *RunQuery) Unsuccessful() bool {
	for _, s := range q.Status {
		if s != event.RunFailed && s != event.RunCancelled {
			return false
		}
	}
	return len(q.Status) > 0
}

// Page makes a page of the runs that a store has found. last is the place of the last of them, edge how far the
// store has looked: 0 means to the end.
func (q *RunQuery) Page(found []Run, last, edge int64) RunPage {
	p := RunPage{Runs: found, Next: edge}
	if len(found) >= q.Most() {
		p.Next = last
	}
	return p
}

// Most is how many runs a page has at most.
func (q *RunQuery) Most() int {
	if q.Limit <= 0 || q.Limit > FindAtOnce {
		return FindAtOnce
	}
	return q.Limit
}

// Failure is the kind of the error with which events end a failed run; empty for none.
func Failure(events []*event.Event) event.ErrorKind {
	if len(events) == 0 {
		return ""
	}
	b, ok := events[len(events)-1].Body.(*event.RunEnded)
	if !ok || b.Status != event.RunFailed || b.Err == nil {
		return ""
	}
	return b.Err.Kind
}
