package braid

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/gate"
	"github.com/braidrun/braid/journal"
)

// This file ends runs that nobody can drive: the code that drives one panics, or has ended the process
// again and again. They end as failed, written by a driver that calls nothing but Braid's own code.

// noModel stands for the model of an agent that drives nothing.
type noModel struct{}

func (noModel) Info() ModelInfo { return ModelInfo{Name: "none"} }

func (noModel) Stream(context.Context, *ModelRequest) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) { yield(Chunk{}, errNoModel) }
}

var errNoModel = &event.Error{Kind: event.ErrUnsupported, Message: "there is no model"}

// stand is an agent of the same name without a model, tools, hooks or guardrails.
func (a *Agent) stand(name string) *Agent {
	limits := a.limits
	limits.Active = 0
	return &Agent{name: name, model: noModel{}, limits: limits, retry: defaultRetry}
}

// giveUp ends the run under its lease, as failed with why; as cancelled where somebody has asked for
// that. The events go to sink.
func (a *Agent) giveUp(
	ctx context.Context, o *runOptions, lease journal.Lease, row journal.Run, mail []journal.Mail, why *event.Error, r *Result,
	sink func(event.Event) bool,
) error {
	base := context.WithoutCancel(ctx)
	v, err := o.conv.coldView(base)
	if err != nil {
		return err
	}
	name := row.Agent
	if v.run != nil && v.run.id == row.ID {
		name = v.run.scopes[0].agent
	} else if name == "" {
		name = a.name
	}
	if v.run == nil || v.run.id != row.ID || int(v.run.inputs) < len(row.Input) {
		row.Input = a.unguarded(row.Input)
	}
	ctx, stop := context.WithCancel(base)
	defer stop()
	d := &driver{
		ctx: ctx, base: base, stop: stop, store: o.conv.store, lease: lease, row: row, agent: a.stand(name),
		view: v, sink: sink, alone: o.conv.own, gate: gate.From(base), patient: o.work == nil, now: time.Now(),
	}
	cancelled := row.Cancelled || slices.ContainsFunc(mail, func(m journal.Mail) bool { return m.Kind == journal.MailCancel })
	if cancelled {
		stop()
	} else {
		d.fault = why
	}
	if err := d.drive(mail); err != nil {
		return err
	}
	d.report(r)
	return nil
}

// unguarded is an input that no guardrail has looked at: nothing is left of it where the agent has some.
func (a *Agent) unguarded(in []event.Message) []event.Message {
	if len(a.guards) == 0 {
		return in
	}
	out := slices.Clone(in)
	for i := range out {
		out[i].Content = redactedContent
	}
	return out
}

// brokenOff is what a drive that panicked gives: the run is ended as failed, under the lease that it has.
func (a *Agent) brokenOff(
	ctx context.Context, o *runOptions, opened *journal.Opened, why *event.Error, r *Result, sink func(event.Event) bool,
) error {
	lease := opened.Lease
	news, err := o.conv.store.Renew(context.WithoutCancel(ctx), lease)
	if err == nil {
		err = a.giveUp(ctx, o, lease, opened.Run, news.Mail, why, r, sink)
	}
	if err != nil && !errors.Is(err, event.ErrLeaseLost) {
		_ = o.conv.store.Commit(context.WithoutCancel(ctx), lease, journal.Batch{Release: true})
	}
	return err
}
