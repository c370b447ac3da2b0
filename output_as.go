package braid

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/output"
)

// OutputOf reads a run's structured output ([OutputType], [OutputSchema], [RunAs]) as a T. If there is no output, or
// it is no T, the error is an *[event.Error] of kind [event.ErrInvalid].
func OutputOf[T any](r *Result) (T, error) {
	var v T
	if r == nil || len(r.Output) == 0 {
		stop := event.StopReason("")
		if r != nil {
			stop = r.Stop
		}
		return v, &event.Error{
			Op: "output", Kind: event.ErrInvalid, Message: fmt.Sprintf("the run has no answer in the form of a schema (it ended with %q)", stop),
			Hint: "make the agent with OutputType, or run it with RunAs; look at the error that Run gave",
		}
	}
	if err := json.Unmarshal(r.Output, &v); err != nil {
		return v, &event.Error{
			Op: "output", Kind: event.ErrInvalid, Message: fmt.Sprintf("the answer is no %s", reflect.TypeFor[T]()),
			Hint: "read it as the type whose schema it was asked for in", Err: err,
		}
	}
	return v, nil
}

// RunAs is [Agent.Run] with output of type T. In this run the agent is held to T's schema, as [OutputType] says,
// whatever its own output type is. If the run waits or is cut off, the value is T's zero value; continue with
// [ResumeAs] and [Answers].
func RunAs[T any](ctx context.Context, a *Agent, input string, opts ...RunOption) (T, *Result, error) {
	return runAs[T](ctx, a, says(input), opts)
}

// ResumeAs is [Agent.Resume] with output of type T; see [RunAs].
func ResumeAs[T any](ctx context.Context, a *Agent, conv *Conversation, opts ...RunOption) (T, *Result, error) {
	return runAs[T](ctx, a, goesOn, append([]RunOption{In(conv)}, opts...))
}

func runAs[T any](ctx context.Context, a *Agent, input inputOf, opts []RunOption) (v T, r *Result, err error) {
	x, err := wanted[T](a, opts)
	if err != nil {
		return v, &Result{}, err
	}
	r, err = a.collect(ctx, input, append(slices.Clip(opts), wants(x)))
	if err == nil && r.Status == event.RunCompleted {
		v, err = OutputOf[T](r)
	}
	return v, r, err
}

// wants holds the root's answers to x for one run.
func wants(x *output.Form) RunOption { return runOption(func(o *runOptions) { o.Output = x }) }

// wanted makes T's schema what an agent's answers can be held to.
func wanted[T any](a *Agent, opts []RunOption) (*output.Form, error) {
	x, err := answerFor[T](a.set.Name)
	if err != nil {
		return nil, err
	}
	clash, err := clashing(x, a.set.Name, a.current())
	if err == nil && clash != "" {
		err = answerNamed(a.set.Name)
	}
	if o := options(opts); err == nil && (o.own == nil || o.own.model == nil) { // the run's own model is asked when the run is prepared
		err = a.canAnswer(x)
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// StreamAs is [RunAs] while the output arrives. It yields the T that is known so far, again and again, and at last the
// complete one, which matches the schema. Unknown fields have their zero value. A string may be incomplete, a number
// never is. A large output is not yielded for every piece.
//
// If a model begins its output again, because a call failed or the output could not be used, the values begin again
// too. A type that decodes its own JSON is not yielded before it can be decoded. An error is yielded last. [Into] has
// the result. If the run waits for a user, no complete value is yielded.
func StreamAs[T any](ctx context.Context, a *Agent, input string, opts ...RunOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		x, err := wanted[T](a, opts)
		if err != nil {
			yield(zero, err)
			return
		}
		p := output.NewPartial[T](x)
		for e, err := range a.stream(ctx, says(input), append(slices.Clip(opts), wants(x))) {
			if err != nil {
				yield(zero, err)
				return
			}
			v, ok, err := p.Take(&e)
			if err != nil || ok {
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}
