package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
)

// repl runs turns of a conversation, prints them, and asks the user the questions of tools.
type repl struct {
	agent *braid.Agent
	// model describes its model.
	model model.Info
	conv  *braid.Conversation
	show  printer.Printer
	ask   *asker
	ints  *term.Interrupts
	// timeout limits each stretch of work, without the time that the user takes to answer.
	timeout time.Duration
	// kept is set if the conversation outlives the program.
	kept bool
	// lost is the error of the output; stop cancels the run then.
	lost error
	stop context.CancelFunc
}

// with sets the agent, and adds a hook that prints its events.
func (t *repl) with(c *agentSetup) *repl {
	t.agent, t.model = c.agent.Use(braid.On(t.print)), c.info()
	t.model.Simulated = c.simulated().Simulated
	return t
}

// print is that hook. It cancels the run if the output failed.
func (t *repl) print(_ context.Context, e *hook.EventSent) error {
	if t.lost == nil {
		if t.lost = t.show.Event(&e.Event); t.lost != nil && t.stop != nil {
			t.stop()
		}
	}
	return nil
}

// turn runs one input to its end and prints the summary. It returns the error of the run or of the output.
func (t *repl) turn(ctx context.Context, input string, opts ...braid.RunOption) error {
	ctx, release := t.ints.Guard(ctx)
	defer release()
	opts = append(opts, braid.In(t.conv), braid.For(conf.Tenant, ""))
	return t.through(ctx, func(ctx context.Context) (*braid.Result, error) { return t.agent.Run(ctx, input, opts...) })
}

// drive is a call of the library that executes a run.
type drive func(context.Context) (*braid.Result, error)

// goOn continues the conversation's open run.
func (t *repl) goOn(ctx context.Context) (*braid.Result, error) {
	return t.agent.Resume(ctx, t.conv, braid.For(conf.Tenant, ""))
}

// retry continues the conversation's failed run to its end.
func (t *repl) retry(ctx context.Context) error {
	ctx, release := t.ints.Guard(ctx)
	defer release()
	return t.through(ctx, t.goOn)
}

// through executes a run with all its stretches.
func (t *repl) through(ctx context.Context, first drive) error {
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
	if t.ints.Interrupted() && term.KindOf(err) == event.ErrCancelled {
		err = term.ErrInterrupted
	}
	if showErr := t.show.End(t.summary(res, err)); showErr != nil {
		return term.OutputError(showErr)
	}
	return err
}

// outputFailed is an error of the output, which cannot be printed.
type outputFailed struct{ err error }

func (o outputFailed) Error() string { return o.err.Error() }

// stretch prints one call of the library.
func (t *repl) stretch(ctx context.Context, drive drive) (*braid.Result, error) {
	if t.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.timeout)
		defer cancel()
	}
	ctx, t.stop = context.WithCancel(ctx)
	defer t.stop()
	res, err := drive(ctx)
	if t.lost != nil {
		return res, outputFailed{term.OutputError(t.lost)}
	}
	return res, err
}

// answer asks the user all open questions. Without a user it cancels the run.
func (t *repl) answer(ctx context.Context, questions []braid.Question) error {
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
		// An open run would block the next turn.
		if cancelErr := t.abandon(ctx); cancelErr != nil {
			err = errors.Join(err, cancelErr)
		}
		switch {
		case errors.Is(err, io.EOF):
			return errNoUser(q)
		case errors.Is(err, term.ErrAborted):
			return term.ErrInterrupted
		}
		return err
	}
	return nil
}

// abandon cancels the waiting run and executes it to its end.
func (t *repl) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := t.conv.Cancel(ctx); err != nil {
		return err
	}
	_, err := t.goOn(ctx)
	switch {
	case t.lost != nil:
		return outputFailed{term.OutputError(t.lost)}
	case term.KindOf(err) == event.ErrCancelled:
		return nil
	}
	return err
}

// summary returns the summary of a turn.
func (t *repl) summary(res *braid.Result, err error) *printer.Summary {
	info := t.model
	s := &printer.Summary{
		Kind: "result", Conversation: t.conv.ID(), Kept: t.kept, Model: info.Name, Simulated: info.Simulated, Replay: info.Replay,
		Exit: term.KindOf(err).Info().Exit,
	}
	if err == nil {
		s.Exit = 0
	} else if !errors.As(err, &s.Error) {
		s.Error = &event.Error{Kind: term.KindOf(err), Message: term.KindOf(err).Info().Meaning}
	}
	if res == nil {
		return s
	}
	s.Run, s.Stop, s.Why, s.Text, s.Usage, s.Cost = res.Run, res.Stop, res.Why, res.Text(), res.Usage, res.CostNanoUSD
	s.Output = res.Output
	m := res.Metrics
	s.Cycles, s.ModelCalls, s.ToolCalls, s.ToolErrors = m.Cycles, m.ModelCalls, m.ToolCalls, m.ToolErrors
	s.Duration, s.ModelTime, s.FirstByte = m.Duration, m.ModelTime, m.TimeToFirstByte
	s.ModelErrors, s.Stragglers = m.ModelErrors, m.Stragglers
	for _, one := range m.Tools {
		s.Tools = append(s.Tools, printer.ToolCount(one))
	}
	return s
}
