package engine

import (
	"context"
	"time"

	"github.com/braidrun/braid/journal"
)

// task is a run that the engine knows. A run that waits only for mail has no task and costs nothing
// here.
type task struct {
	run      journal.Run
	tenant   *tenant
	priority int
	// order breaks ties of one priority: first come, first served.
	order int64
	// refused is set if the journal said that an earlier run of the conversation has not ended.
	refused bool
	// urgent precedes every priority: the run was cancelled.
	urgent bool
	// woken is set if the run was woken. When it ends, the journal may have given its unread mail
	// to a run that is unknown here.
	woken bool
	state state
	// at is the task's index in its heap.
	at int

	// dueAt is when a delayed task is due.
	dueAt time.Time
	// fails counts the failed drives in a row.
	fails int
	// failure is the error of the last one.
	failure error

	// mail is the current drive's [Work.Mail].
	mail chan struct{}
	// cancel cancels the current drive.
	cancel context.CancelCauseFunc
	// mark is the mark of the newest mail of other processes for which the drive was notified.
	mark int64
	// stopped reports that the drive was cancelled.
	stopped bool
	// admitted reports whether the run is in the journal; nil if it is. See [Local.Begin].
	admitted func() bool
}

// state is the state of a task.
type state uint8

const (
	// idle: not queued, or no longer.
	idle state = iota
	// ready: in its tenant's heap.
	ready
	// blocked: behind another run of its conversation.
	blocked
	// running: being driven.
	running
	// delayed: in the heap of timers.
	delayed
)

// queued reports whether the task counts as backlog.
func (t *task) queued() bool { return t.state == ready || t.state == blocked }

// byUrgency is a heap of ready tasks.
type byUrgency []*task

func (h *byUrgency) Len() int { return len(*h) }

func (h *byUrgency) Less(i, j int) bool {
	a, b := (*h)[i], (*h)[j]
	switch {
	case a.urgent != b.urgent:
		return a.urgent
	case a.priority != b.priority:
		return a.priority > b.priority
	default:
		return a.order < b.order
	}
}

func (h *byUrgency) Swap(i, j int) {
	s := *h
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}

func (h *byUrgency) Push(x any) {
	t := x.(*task)
	t.at = len(*h)
	*h = append(*h, t)
}

func (h *byUrgency) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}

// byTime is a heap of delayed tasks.
type byTime []*task

func (h *byTime) Len() int           { return len(*h) }
func (h *byTime) Less(i, j int) bool { return (*h)[i].dueAt.Before((*h)[j].dueAt) }

func (h *byTime) Swap(i, j int) {
	s := *h
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}

func (h *byTime) Push(x any) {
	t := x.(*task)
	t.at = len(*h)
	*h = append(*h, t)
}

func (h *byTime) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
