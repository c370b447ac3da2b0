package braid

import (
	"context"
	"iter"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
)

// Run answers input and gives the result. It is [Agent.Stream] read to its end.
//
// input is a string, a block or blocks of package event, a message or messages
// (a history that ends with a user's), or an [Answer] or answers to open
// questions. The error is nil where the run completed or waits for an answer
// (Result.Stop tells); for a limit, a cut answer, a cancelled or timed-out run it
// is an *[event.Error] of that kind, beside a result as far as it got.
func (a *Agent) Run(ctx context.Context, input any, opts ...RunOption) (*Result, error) {
	return a.collect(ctx, input, opts)
}

// Stream answers input and yields every event as it happens. It is lossless: who drives the
// run calls the loop's body and waits for it. A durable event is in the
// log before it is yielded. Pieces of an answer may come on another goroutine than the
// loop's, the one that calls the model, while the loop's waits: a model that does not stop
// when it is cancelled must not hold the loop up. A panic in the body, and
// [runtime.Goexit], go on in the loop's goroutine. Breaking out cancels the run, waits for what it
// started and frees everything; a run that already waits for an answer goes on
// waiting. An error is yielded last, with an empty event.
func (a *Agent) Stream(ctx context.Context, input any, opts ...RunOption) iter.Seq2[event.Event, error] {
	return a.stream(ctx, input, opts)
}

// Resume goes on with a conversation's open run: one that waits and has been
// answered, or one whose driver died. Finished steps are not repeated, and a run
// that waits for tools goes straight to them, without a model call. Where the newest run
// failed, a new run continues it at the step that failed: it sees the failed run's messages and results,
// repeats no finished step, and has limits of its own. A run that was accepted ([Agent.Send]) and has not begun is
// driven. Where there is no open run but the last word was the user's, it is answered.
func (a *Agent) Resume(ctx context.Context, conv *Conversation, opts ...RunOption) (*Result, error) {
	return a.collect(ctx, resume{}, append(slices.Clone(opts), In(conv)))
}

// ResumeStream is [Agent.Resume] as a stream.
func (a *Agent) ResumeStream(ctx context.Context, conv *Conversation, opts ...RunOption) iter.Seq2[event.Event, error] {
	return a.stream(ctx, resume{}, append(slices.Clone(opts), In(conv)))
}

// resume is the input that is none.
type resume struct{}

// Answer is an answer to an open question, as input of a run.
type Answer struct {
	Token string
	// Value is written as JSON; nil is an answer too.
	Value any
	// By says who answered.
	By string
}

func (a *Agent) collect(ctx context.Context, input any, opts []RunOption) (*Result, error) {
	r := &Result{}
	o := options(opts)
	err := a.drive(ctx, input, &o, r, func(event.Event) bool { return true })
	if o.into != nil {
		*o.into = *r
	}
	return r, err
}

func (a *Agent) stream(ctx context.Context, input any, opts []RunOption) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		o := options(opts)
		left := false
		err := a.drive(ctx, input, &o, o.into, func(e event.Event) bool {
			left = !yield(e, nil)
			return !left
		})
		if err != nil && !left {
			yield(event.Event{}, err)
		}
	}
}

// drive is the way of a run from its input to its last event: check, admit,
// acquire, drive, give back.
func (a *Agent) drive(ctx context.Context, input any, o *runOptions, r *Result, sink func(event.Event) bool) error {
	team, err := a.team()
	if err != nil {
		return err
	}
	messages, answers, err := inputOf(input)
	if err != nil {
		return err
	}
	if len(o.state) > 0 {
		if o.Given, err = givenState(o.state); err != nil {
			return err
		}
	}
	if o.conv == nil {
		if messages == nil {
			return &event.Error{
				Op: "run", Kind: event.ErrInvalid, Message: "there is no conversation to go on with",
				Hint: "pass it with braid.In",
			}
		}
		o.conv, o.Private = NewConversation(), o.into == nil
	}
	conv := o.conv
	o.Log = &conv.log
	if r != nil {
		r.Conversation = conv
	}
	for _, answer := range answers {
		if err := conv.answer(ctx, answer); err != nil {
			return err
		}
	}
	if messages != nil && o.policy != "" && o.policy != Reject {
		sent, err := a.send(ctx, o, conv, messages)
		if err != nil {
			return err
		}
		o.Run, o.Waits, messages = sent.Run, true, nil
	}
	if r == nil {
		return a.frozen.Run(ctx, team, messages, &o.Request, nil, sink)
	}
	outcome := &hook.Outcome{}
	err = a.frozen.Run(ctx, team, messages, &o.Request, outcome, sink)
	r.set(outcome)
	return err
}
