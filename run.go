package braid

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/answering"
	"github.com/braidrun/braid/internal/drive"
)

// Run answers input and returns the result. It is [Agent.Stream] read to its end.
//
// input is the text of the user's message. [Attach] adds images and documents to it, [History] puts other messages before
// it. It may be empty beside them, and must be empty beside [Answers].
//
// The error is nil if the run completed or waits for an answer; Result.Stop says which. If a limit was reached, an answer
// was cut, or the run was cancelled or timed out, the error is an *[event.Error] of that kind, and the result holds what
// was done until then.
func (a *Agent) Run(ctx context.Context, input string, opts ...RunOption) (*Result, error) {
	return a.collect(ctx, says(input), opts)
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
func (a *Agent) Stream(ctx context.Context, input string, opts ...RunOption) iter.Seq2[event.Event, error] {
	return a.stream(ctx, says(input), opts)
}

// Resume continues a conversation's open run: one whose questions were answered, or one whose driver died. It never
// repeats a finished step. A run that waits for tools runs them without another model call. [Answers] answers its
// questions first.
//
// If there is no open run, Resume looks for work in this order. It drives a run that was accepted ([Agent.Send]) and
// has not begun. If the newest run failed, a new run continues it at the step that failed, with its messages and
// results and with limits of its own. If the last message is the user's, a new run answers it.
func (a *Agent) Resume(ctx context.Context, conv *Conversation, opts ...RunOption) (*Result, error) {
	return a.collect(ctx, goesOn, append(slices.Clone(opts), In(conv)))
}

// ResumeStream is [Agent.Resume] as a stream.
func (a *Agent) ResumeStream(ctx context.Context, conv *Conversation, opts ...RunOption) iter.Seq2[event.Event, error] {
	return a.stream(ctx, goesOn, append(slices.Clone(opts), In(conv)))
}

// inputOf makes the messages of a run's input. None and no error means to go on with what is there.
type inputOf func(o *runOptions) ([]event.Message, error)

// says is the input of a text, and of what the options have beside it.
func says(text string) inputOf {
	return func(o *runOptions) ([]event.Message, error) { return o.input(text) }
}

// goesOn is the input that is none.
func goesOn(o *runOptions) ([]event.Message, error) {
	if o.beside.any() {
		return nil, badInput("a run that goes on takes none")
	}
	return nil, nil
}

// Answer is the answer to an open question; see [Answers].
type Answer struct {
	Token string
	// Value is written as JSON; nil is an answer too.
	Value any
	// By says who answered.
	By string
}

func (a *Agent) collect(ctx context.Context, input inputOf, opts []RunOption) (*Result, error) {
	r := &Result{}
	o := options(opts)
	err := a.drive(ctx, input, o, r, func(event.Event) bool { return true })
	if r.Status == "" && errors.Is(err, event.ErrCancelled) {
		r.Status, r.Stop = event.RunCancelled, event.StopCancelled // it had not begun
	}
	if o.into != nil {
		*o.into = *r
	}
	return r, err
}

func (a *Agent) stream(ctx context.Context, input inputOf, opts []RunOption) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		o := options(opts)
		left := false
		err := a.drive(ctx, input, o, o.into, func(e event.Event) bool {
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
func (a *Agent) drive(ctx context.Context, input inputOf, o *runOptions, r *Result, sink func(event.Event) bool) error {
	team, err := a.team()
	if err != nil {
		return err
	}
	messages, err := a.takeInput(ctx, input, o, r)
	if err != nil {
		return err
	}
	if o.asks() {
		return a.driveAnswering(ctx, team, messages, o, r, sink)
	}
	if r == nil {
		return a.frozen.Run(ctx, team, messages, &o.Request, nil, sink)
	}
	outcome := &hook.Outcome{}
	err = a.frozen.Run(ctx, team, messages, &o.Request, outcome, sink)
	r.set(outcome)
	return err
}

// takeInput checks a run's input, leaves its answers and messages, and returns what is left of it. It is not part of drive,
// whose stack lasts as long as the run.
//
//go:noinline
func (a *Agent) takeInput(ctx context.Context, input inputOf, o *runOptions, r *Result) ([]event.Message, error) {
	messages, err := input(o)
	if err == nil {
		err = a.prepare(o)
	}
	if err != nil {
		return nil, err
	}
	if len(o.state) > 0 {
		if o.Given, err = givenState(o.state); err != nil {
			return nil, err
		}
	}
	if o.conv == nil {
		if messages == nil {
			return nil, &event.Error{
				Op: "run", Kind: event.ErrInvalid, Message: "there is no conversation to go on with",
				Hint: "pass it with braid.In",
			}
		}
		o.conv, o.Private = NewConversation(), o.into == nil && !o.asks()
	}
	conv := o.conv
	o.Log = &conv.log
	if r != nil {
		r.Conversation = conv
	}
	for _, answer := range o.beside.answers {
		if err := conv.answer(ctx, answer); err != nil {
			return nil, err
		}
	}
	if messages != nil && o.beside.policy != "" && o.beside.policy != Reject {
		sent, err := a.send(ctx, o, conv, messages)
		if err != nil {
			return nil, err
		}
		o.Run, o.Waits, messages = sent.Run, true, nil
	}
	return messages, nil
}

// driveAnswering drives a run and has a function answer its questions. Each time that the run waits, it goes on once
// they are answered.
func (a *Agent) driveAnswering(
	ctx context.Context, team map[string]*drive.Agent, messages []event.Message, o *runOptions, r *Result, sink func(event.Event) bool,
) error {
	w := answering.New(ctx, o.own.answer, o.conv.Answer, a.bounded.Grace)
	defer w.Close()
	left := false
	watched := func(e event.Event) bool {
		if b, ok := e.Body.(*event.Asked); ok {
			w.Add(Question{Asked: *b, Step: e.Step, Scope: e.Scope})
		}
		left = !sink(e)
		return !left
	}
	for {
		var came hook.Outcome
		err := a.frozen.Run(ctx, team, messages, &o.Request, &came, watched)
		if r != nil {
			r.set(&came)
		}
		if err != nil || left || len(came.Questions) == 0 {
			return err
		}
		for _, q := range came.Questions {
			w.Add(q)
		}
		if posted, err := w.Wait(); posted == 0 {
			return answering.Unanswered(err)
		}
		o.Run, messages = came.Run, nil
	}
}
