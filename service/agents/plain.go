package agents

import (
	"context"
	"errors"
	"iter"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
)

// plainModel is a model whose errors do not name the server's environment, because tenants see
// them.
type plainModel struct{ braid.Model }

// variableName matches names of variables, such as OPENAI_API_KEY, and the setting base= of a
// reference.
var variableName = lazyre.New(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\bbase=`)

// Stream implements [braid.Model].
func (m plainModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for chunk, err := range m.Model.Stream(ctx, req) {
			if !yield(chunk, plainError(err)) {
				return
			}
		}
	}
}

// Unwrap returns the wrapped model.
func (m plainModel) Unwrap() braid.Model { return m.Model }

// Cancellable implements [model.Cancellable] if the wrapped model does.
func (m plainModel) Cancellable() braid.Model {
	if model.IsCancellable(m.Model) {
		return m
	}
	return nil
}

// plainError removes the names of variables from an error and keeps the original as its cause.
//
// It also turns the provider's refusal of a request into an error of the provider: the caller's own
// request was accepted, so it was not invalid. The error of a request that was not sent has no
// cause and stays unchanged.
func plainError(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	if model.NoAnswer(e) { // its message contains the server's address
		return &event.Error{
			Kind: e.Kind, Code: e.Code, RetryAfter: e.RetryAfter, Message: "the model's server cannot be reached",
			Hint: "try again later, or ask the operator of this service", Err: err,
		}
	}
	refused := e.Kind == event.ErrInvalid && e.Err != nil
	kind := e.Kind
	if refused {
		kind = event.ErrModel
	}
	if e.Code == model.CodeForeign { // its message contains the server's address and parts of its response
		return &event.Error{
			Kind: kind, Code: e.Code, Message: "what answers in the place of the model's server does not speak its protocol",
			Hint: "ask the operator of this service", Err: err,
		}
	}
	if !refused && !variableName.MatchString(e.Hint) && !variableName.MatchString(e.Message) && !variableName.MatchString(e.Op) {
		return err
	}
	told := *e
	told.Err = err
	told.Op, told.Kind = "", kind
	told.Message = variableName.ReplaceAllString(e.Message, "a setting of the server")
	if variableName.MatchString(e.Hint) {
		told.Hint = "ask the operator of this service"
	}
	return &told
}
