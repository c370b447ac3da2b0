package drive

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/tool"
)

// What [Ask] returns where it is too late to ask.
var (
	errAskedLate  = errors.New("a hook after a tool cannot ask: the tool would run again")
	errAskedAfter = tool.NoCall("Ask")
)

// asker takes the questions of a call, or of hooks before something that is no call.
type asker struct {
	// of is the call for which is asked; nil for a hook without one.
	of *runningCall
	// answered are the questions of earlier attempts, all with their answers; others
	// counts those that are not told apart by their order.
	answered []*fold.Ask
	others   int

	mu    sync.Mutex
	next  int
	asked []event.Asked
	// over is why nothing can be asked any more.
	over error
}

// Ask implements [tool.Asker].
func (a *asker) Ask(q *event.Asked) (answer json.RawMessage, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != nil {
		return nil, a.over
	}
	i := a.next
	a.next++
	if i < len(a.answered) {
		// Answered: nothing runs again before all its questions are.
		return a.answered[i].Value, nil
	}
	a.add(q, i)
	return nil, tool.ErrWaits
}

// AnsweredBy implements [tool.Asker].
func (a *asker) AnsweredBy(index int) string {
	if index < 0 || index >= len(a.answered) {
		return ""
	}
	return a.answered[index].By
}

// add puts a question among those that are to be asked.
func (a *asker) add(q *event.Asked, place int) {
	q.Index = place + a.others
	if a.of != nil {
		q.Call, q.Tool, q.Args = a.of.ID, a.of.Name, a.of.Args
	}
	q.Token = rand.Text()
	a.asked = append(a.asked, *q)
}

// waits reports whether something was asked that is not answered.
func (a *asker) waits() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked) > 0
}

// end says why nothing can be asked from now on.
func (a *asker) end(why error) {
	a.mu.Lock()
	a.over = why
	a.mu.Unlock()
}
