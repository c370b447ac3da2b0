package engine

import (
	"context"
	"time"

	"github.com/braidrun/braid/journal"
)

// task is a run that the engine knows. One that waits for mail alone is no task:
// it costs nothing here.
type task struct {
	run      journal.Run
	tenant   *tenant
	priority int
	// order tells tasks of one priority apart: first come, first served.
	order int64
	// refused is set where the journal said that an earlier run of the
	// conversation has not ended.
	refused bool
	// urgent goes before every priority: somebody wants the run to end.
	urgent bool
	// roused is set where the run was woken: when it ends, the journal may have
	// given what it did not read to a run that nobody here knows.
	roused bool
	state  state
	// at is the task's place in the heap that it is in.
	at int

	// dueAt is when a delayed task is due. fails counts the drives in a row
	// that came to nothing.
	dueAt time.Time
	fails int
	// failure is the error of the last of them.
	failure error

	// mail and cancel are of the drive that is under way.
	mail   chan struct{}
	cancel context.CancelCauseFunc
	// heard is the mark of the newest letter of others' that was rung for, stopped says that
	// the drive was told to end.
	heard   int64
	stopped bool
}

// state is where a task is.
type state uint8

const (
	// idle: nowhere yet, or nowhere any more.
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
