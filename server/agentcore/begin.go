package agentcore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// retryTime is how long a repeated request counts as the same.
const retryTime = 10 * time.Minute

// again separates an invocation's id from the number of its earlier uses. No header can contain
// it.
const again = "\n"

// begin starts the run, finds the run of the same request, or answers the session's questions.
func (x *exchange) begin(ctx context.Context, in *asked) (*turn, error) {
	conv, err := x.Named(ctx, "agentcore", "session", x.Session, "use a session id of your own: a new UUID")
	if err != nil {
		return nil, err
	}
	x.Conversation = conv.ID
	if len(in.answers) > 0 {
		return x.answer(ctx, &conv, in)
	}
	if i := slices.IndexFunc(conv.Open, func(r journal.Run) bool { return !repeats(r.Key, in.run.Key) }); i >= 0 {
		done := x.h.readers.Want(conv.Open[i].ID) // its reader may be repeating the request
		defer done()
	}
	if conv.Status == event.RunWaiting && in.run.Key == "" { // with a key it may be the waiting run
		if err := x.waits(ctx, conv.ID); err != nil {
			return nil, err
		}
	}
	started, err := x.start(ctx, conv.ID, in)
	if errors.Is(err, event.ErrLocked) {
		if waits := x.waits(ctx, conv.ID); waits != nil {
			return nil, waits
		}
	}
	if err != nil {
		return nil, err
	}
	t := newTurn(x, conv.ID, in)
	if started.Follower == nil { // a repetition
		if err := t.takeOver(ctx, started.Run.ID); err != nil {
			return nil, err
		}
	}
	if err := t.Begin(ctx, &started); err != nil {
		return nil, err
	}
	x.h.readers.Enter(t.Story.Run)
	return t, nil
}

// waits returns an error if only answers can continue the session.
func (x *exchange) waits(ctx context.Context, conv string) error {
	open, err := x.h.service.Questions(ctx, x.Who.Principal, conv)
	if err != nil || len(open) == 0 {
		return err
	}
	return front.Bad("the session waits for answers to its interrupts",
		`send {"prompt": [{"interruptResponse": {"interruptId": "…", "response": …}}]}`)
}

// repeats reports whether a run's key belongs to an invocation's id, in its first or a later use.
func repeats(key, id string) bool {
	rest, ok := strings.CutPrefix(key, id)
	return ok && id != "" && (rest == "" || strings.HasPrefix(rest, again))
}

// start starts a run. A key whose last use is more than ten minutes old counts as new.
func (x *exchange) start(ctx context.Context, conv string, in *asked) (service.Started, error) {
	s := x.h.service
	began := time.Now()
	key := in.run.Key
	started, err := x.Start(ctx, in.run)
	if key == "" || !service.KeyReused(err) && (err != nil || began.Sub(started.Run.Admitted) < retryTime) {
		return started, err
	}
	runs, listErr := s.ListRuns(ctx, x.Who.Principal, conv, 0, 0)
	if listErr != nil {
		return started, listErr
	}
	same := slices.DeleteFunc(runs, func(r journal.Run) bool { return !repeats(r.Key, key) })
	if len(same) == 0 {
		return started, err
	}
	in.run.Key = same[len(same)-1].Key // the request is a repetition, unless the key is too old
	if began.Sub(same[len(same)-1].Admitted) >= retryTime {
		in.run.Key = key + again + strconv.Itoa(len(same))
	}
	started, err = x.Start(ctx, in.run)
	if service.KeyReused(err) {
		return started, front.Bad("the amz-sdk-invocation-id was used for another request", "use a new one for a new request")
	}
	return started, err
}

// answer answers the session's questions. Its stream begins after the answers. Only an SDK sends answers again, and for
// no longer than retryTime.
func (x *exchange) answer(ctx context.Context, conv *service.Conversation, in *asked) (*turn, error) {
	t := newTurn(x, conv.ID, in)
	r := front.Resumption{
		Answers: in.answers, Own: &in.own, Unknown: front.Bad("an answer does not belong to an open interrupt", "answer each interruptId once"),
	}
	if in.run.Key != "" {
		r.Again = retryTime
	}
	if err := t.Resume(ctx, conv, &r); err != nil {
		return nil, err
	}
	t.First = t.encoder.AppendResumed(nil)
	x.h.readers.Enter(t.Story.Run)
	return t, nil
}
