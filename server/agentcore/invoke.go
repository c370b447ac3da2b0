package agentcore

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// invoke responds to an invocation with a stream, with one JSON value, or at once if the caller
// does not wait.
func (x *exchange) invoke() error {
	if err := x.inSession(x.R.Header.Get(sessionHeader)); err != nil {
		return err
	}
	body, err := x.readBody()
	if err != nil {
		return err
	}
	in, err := x.parse(body)
	if err != nil {
		return err
	}
	if x.h.options.Debug && in.action != "" {
		return x.act(in.action)
	}
	x.kept = nil // do not hold a large body as long as the stream
	ctx, unwatch := x.h.entry.Watch(x.R.Context(), &x.Who)
	defer unwatch()
	t, err := x.begin(ctx, in)
	x.Hold.Release()
	if ended := door.Ended(ctx); err != nil && ended != nil { // it waited for another run
		return &fault{deniedStatus(x.door), "AccessDeniedException", ended.Message, ended.Hint}
	}
	if err != nil {
		return err
	}
	if asynchronous(x.R) {
		return x.goOn(t)
	}
	defer t.close()
	if wantsJSON(x.R) {
		return t.collect(ctx)
	}
	t.serve(ctx)
	return nil
}

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

func noSession(hint string) error {
	return front.Refusal(event.ErrNotFound, "there is no such session", hint)
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
		Answers: in.answers, Unknown: front.Bad("an answer does not belong to an open interrupt", "answer each interruptId once"),
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

// goOn responds at once. The run continues and keeps the machine alive until it ends.
func (x *exchange) goOn(t *turn) error {
	h := x.h
	done := h.Task("run")
	h.behind.Go(func() {
		defer done()
		defer t.Follower.Close()
		defer h.readers.Leave(t.Story.Run)
		_ = t.Send(h.ends, discard) // it fails if the service closes: the run keeps its state
	})
	x.W.Header().Set("Preference-Applied", "respond-async")
	x.json(http.StatusAccepted, acceptedBody{"accepted", x.Session, t.Story.Run})
	return nil
}

// acceptedBody reports that a run continues after its request.
type acceptedBody struct {
	Status  string `json:"status"`
	Session string `json:"runtimeSessionId"`
	Run     string `json:"run"`
}

// asynchronous reports whether the caller does not wait for the result (RFC 7240).
func asynchronous(r *http.Request) bool {
	for _, line := range r.Header.Values("Prefer") {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), "respond-async") {
				return true
			}
		}
	}
	return false
}

// wantsJSON reports whether the caller accepts JSON but not streams.
func wantsJSON(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
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

// stop ends a runtime session: it cancels its run, and the next invocation starts with an empty
// history.
func (x *exchange) stop() error {
	if x.R.Header.Get(sessionHeader) == "" {
		return front.Bad("the request names no session", "send "+sessionHeader)
	}
	if err := x.inSession(x.R.Header.Get(sessionHeader)); err != nil {
		return err
	}
	if _, err := x.readBody(); err != nil { // the token in it is for repetitions, and stopping twice is harmless
		return err
	}
	ctx := x.R.Context()
	s := x.h.service
	conv, err := s.ConversationNamed(ctx, x.Who.Principal, x.conversation())
	if errors.Is(err, event.ErrNotFound) {
		return noSession("it begins with its first invocation")
	}
	if err != nil {
		return err
	}
	for i := range conv.Open {
		err := s.CancelRun(ctx, x.Who.Principal, conv.ID, conv.Open[i].ID)
		if err != nil && !errors.Is(err, event.ErrConflict) && !errors.Is(err, event.ErrNotFound) { // both mean that the run has ended
			return err
		}
	}
	if _, err := s.ResetConversation(ctx, x.Who.Principal, conv.ID); err != nil {
		return err
	}
	x.json(http.StatusOK, map[string]int{"statusCode": http.StatusOK})
	return nil
}
