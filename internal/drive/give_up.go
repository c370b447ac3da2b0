package drive

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/sched"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// This file ends runs that nobody can drive: the code that drives one panics, or has ended the process
// again and again. They end as failed, written by a driver that calls nothing but Braid's own code.

// NoModel stands for a model in an agent that drives nothing. What it costs is still known.
type noModel struct{ info model.Info }

func (m noModel) Info() model.Info { return m.info }

func (noModel) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, errNoModel) }
}

var errNoModel = &event.Error{Kind: event.ErrUnsupported, Message: "there is no model"}

// stand returns an agent of this name without a model, tools, hooks or guardrails.
func (a *Agent) stand(name string) *Agent {
	limits := *a.Limits
	limits.Active = 0
	own := &Agent{Name: name, Model: noModel{model.Info{Name: "none"}}, Limits: &limits, Bounds: a.Bounds, Retry: a.Retry, Forgets: a.Forgets}
	for _, m := range a.Models() {
		own.stands(m)
	}
	for _, one := range a.below() {
		for _, m := range one.Models() {
			own.stands(m)
		}
	}
	if len(own.Fallbacks) > 0 {
		own.Model, own.Fallbacks = own.Fallbacks[0], own.Fallbacks[1:]
	}
	return own
}

// stands adds a stand-in for a model, with the model's description.
func (a *Agent) stands(m model.Model) {
	var info model.Info
	if <-foreign.Apart("model", "the model", func() error { info = m.Info(); return nil }) == nil {
		a.Fallbacks = append(a.Fallbacks, noModel{info})
	}
}

// giveUp ends the run under its lease as failed with why, or as cancelled if that was asked for. The events go to
// sink. It returns the error that the run ended with.
func (a *Agent) giveUp(
	ctx context.Context, o *Request, opened *journal.Opened, why *event.Error, r *hook.Outcome, sink func(event.Event) bool,
) (*event.Error, error) {
	lease, row, mail := opened.Lease, opened.Run, opened.Mail
	base := context.WithoutCancel(ctx)
	ctx, stop := context.WithCancel(base)
	defer stop()
	if a.Limits.killsReaders(&row) {
		return a.endUnread(base, o, opened, why, r, sink)
	}
	v, renewer, err := a.readTaken(base, o.Log, lease, stop)
	if err != nil {
		if isPanic(err) && opened.Last >= 0 {
			renewer.Close()
			return a.endUnread(base, o, opened, why, r, sink)
		}
		o.letGo(base, lease, renewer)
		return nil, err
	}
	given, repairs := fitInput(row.Input)
	name := row.Agent
	if v.Run != nil && v.Run.ID == row.ID {
		name = v.Run.Scopes[0].Agent
	} else if name == "" {
		name = a.Name
	}
	if v.Run == nil || v.Run.ID != row.ID || int(v.Run.Inputs) < len(given) {
		given = a.unguarded(given)
	}
	d := &driver{exec: executor{order: sched.From(base)}}
	d.activeRun = activeRun{
		ctx: ctx, stop: stop, row: &row, messages: given, view: v, now: time.Now(),
		cfg:   runConfig{agent: a.stand(name), exclusive: o.Log.Own, callerWaits: o.Engine == nil},
		lease: runLease{conv: o.Log, held: &lease, renewer: renewer, base: base},
		out:   sender{sink: sink},
	}
	d.repairs = repairs
	d.cfg.work = &EngineWork{ForgetFailed: o.Engine != nil && o.Engine.ForgetFailed}
	cancelled := row.Cancelled || slices.ContainsFunc(mail, func(m journal.Mail) bool { return m.Kind == journal.MailCancel })
	if cancelled {
		stop()
	} else {
		d.fault = why
	}
	if err := d.drive(mail); err != nil {
		return nil, err
	}
	d.report(r)
	return d.err, nil
}

// unguarded copies an input that no guardrail has seen. If the agent has guardrails, the content is redacted.
func (a *Agent) unguarded(in []event.Message) []event.Message {
	out := slices.Clone(in)
	if len(a.Guards) == 0 {
		return out
	}
	for i := range out {
		out[i].Content = fold.RedactedContent
	}
	return out
}

// brokenOff ends the run of a drive that panicked as failed, under the same lease.
func (a *Agent) brokenOff(
	ctx context.Context, o *Request, opened *journal.Opened, why *event.Error, r *hook.Outcome, sink func(event.Event) bool,
) error {
	lease := opened.Lease
	news, err := o.Log.Store.Renew(context.WithoutCancel(ctx), lease)
	if err == nil {
		// Where its log ends now, after what the drive has written, is not known.
		_, err = a.giveUp(ctx, o, &journal.Opened{Lease: lease, Run: opened.Run, Last: -1, Mail: news.Mail}, why, r, sink)
	}
	if err != nil && !errors.Is(err, event.ErrLeaseLost) {
		_ = o.Log.Store.Commit(context.WithoutCancel(ctx), lease, journal.Batch{Release: true})
	}
	return err
}
