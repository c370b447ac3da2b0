package drive

import (
	"maps"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/decide"
	"github.com/braidrun/braid/internal/fold"
)

// offloadResult is the stage that shortens what the model is shown of a large result.
func (d *activeRun) offloadResult(w *Work) bool {
	if o := w.agent.Offload; o != nil && w.call.tool != o.Reader {
		w.end.shown = o.Shorten(d.view.Last+1, w.end.made)
	}
	return true
}

// inputOf returns what the scope of a function of a flow was asked. Its call is open.
func inputOf(s *fold.Scope) []event.Block {
	if n := len(s.Transcript.Messages); n > 0 && s.Transcript.Messages[n-1].Role == event.RoleUser {
		return s.Transcript.Messages[n-1].Content
	}
	return s.Input()
}

// lend gives a call of the reader of results, or of a function of a flow, what it needs.
func (d *activeRun) lend(c *runningCall, s *fold.Scope, agent *Agent) {
	if f, ok := agent.Flow.(decide.Flow); ok && f.Tool != "" {
		c.speaks(inputOf(s), agent.Limits.ResultBytes)
	}
	if _, ok := c.tool.(Transfer); ok {
		c.counts(s.Handover)
	}
	if agent.Offload != nil && c.tool == agent.Offload.Reader {
		c.readsResults(&reading{store: d.lease.conv.Store, begin: d.view.Begin, redacted: maps.Clone(d.view.Hidden.Redacted)})
	}
}
