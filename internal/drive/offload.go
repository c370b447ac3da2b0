package drive

import (
	"context"
	"maps"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/offload"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/tool"
)

// Offloading is the root's Offloading with its defaults, and the tool that reads off-loaded results.
type Offloading struct {
	offload.Sizes

	Reader tool.Tool
}

// offloadResult is the stage that shortens what the model is shown of a large result.
func (d *driver) offloadResult(w *Work) bool {
	if o := w.agent.Offload; o != nil && w.call.tool != o.Reader {
		w.end.shown = o.Shorten(d.view.Last+1, w.end.made)
	}
	return true
}

// reading is what a call of the reader needs to know of its conversation.
type reading struct {
	store journal.Store
	// begin is where the session begins, and redacted are the events that nobody may see.
	begin    int64
	redacted map[int64][]event.Block
}

// lend gives a call of the reader what it needs.
func (d *driver) lend(c *runningCall, agent *Agent) {
	if agent.Offload != nil && c.tool == agent.Offload.Reader {
		c.reading = &reading{store: d.lease.conv.Store, begin: d.view.Begin, redacted: maps.Clone(d.view.Hidden.Redacted)}
	}
}

// ReadResult reads a result out of the log, at most so many bytes of it.
func ReadResult(ctx context.Context, in offload.Args, most int) (string, error) {
	c := runningCallOf(ctx)
	if c == nil || c.reading == nil {
		return "", offload.Invalid("there is no conversation to read from", "call it inside a run")
	}
	text, ok, err := c.reading.text(ctx, c, in.Result)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", offload.Invalid("there is no result "+strconv.FormatInt(in.Result, 10), "use the number that was shown with the result")
	}
	return in.Read(text, most)
}

// text finds a result of the call's own scope and session in the log. What is redacted is not there.
func (r *reading) text(ctx context.Context, c *runningCall, seq int64) (string, bool, error) {
	if seq <= r.begin || r.redacted[seq] != nil {
		return "", false, nil
	}
	events, err := r.store.Read(ctx, c.Conversation, seq-1, 1)
	if err != nil || len(events) == 0 {
		return "", false, err
	}
	e := events[0]
	ended, ok := e.Body.(*event.StepEnded)
	if !ok || ended.Result == nil || e.Seq != seq || e.Scope != c.Scope || c.Scope != "" && e.Run != c.Run {
		return "", false, nil
	}
	return offload.Text(ended.Result), true, nil
}
