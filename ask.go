package braid

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// errAsked ends the attempt of a tool that asked.
var errAsked = errors.New("the tool waits for an answer")

// Ask asks a person, inside a tool. The first time it gives an error that the
// tool must return; the run then waits, with no worker and no connection, until
// somebody answers (see [Conversation.Answer]), be it days later in another
// process. Then the tool runs again from its start and Ask gives the answer.
//
// So ask before the effect: what stands before Ask happens again. Several
// questions of one call are told apart by their order, which must be the same
// each time.
func Ask[T any](ctx context.Context, prompt string, opts ...AskOption) (T, error) {
	var zero T
	c := CallOf(ctx)
	if c == nil {
		return zero, outsideTool("Ask")
	}
	q := event.Asked{Ask: event.AskInput, Prompt: prompt, Call: c.ID, Tool: c.Name, Args: c.Args}
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Bool {
		q.Ask = event.AskApproval
	}
	for _, o := range opts {
		if err := o(&q); err != nil {
			return zero, err
		}
	}
	if q.Schema == nil {
		if p, err := planOf(reflect.TypeFor[T]()); err == nil {
			q.Schema = p.schema
		}
	}
	value, known, err := c.ask(&q)
	if err != nil || !known {
		return zero, err
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

// AskOption sets more of a question.
type AskOption func(*event.Asked) error

// AskFor says what kind of answer is wanted. The default is an approval for a
// bool and an input otherwise.
func AskFor(kind event.QuestionKind) AskOption {
	return func(q *event.Asked) error { q.Ask = kind; return nil }
}

// AskName names the question for programs.
func AskName(name string) AskOption {
	return func(q *event.Asked) error { q.Name = name; return nil }
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

// AnsweredBy tells who answered the call's question number index, counted from
// 0 in the order of asking; "" where nobody has, or said who.
func AnsweredBy(ctx context.Context, index int) string {
	c := CallOf(ctx)
	if c == nil || index < 0 || index >= len(c.asks) {
		return ""
	}
	return c.asks[index].by
}

// ask looks for the answer to the call's next question and asks it if there is none.
func (c *Call) ask(q *event.Asked) (value json.RawMessage, known bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false, outsideTool("Ask")
	}
	if c.over {
		return nil, false, errAskedLate
	}
	q.Index = c.nextAsk
	c.nextAsk++
	if q.Index < len(c.asks) {
		// Answered: a call runs again only once all its questions are.
		return c.asks[q.Index].value, true, nil
	}
	q.Token = rand.Text()
	c.asked = append(c.asked, *q)
	return nil, false, errAsked
}
