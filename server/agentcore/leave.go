package agentcore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
)

// close releases the follower. If the reader left before the end, it cancels the run.
func (t *turn) close() {
	t.Follower.Close()
	t.leave()
}

// leave cancels a run whose last reader left before its end. If the invocation can be repeated,
// it first waits for the repetition.
func (t *turn) leave() {
	h, who, request, conv, run := t.x.h, t.x.Who.Principal, t.x.ID, t.Conversation, t.Story.Run
	if t.Over {
		h.readers.Leave(run)
		return
	}
	gone := func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(h.ends), leaveTime)
		defer stop()
		if h.readElsewhere(ctx, who, conv, run) {
			return
		}
		err := h.service.CancelRun(ctx, who, conv, run)
		if err != nil && !errors.Is(err, event.ErrConflict) && !errors.Is(err, event.ErrNotFound) { // both mean that the run has ended
			h.log.Warn("a run whose reader left could not be cancelled", "request", request, "run", run, "error", err)
		}
	}
	switch {
	case t.keyed && h.options.Grace > 0:
		h.readers.LeaveFor(run, h.options.Grace, gone)
	case h.readers.Leave(run):
		gone()
	}
}

// readerLabel is the conversation's label that names the run of a repeated invocation and the
// server that reads it.
const readerLabel = "agentcore_reader"

// takeOver records that this server reads the run, so that the previous reader's server does not
// cancel it.
func (t *turn) takeOver(ctx context.Context, run string) error {
	s := t.x.h.service
	if !s.Shared() || !t.keyed {
		return nil
	}
	_, err := s.UpdateConversation(ctx, t.x.Who.Principal, t.Conversation, service.Changes{
		Metadata: map[string]string{readerLabel: run + " " + t.x.h.id},
	})
	return err
}

// readElsewhere reports whether another server has read the run since this one did.
func (h *Handler) readElsewhere(ctx context.Context, who service.Principal, conv, run string) bool {
	if !h.service.Shared() {
		return false
	}
	c, err := h.service.GetConversation(ctx, who, conv)
	if err != nil {
		return false
	}
	reader, ok := strings.CutPrefix(c.Metadata[readerLabel], run+" ")
	return ok && reader != h.id
}

// leaveTime is the timeout of cancelling a run.
const leaveTime = 10 * time.Second
