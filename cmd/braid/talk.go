package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// talk is a conversation with an agent that is shown to a person, who answers
// what its tools ask.
type talk struct {
	agent *braid.Agent
	conv  *braid.Conversation
	show  printer
	ask   *asker
	ints  *interrupts
	// timeout bounds each stretch that the agent works for, not the time that
	// a person takes to answer.
	timeout time.Duration
	// kept says that the conversation outlives the program.
	kept bool
}

// turn runs one input to its end. The error is that of the run, or of the
// output; the summary has been shown in either case.
func (t *talk) turn(ctx context.Context, input any, opts ...braid.RunOption) error {
	ctx, release := t.ints.guard(ctx)
	defer release()
	opts = append(opts, braid.In(t.conv), braid.For(tenant, ""))
	return t.through(ctx, func(ctx context.Context, res *braid.Result) iter.Seq2[event.Event, error] {
		return t.agent.Stream(ctx, input, append(opts, braid.Into(res))...)
	})
}

// stream is one call of the library that drives a run, and fills its result.
type stream func(context.Context, *braid.Result) iter.Seq2[event.Event, error]

// goOn goes on with the conversation's open run.
func (t *talk) goOn(ctx context.Context, res *braid.Result) iter.Seq2[event.Event, error] {
	return t.agent.ResumeStream(ctx, t.conv, braid.Into(res))
}

// through drives a run from its first stretch to its end.
func (t *talk) through(ctx context.Context, first stream) error {
	res, err := t.stretch(ctx, first)
	for err == nil && res.Stop == event.StopQuestion && len(res.Questions) > 0 {
		if err = t.answer(ctx, res.Questions); err != nil {
			break
		}
		res, err = t.stretch(ctx, t.goOn)
	}
	if out, failed := errors.AsType[outputFailed](err); failed {
		return out.err
	}
	if t.ints.interrupted() && kindOf(err) == event.ErrCancelled {
		err = errInterrupted
	}
	if showErr := t.show.end(t.summary(res, err)); showErr != nil {
		return outputError(showErr)
	}
	return err
}

// outputFailed is an error of the output: there is nobody left to tell.
type outputFailed struct{ err error }

func (o outputFailed) Error() string { return o.err.Error() }

// stretch shows one call of the library to its end. A reader that goes away
// cancels it: breaking out of the stream does.
func (t *talk) stretch(ctx context.Context, stream stream) (*braid.Result, error) {
	if t.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.timeout)
		defer cancel()
	}
	res := new(braid.Result)
	for e, err := range stream(ctx, res) {
		if err != nil {
			return res, err
		}
		if err := t.show.event(&e); err != nil {
			return res, outputFailed{outputError(err)}
		}
	}
	return res, nil
}

// answer asks the person every open question. Where nobody answers, the run is cancelled.
func (t *talk) answer(ctx context.Context, questions []braid.Question) error {
	var held []said
	for i := range questions {
		q := &questions[i].Asked
		value, covered := coveredBy(held, q)
		var err error
		if !covered {
			if value, err = t.ask.ask(ctx, q); err == nil {
				held = lasting(held, q, value)
			}
		}
		if err == nil {
			err = t.conv.Answer(ctx, q.Token, value)
		}
		if err == nil {
			continue
		}
		// The run must not stay open: the next turn would wait behind it.
		if cancelErr := t.abandon(ctx); cancelErr != nil {
			err = errors.Join(err, cancelErr)
		}
		switch {
		case errors.Is(err, io.EOF):
			return errNobody(q)
		case errors.Is(err, errAborted):
			return errInterrupted
		}
		return err
	}
	return nil
}

// abandon cancels the run that waits, and drives it to its end.
func (t *talk) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := t.conv.Cancel(ctx); err != nil {
		return err
	}
	for e, err := range t.agent.ResumeStream(ctx, t.conv) {
		if err != nil {
			if kindOf(err) == event.ErrCancelled {
				return nil
			}
			return err
		}
		if err := t.show.event(&e); err != nil {
			return outputFailed{outputError(err)}
		}
	}
	return nil
}

// summary puts a turn's result together.
func (t *talk) summary(res *braid.Result, err error) *summary {
	info := t.agent.Model().Info()
	s := &summary{
		Kind: "result", Conversation: t.conv.ID(), Kept: t.kept, Model: info.Name, Simulated: info.Simulated, Replay: info.Replay,
		Exit: kindOf(err).Info().Exit,
	}
	if err == nil {
		s.Exit = 0
	} else if !errors.As(err, &s.Error) {
		s.Error = &event.Error{Kind: kindOf(err), Message: kindOf(err).Info().Meaning}
	}
	if res == nil {
		return s
	}
	s.Run, s.Stop, s.Why, s.Text, s.Usage, s.Cost = res.Run, res.Stop, res.Why, res.Text(), res.Usage, res.CostNanoUSD
	m := res.Metrics
	s.Cycles, s.ModelCalls, s.ToolCalls, s.ToolErrors = m.Cycles, m.ModelCalls, m.ToolCalls, m.ToolErrors
	s.Duration, s.ModelTime, s.FirstByte = m.Duration, m.ModelTime, m.TimeToFirstByte
	return s
}
