package tool

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/argtype"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/internal/userdata"
)

// ErrWaits is the error of [Ask] until a user has answered. It ends the attempt of a tool or hook that asked.
var ErrWaits = errors.New("this waits for a person's answer")

// Ask asks a person, inside a tool, or in a hook before a tool, before a batch of tools
// or before a model call. The first time it gives an error that the tool or hook must
// return; the run then waits, with no worker and no connection, until
// somebody answers (see [github.com/braidrun/braid.Conversation.Answer]), be it days later in another
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
		return zero, NoCall("Ask")
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
		} else if p, err := argtype.Of(t); err == nil {
			q.Schema = p.Schema
		}
	}
	value, err := a.Ask(&q)
	if err != nil {
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

// AskName names the question for programs. Two questions of one call, or of the hooks at one point, with the same name are
// an error. Names that begin with "braid." are taken.
func AskName(name string) AskOption {
	return func(q *event.Asked) error {
		if strings.HasPrefix(name, userdata.Reserved) {
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
			return userdata.Unfit("question", err)
		}
		q.Payload = raw
		return nil
	}
}

// AnsweredBy returns who answered question number index of the call, or of the hook's
// step, counted from 0 in the order of asking; "" if nobody has, or nobody said who.
func AnsweredBy(ctx context.Context, index int) string {
	if a := askerOf(ctx); a != nil {
		return a.AnsweredBy(index)
	}
	return ""
}

// AskedBefore returns the names of the questions of earlier attempts of the call that the next calls of [Ask] answer, in their
// order. It is for a tool that does not ask the same each time: a question whose name is not the expected one is passed over
// with Ask. It returns nil in a context without a running call, and in an attempt that is not told.
func AskedBefore(ctx context.Context) []string {
	if a, ok := askerOf(ctx).(interface{ AskedBefore() []string }); ok {
		return a.AskedBefore()
	}
	return nil
}

// WithAsker returns a context in which [Ask] asks a. It is for a loop whose hooks may ask where there is no tool call.
func WithAsker(ctx context.Context, a Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// askerOf returns the innermost one; nil if there is none.
func askerOf(ctx context.Context) Asker {
	a, _ := ctx.Value(askerKey{}).(Asker)
	return a
}

// ApprovalSchema returns the schema of a question for an [event.Approval], which is what Ask writes for one: true, false,
// or an object. It is read only.
func ApprovalSchema() json.RawMessage { return approvalSchema }

// approvalSchema is what a question for a yes or no takes as its answer.
var approvalSchema = json.RawMessage(`{"anyOf":[{"type":"boolean"},{"type":"object","properties":{` +
	`"approved":{"type":"boolean","description":"whether the call may go on"},` +
	`"reason":{"type":"string","description":"why not"},` +
	`"args":{"type":"object","description":"arguments to call it with instead"},` +
	`"stop":{"type":"boolean","description":"end the run beside saying no"},` +
	`"payload":{"description":"anything for the tool"}},` +
	`"required":["approved"],"additionalProperties":false}]}`)
