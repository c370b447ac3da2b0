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

	mu sync.Mutex
	// round is nil for a call without questions and hooks, which most calls are.
	round *askRound
	// over is why nothing can be asked any more.
	over error
}

// askRound is what was asked, and what is asked now.
type askRound struct {
	// answered are the questions of earlier attempts, all with their answers, that are told apart by their order.
	answered []*fold.Ask
	// hook is the place of the hook that asks, from 1; zero for the tool. mine counts its questions, and all those of
	// everybody.
	hook, mine, all int
	asked           []event.Asked
	// clash is why the questions of hooks cannot be asked.
	clash *event.Error
}

// now returns the round, and makes it at the first use. The caller holds mu, or nobody else has the asker yet.
func (a *asker) now() *askRound {
	if a.round == nil {
		a.round = &askRound{}
	}
	return a.round
}

// remember adds questions of earlier attempts, with their answers.
func (a *asker) remember(answered ...*fold.Ask) {
	if len(answered) > 0 {
		r := a.now()
		r.answered = append(r.answered, answered...)
	}
}

// pending returns the questions that are to be asked. Nothing asks any more.
func (a *asker) pending() []event.Asked {
	if a.round == nil {
		return nil
	}
	return a.round.asked
}

// Ask implements [tool.Asker].
func (a *asker) Ask(q *event.Asked) (answer json.RawMessage, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != nil {
		return nil, a.over
	}
	r := a.now()
	known := r.known()
	r.mine, r.all = r.mine+1, r.all+1
	if known != nil {
		// Answered: nothing runs again before all its questions are.
		return known.Value, nil
	}
	if clash := r.free(q.Name); clash != nil {
		if r.hook > 0 {
			r.clash, r.asked = clash, nil
		}
		return nil, clash
	}
	a.add(q)
	return nil, tool.ErrWaits
}

// known returns the answered question that is asked now; nil for none. Each hook counts its own questions, because the
// others ask in the same round. A log from before hooks had places has one order for all.
func (r *askRound) known() *fold.Ask {
	if !slices.ContainsFunc(r.answered, func(q *fold.Ask) bool { return q.Hook > 0 }) {
		if r.all < len(r.answered) {
			return r.answered[r.all]
		}
		return nil
	}
	n := r.mine
	for _, q := range r.answered {
		if q.Hook != r.hook {
			continue
		}
		if n == 0 {
			return q
		}
		n--
	}
	return nil
}

// AskedBefore returns the names of the answered questions that are asked next: see [tool.AskedBefore].
func (a *asker) AskedBefore() (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.round == nil {
		return nil
	}
	r := *a.round
	for q := r.known(); q != nil; q = r.known() {
		names = append(names, q.Name)
		r.mine, r.all = r.mine+1, r.all+1
	}
	return names
}

// free returns an error if another question has the name.
func (r *askRound) free(name string) *event.Error {
	if name == "" || !slices.ContainsFunc(r.asked, func(q event.Asked) bool { return q.Name == name }) &&
		!slices.ContainsFunc(r.answered, func(q *fold.Ask) bool { return q.Name == name }) {
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
	defer a.mu.Unlock()
	if i > 0 || a.round != nil {
		r := a.now()
		r.hook, r.mine = i, 0
	}
}

// Clash implements [hooks.Asker].
func (a *asker) Clash() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.round == nil || a.round.clash == nil {
		return nil
	}
	return a.round.clash
}

// AnsweredBy implements [tool.Asker].
func (a *asker) AnsweredBy(index int) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.round == nil || index < 0 || index >= len(a.round.answered) {
		return ""
	}
	return a.round.answered[index].By
}

// add puts a question among those that are to be asked.
func (a *asker) add(q *event.Asked) {
	r := a.now()
	q.Index, q.Hook = len(r.answered)+len(r.asked), r.hook
	if a.of != nil {
		q.Index += len(a.of.permits())
		q.Call, q.Tool, q.Args = a.of.ID, a.of.Name, a.of.Args
	}
	q.Token = rand.Text()
	r.asked = append(r.asked, *q)
}

// Waits reports whether something was asked that is not answered.
func (a *asker) Waits() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending()) > 0
}

// end says why nothing can be asked from now on.
func (a *asker) end(why error) {
	a.mu.Lock()
	a.over = why
	a.mu.Unlock()
}
