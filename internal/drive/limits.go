package drive

import (
	"errors"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/journal"
)

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
