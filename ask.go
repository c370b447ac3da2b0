package braid

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
)

// What [Ask] gives where it has no answer: errAsked ends the attempt of a tool or hook that
// asked, the others tell it that it is too late.
var (
	errAsked      = errors.New("this waits for a person's answer")
	errAskedLate  = errors.New("a hook after a tool cannot ask: the tool would run again")
	errAskedAfter = outsideTool("Ask")
)

// Ask asks a person, inside a tool, or in a hook before a tool, before a batch of tools
// or before a model call. The first time it gives an error that the tool or hook must
// return; the run then waits, with no worker and no connection, until
// somebody answers (see [Conversation.Answer]), be it days later in another
// process. Then the tool or hook runs again from its start and Ask gives the answer.
//
// So ask before the effect: what stands before Ask happens again. Several
// questions of one call are told apart by their order, which must be the same
// each time.
//
// The answer was held against the schema of T when it was given. Null is an answer to
// every question: it gives T's zero value, which a pointer tells from other answers. Asking for a
// bool or an [event.Approval] asks for an approval; the latter has the reason of a no, too.
func Ask[T any](ctx context.Context, prompt string, opts ...AskOption) (T, error) {
	var zero T
	a := askerOf(ctx)
	if a == nil {
		return zero, outsideTool("Ask")
	}
	q := event.Asked{Ask: event.AskInput, Prompt: prompt}
	t := reflect.TypeFor[T]()
	if t == approvalType || t.Kind() == reflect.Bool {
		q.Ask = event.AskApproval
	}
	for _, o := range opts {
		if err := o(&q); err != nil {
			return zero, err
		}
	}
	if q.Schema == nil {
		if t == approvalType {
			q.Schema = approvalSchema
		} else if p, err := planOf(t); err == nil {
			q.Schema = p.schema
		}
	}
	value, known, err := a.ask(&q)
	if err != nil || !known {
		return zero, err
	}
	if q.Ask == event.AskApproval && t != approvalType {
		value = plainly(value)
	}
	if string(value) == "null" {
		return zero, nil
	}
	var answer T
	if err := json.Unmarshal(value, &answer); err != nil {
		return zero, &event.Error{
			Op: "answer", Kind: event.ErrInvalid, Message: "the answer is not of the type that was asked for",
			Hint: "ask again, saying what is wanted", Err: err,
		}
	}
	return answer, nil
}

var approvalType = reflect.TypeFor[event.Approval]()

// plainly makes an approval that says more than yes or no a plain one, for who asked for
// a bool. Anything else stays as it is.
func plainly(value json.RawMessage) json.RawMessage {
	var a event.Approval
	if len(value) == 0 || value[0] != '{' || json.Unmarshal(value, &a) != nil {
		return value
	}
	return json.RawMessage(strconv.FormatBool(a.Approved))
}

// AskOption sets more of a question.
type AskOption func(*event.Asked) error

// AskFor says what kind of answer is wanted. The default is an approval for a
// bool and an input otherwise.
func AskFor(kind event.QuestionKind) AskOption {
	return func(q *event.Asked) error { q.Ask = kind; return nil }
}

// AskName names the question for programs. Names that begin with "braid." are taken.
func AskName(name string) AskOption {
	return func(q *event.Asked) error {
		if strings.HasPrefix(name, fold.Reserved) {
			return &event.Error{
				Op: "question", Kind: event.ErrInvalid, Message: "names of questions that begin with \"braid.\" are taken",
				Hint: "call it something else",
			}
		}
		q.Name = name
		return nil
	}
}

// AskPayload adds JSON for the program that shows the question.
func AskPayload(v any) AskOption {
	return func(q *event.Asked) error {
		raw, err := json.Marshal(v)
		if err != nil {
			return &event.Error{
				Op: "question", Kind: event.ErrInvalid, Message: "the payload cannot be written as JSON",
				Hint: "use types that encoding/json knows", Err: err,
			}
		}
		if err := strictjson.Check(raw, strictjson.DefaultDepth); err != nil {
			return unfitJSON("question", err)
		}
		q.Payload = raw
		return nil
	}
}

// AnsweredBy tells who answered question number index of the call, or of the hook's
// step, counted from 0 in the order of asking; "" where nobody has, or said who.
func AnsweredBy(ctx context.Context, index int) string {
	a := askerOf(ctx)
	if a == nil || index < 0 || index >= len(a.answered) {
		return ""
	}
	return a.answered[index].By
}

// asker is what [Ask] asks: a call, or a hook that stands before something.
type asker struct {
	// of is the call for which is asked; nil for a hook without one.
	of *Call
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

type askerKey struct{}

// askerOf finds the innermost one; nil where nobody can be asked.
func askerOf(ctx context.Context) *asker {
	a, _ := ctx.Value(askerKey{}).(*asker)
	return a
}

// ask looks for the answer to the next question and asks it if there is none.
func (a *asker) ask(q *event.Asked) (value json.RawMessage, known bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != nil {
		return nil, false, a.over
	}
	i := a.next
	a.next++
	if i < len(a.answered) {
		// Answered: nothing runs again before all its questions are.
		return a.answered[i].Value, true, nil
	}
	a.add(q, i)
	return nil, false, errAsked
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
