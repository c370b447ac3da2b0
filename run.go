package braid

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
)

// Run answers input and returns the result. It is [Agent.Stream] read to its end.
//
// input is a string, a block or blocks of package event, a message or messages (a history, which Braid repairs
// for the model; see [Result].Repaired), or an [Answer] or answers to open questions. The error is nil if the run completed or waits for an answer;
// Result.Stop says which. If a limit was reached, an answer was cut, or the run was cancelled or timed out, the error
// is an *[event.Error] of that kind, and the result holds what was done until then.
func (a *Agent) Run(ctx context.Context, input any, opts ...RunOption) (*Result, error) {
	return a.collect(ctx, input, opts)
}

// Stream answers input and yields every event as it happens. It loses nothing: the driver calls the body of the loop
// and waits for it. A durable event is in the log before it is yielded. The body is never called by two goroutines at
// once, but it may run on another goroutine than the loop's, so that the loop ends on time although a tool or a model
// ignores its context. A panic or [runtime.Goexit] in the body continues in the loop's goroutine. So the body must not
// need one thread: a caller of [runtime.LockOSThread] passes events on to its goroutine, and does not use [iter.Pull],
// with which the Go runtime would end the process.
//
// Breaking out of the loop cancels the run, waits for what it started and releases everything. A run that already
// waits for an answer keeps waiting. An error is yielded last, with an empty event.
func (a *Agent) Stream(ctx context.Context, input any, opts ...RunOption) iter.Seq2[event.Event, error] {
	return a.stream(ctx, input, opts)
}

// Resume continues a conversation's open run: one whose questions were answered, or one whose driver died. It never
// repeats a finished step. A run that waits for tools runs them without another model call.
//
// If there is no open run, Resume looks for work in this order. It drives a run that was accepted ([Agent.Send]) and
// has not begun. If the newest run failed, a new run continues it at the step that failed, with its messages and
// results and with limits of its own. If the last message is the user's, a new run answers it.
func (a *Agent) Resume(ctx context.Context, conv *Conversation, opts ...RunOption) (*Result, error) {
	return a.collect(ctx, resume{}, append(slices.Clone(opts), In(conv)))
}

// ResumeStream is [Agent.Resume] as a stream.
func (a *Agent) ResumeStream(ctx context.Context, conv *Conversation, opts ...RunOption) iter.Seq2[event.Event, error] {
	return a.stream(ctx, resume{}, append(slices.Clone(opts), In(conv)))
}

// resume is the input that is none.
type resume struct{}

// Answer is the answer to an open question, as input of a run.
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
	if r.Status == "" && errors.Is(err, event.ErrCancelled) {
		r.Status, r.Stop = event.RunCancelled, event.StopCancelled // it had not begun
	}
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
