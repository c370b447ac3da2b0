package drive

import (
	"context"
	"errors"
	"maps"

	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/hooks"
)

// callBeforeDrive calls the hooks before a drive.
func (d *activeRun) callBeforeDrive() {
	list := d.cfg.agent.Hooks.At(hooks.BeforeDrive)
	if len(list) == 0 {
		return
	}
	run := d.view.Run
	e := hook.BeforeDrive{
		Agent: d.cfg.agent.Name, Model: d.cfg.agent.modelName(), Conversation: d.row.Conversation, Run: d.row.ID,
		Trace: d.row.Metadata[hook.TraceLabel],
	}
	if e.Resumed = run != nil && run.ID == d.row.ID; e.Resumed && run.Labels[hook.TraceLabel] != "" {
		e.Trace = run.Labels[hook.TraceLabel]
	}
	for i := range list {
		e.Context = d.ctx //nolint:fatcontext // each hook goes on from what the one before made
		if err := list[i].Safely(d.ctx, &e); err != nil {
			d.failWith(err)
			return
		}
		if e.Context != nil {
			d.ctx = e.Context
		}
	}
	d.cfg.trace = e.Trace
}

// callAfterDrive calls the hooks after a drive. Their errors change nothing.
func (d *activeRun) callAfterDrive(list []hooks.Hook, r *hook.Outcome, err error) {
	told := *r
	told.Conversation = d.row.Conversation
	_ = hooks.CallAfter(context.WithoutCancel(d.ctx), list, &hook.AfterDrive{Result: told, Err: err})
}

// errBrokenOff is the error of a drive that ended in an unknown way.
var errBrokenOff = errors.New("the drive was broken off")

// labels returns the run's labels for the log, with its trace.
func (d *activeRun) labels() map[string]string {
	m := d.row.Metadata
	if d.cfg.trace == "" || m[hook.TraceLabel] == d.cfg.trace {
		return m
	}
	if m = maps.Clone(m); m == nil {
		m = make(map[string]string, 1)
	}
	m[hook.TraceLabel] = d.cfg.trace
	return m
}

// within returns the context in which the step runs.
func (w *Work) within(drive context.Context) context.Context {
	if w.ctx != nil {
		return w.ctx
	}
	return drive
}
