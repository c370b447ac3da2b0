package journal

import (
	"time"

	"github.com/braidrun/braid/event"
)

// FindAtOnce is the maximum number of runs that one call of [Catalog].FindRuns examines.
const FindAtOnce = 10_000

// RunQuery filters runs. Empty fields do not restrict the result.
type RunQuery struct {
	// ID selects one run.
	ID string
	// Tenant selects the runs of one tenant.
	Tenant string
	// Status selects runs in one of these states.
	Status []event.RunStatus
	User   string
	Agent  string
	// Failure selects runs that failed with an error of this kind.
	Failure event.ErrorKind
	// Since selects runs that were admitted at this time or later.
	Since time.Time
	// Before is RunPage.Next of the previous page; 0 starts with the newest run.
	Before int64
	// Limit is the maximum number of runs of a page; 0 or less means [FindAtOnce].
	Limit int
}

// RunPage is one page of [Catalog].FindRuns.
type RunPage struct {
	Runs []Run
	// Next is the start of the next page; 0 means that there is none.
	Next int64
}

// Open reports whether the query selects only runs that have not ended.
func (q *RunQuery) Open() bool {
	for _, s := range q.Status {
		if s.Ended() {
			return false
		}
	}
	return len(q.Status) > 0
}

// Unsuccessful reports whether the query selects only runs that failed or were cancelled.
func (q *RunQuery) Unsuccessful() bool {
	for _, s := range q.Status {
		if s != event.RunFailed && s != event.RunCancelled {
			return false
		}
	}
	return len(q.Status) > 0
}

// Page returns the page of the runs that a store has found. last is the position of the last of
// them. edge is the position up to which the store has searched; 0 means to the end.
func (q *RunQuery) Page(found []Run, last, edge int64) RunPage {
	p := RunPage{Runs: found, Next: edge}
	if len(found) >= q.Most() {
		p.Next = last
	}
	return p
}

// Most returns the maximum number of runs of a page.
func (q *RunQuery) Most() int {
	if q.Limit <= 0 || q.Limit > FindAtOnce {
		return FindAtOnce
	}
	return q.Limit
}

// Failure returns the kind of the error with which events end a failed run; empty for none.
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
