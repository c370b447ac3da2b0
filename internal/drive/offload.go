package drive

import (
	"maps"
)

// offloadResult is the stage that shortens what the model is shown of a large result.
func (d *activeRun) offloadResult(w *Work) bool {
	if o := w.agent.Offload; o != nil && w.call.tool != o.Reader {
		w.end.shown = o.Shorten(d.view.Last+1, w.end.made)
	}
	return true
}

// lend gives a call of the reader what it needs.
func (d *activeRun) lend(c *runningCall, agent *Agent) {
	if agent.Offload != nil && c.tool == agent.Offload.Reader {
		c.readsResults(&reading{store: d.lease.conv.Store, begin: d.view.Begin, redacted: maps.Clone(d.view.Hidden.Redacted)})
	}
}
