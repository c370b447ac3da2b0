package drive

import (
	"context"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/offload"
	"github.com/braidrun/braid/journal"
)

// reading is what a call of the reader needs to know of its conversation.
type reading struct {
	store journal.Store
	// begin is where the session begins, and redacted are the replacements of redacted events.
	begin    int64
	redacted map[int64][]event.Block
}

// ReadResult reads a result out of the log, at most so many bytes of it.
func ReadResult(ctx context.Context, in offload.Args, most int) (string, error) {
	c := runningCallOf(ctx)
	if c == nil {
		return "", errNoReading()
	}
	r := c.reading()
	if r == nil {
		return "", errNoReading()
	}
	text, ok, err := r.text(ctx, c, in.Result)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", offload.Invalid("there is no result "+strconv.FormatInt(in.Result, 10), "use the number that was shown with the result")
	}
	return in.Read(text, most)
}

func errNoReading() error {
	return offload.Invalid("there is no conversation to read from", "call it inside a run")
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
