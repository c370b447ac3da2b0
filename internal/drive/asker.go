package drive

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
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
	// answered are the questions of earlier attempts, all with their answers, that are told apart by their order.
	answered []*fold.Ask

	mu sync.Mutex
	// hook is the place of the hook that asks, from 1; zero for the tool. mine counts its questions, and all those of
	// everybody. They are small for toolWork.
	hook, mine, all int32
	asked           []event.Asked
	// clash is why the questions of hooks cannot be asked.
	clash *event.Error
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
	known := a.known()
	a.mine, a.all = a.mine+1, a.all+1
	if known != nil {
		// Answered: nothing runs again before all its questions are.
		return known.Value, nil
	}
	if clash := a.free(q.Name); clash != nil {
		if a.hook > 0 {
			a.clash, a.asked = clash, nil
		}
		return nil, clash
	}
	a.add(q)
	return nil, tool.ErrWaits
}

// known returns the answered question that is asked now; nil for none. Each hook counts its own questions, because the
// others ask in the same round. A log from before hooks had places has one order for all.
func (a *asker) known() *fold.Ask {
	if !slices.ContainsFunc(a.answered, func(q *fold.Ask) bool { return q.Hook > 0 }) {
		if int(a.all) < len(a.answered) {
			return a.answered[a.all]
		}
		return nil
	}
	n := a.mine
	for _, q := range a.answered {
		if q.Hook != int(a.hook) {
			continue
		}
		if n == 0 {
			return q
		}
		n--
	}
	return nil
}

// free returns an error if another question has the name.
func (a *asker) free(name string) *event.Error {
	if name == "" || !slices.ContainsFunc(a.asked, func(q event.Asked) bool { return q.Name == name }) &&
		!slices.ContainsFunc(a.answered, func(q *fold.Ask) bool { return q.Name == name }) {
		return nil
	}
	return &event.Error{
		Op: "question", Kind: event.ErrInvalid, Message: "two questions have the name " + strconv.Quote(name),
		Hint: "give each question of a call its own name",
	}
}

// Turn implements [hooks.Asker].
func (a *asker) Turn(i int) {
	a.mu.Lock()
	a.hook, a.mine = int32(i), 0 // an agent has few hooks
	a.mu.Unlock()
}

// Clash implements [hooks.Asker].
func (a *asker) Clash() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clash == nil {
		return nil
	}
	return a.clash
}

// AnsweredBy implements [tool.Asker].
func (a *asker) AnsweredBy(index int) string {
	if index < 0 || index >= len(a.answered) {
		return ""
	}
	return a.answered[index].By
}

// add puts a question among those that are to be asked.
func (a *asker) add(q *event.Asked) {
	q.Index, q.Hook = len(a.answered)+len(a.asked), int(a.hook)
	if a.of != nil {
		q.Index += len(a.of.permits())
		q.Call, q.Tool, q.Args = a.of.ID, a.of.Name, a.of.Args
	}
	q.Token = rand.Text()
	a.asked = append(a.asked, *q)
}

// Waits reports whether something was asked that is not answered.
func (a *asker) Waits() bool {
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
