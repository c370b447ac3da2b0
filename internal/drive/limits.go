package drive

import (
	"errors"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

// Limits are those of an agent that its driver holds it to. decide.Limits has the others. A zero or negative number is no limit.
type Limits struct {
	// Depth bounds agents inside agents, and Scopes their number in the run.
	Depth  int
	Scopes int
	// Parallel bounds the tools that run at once.
	Parallel int
	// ArgBytes, ResultBytes and AnswerBytes bound the sizes of arguments, results and a model's answers.
	ArgBytes    int
	ResultBytes int
	AnswerBytes int
	// ToolTime bounds a tool that has no time-out of its own, and Active the time in which the run is driven.
	ToolTime time.Duration
	Active   time.Duration
	// Grace is how long a step that is cancelled may take to stop.
	Grace time.Duration
	// LostDrivers bounds how many drivers the run may lose in a row.
	LostDrivers int
	// Budgeted says that the runs of the conversation have a budget in common. Budget is what the driver counts of it.
	Budgeted bool
	Budget   Budget
}

// Budget is the part of a conversation's budget that a driver counts.
type Budget struct {
	Scopes int
	Active time.Duration
}

// timeLeft is how long the run may still be driven; false for without end.
func (l *Limits) timeLeft(v *fold.Conversation, run string) (left time.Duration, bounded bool) {
	active := time.Duration(0)
	if v.Open() && v.Run.ID == run {
		active = v.Run.Active
	}
	if l.Active > 0 {
		left, bounded = l.Active-active, true
	}
	if all := l.Budget.Active; all > 0 {
		if rest := all - v.Spent.Active - active; !bounded || rest < left {
			left, bounded = rest, true
		}
	}
	return left, bounded
}

// tooMany says why the scope may not open so many more agents; nil where it may. The Code is
// the stop reason, by which the fold knows that the scope is to end.
func (d *driver) tooMany(s *fold.Scope, more int) *event.Error {
	l := &d.cfg.agent.Limits
	had := len(d.view.Run.Scopes)
	all := l.Budget.Scopes
	switch {
	case l.Depth > 0 && s.Depth+1 > l.Depth:
		return &event.Error{
			Kind: event.ErrLimit, Code: string(event.StopLimitDepth),
			Message: "agents may call agents " + strconv.Itoa(l.Depth) + " levels deep, and this would be one more.",
		}
	case l.Scopes > 0 && had+more > l.Scopes:
		return &event.Error{
			Kind: event.ErrLimit, Code: string(event.StopLimitScopes),
			Message: "the run has opened as many agents as it may (" + strconv.Itoa(l.Scopes) + ").",
		}
	case all > 0 && d.view.Spent.Scopes+had-1+more > all:
		return &event.Error{
			Kind: event.ErrLimit, Code: string(event.StopLimitScopes),
			Message: "the conversation has opened as many agents as it may (" + strconv.Itoa(all) + ").",
		}
	}
	return nil
}

// poisoned is why a run is not driven that has lost as many drivers as it may; nil where it has not.
func (l *Limits) poisoned(row *journal.Run) *event.Error {
	if l.LostDrivers <= 0 || row.Lost < l.LostDrivers {
		return nil
	}
	return &event.Error{
		Op: "run", Kind: event.ErrPoisoned,
		Message: "the processes that drove the run died " + strconv.Itoa(row.Lost) + " times, and it did not get on",
		Hint:    "what it called last may be the cause; do not repeat the request as it is",
		Err:     errors.New("drivers lost: " + strconv.Itoa(row.Lost)),
	}
}

// killsReaders reports whether giving the run up has ended the process as often as driving it had: then reading its
// log is what does.
func (l *Limits) killsReaders(row *journal.Run) bool {
	return l.LostDrivers > 0 && row.Lost/2 >= l.LostDrivers
}
