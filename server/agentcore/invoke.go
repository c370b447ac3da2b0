package agentcore

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/stream"
	"github.com/braidrun/braid/service"
)

// invoke answers an invocation: with a stream, with one JSON value, or at once where the
// caller does not wait.
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
	x.kept = nil // a large one is not to be held as long as the stream lasts
	ctx, unwatch := x.h.entry.Watch(x.R.Context(), &x.Who)
	defer unwatch()
	t, err := x.begin(ctx, in)
	x.Hold.Release()
	if ended := door.Ended(ctx); err != nil && ended != nil { // it had to wait for another run
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

// retryTime is how long an SDK's request counts as the same.
const retryTime = 10 * time.Minute

// again stands between an id and how often it was used before, where no header can have it.
const again = "\n"

// begin has the run accepted, or finds the one that the same request has begun, or
// answers what the session's run waits for.
func (x *exchange) begin(ctx context.Context, in *asked) (*turn, error) {
	conv, err := x.h.service.OpenConversation(ctx, x.Who.Principal, x.conversation(), service.NewConversation{
		Metadata: map[string]string{"agentcore_session": x.Session},
	})
	if errors.Is(err, event.ErrNotFound) { // there is one of this name, and it is another user's
		return nil, noSession("use a session id of your own: a new UUID")
	}
	if err != nil {
		return nil, err
	}
	x.Conversation = conv.ID
	if len(in.answers) > 0 {
		return x.answer(ctx, conv.ID, in)
	}
	if i := slices.IndexFunc(conv.Open, func(r journal.Run) bool { return !repeats(r.Key, in.run.Key) }); i >= 0 {
		done := x.h.readers.Want(conv.Open[i].ID) // its reader may have gone on to this request
		defer done()
	}
	if conv.Status == event.RunWaiting && in.run.Key == "" { // with a key it may be that very run
		if err := x.waits(ctx, conv.ID); err != nil {
			return nil, err
		}
	}
	in.run.Watch = true
	in.run.Trace = service.TraceOf(x.R.Header.Values("Traceparent"), x.R.Header.Values("Tracestate"))
	started, err := x.start(ctx, conv.ID, in)
	if errors.Is(err, event.ErrLocked) {
		if waits := x.waits(ctx, conv.ID); waits != nil {
			return nil, waits
		}
	}
	if err != nil {
		return nil, err
	}
	x.Run = started.Run.ID
	t := newTurn(x, conv.ID, started.Run.ID, in)
	t.Follower = started.Follower
	if t.Follower == nil { // the run was there: all of it is told again
		if err := t.takeOver(ctx); err != nil {
			return nil, err
		}
		err = t.follow(ctx, 0)
	}
	if err != nil {
		return nil, err
	}
	x.h.readers.Enter(t.Story.Run)
	return t, nil
}

func noSession(hint string) error {
	return &event.Error{Kind: event.ErrNotFound, Message: "there is no such session", Hint: hint}
}

// waits says that nothing but answers can go on with the session.
func (x *exchange) waits(ctx context.Context, conv string) error {
	open, err := x.h.service.Questions(ctx, x.Who.Principal, conv)
	if err != nil || len(open) == 0 {
		return err
	}
	return &event.Error{
		Kind: event.ErrInvalid, Message: "the session waits for answers to its interrupts",
		Hint: `send {"prompt": [{"interruptResponse": {"interruptId": "…", "response": …}}]}`,
	}
}

// repeats reports whether a run's key is that of an invocation's id, in its first use or a later one.
func repeats(key, id string) bool {
	rest, ok := strings.CutPrefix(key, id)
	return ok && id != "" && (rest == "" || strings.HasPrefix(rest, again))
}

// start has a run accepted. A key that was used more than ten minutes ago is a new one.
func (x *exchange) start(ctx context.Context, conv string, in *asked) (service.Started, error) {
	s := x.h.service
	began := time.Now()
	key := in.run.Key
	started, err := s.StartRun(ctx, x.Who.Principal, conv, in.run)
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
	in.run.Key = same[len(same)-1].Key // it is still the same, or
	if began.Sub(same[len(same)-1].Admitted) >= retryTime {
		in.run.Key = key + again + strconv.Itoa(len(same))
	}
	started, err = s.StartRun(ctx, x.Who.Principal, conv, in.run)
	if service.KeyReused(err) {
		return started, bad("the amz-sdk-invocation-id came with another request before", "use a new one for a new request")
	}
	return started, err
}

// answer answers the session's run. Its stream begins behind the answers.
func (x *exchange) answer(ctx context.Context, conv string, in *asked) (*turn, error) {
	s := x.h.service
	open, err := s.Questions(ctx, x.Who.Principal, conv)
	if err != nil {
		return nil, err
	}
	t := newTurn(x, conv, "", in)
	var given []interruptResponse // that are not taken in yet
	for _, a := range in.answers {
		if t.Pause.Awaited[a.ID] {
			return nil, noInterrupt()
		}
		t.Pause.Awaited[a.ID] = true
		if slices.ContainsFunc(open, func(q question) bool { return q.Token == a.ID }) {
			given = append(given, a)
		}
	}
	at, err := t.prime(ctx)
	if err != nil {
		return nil, err
	}
	if len(given) < len(in.answers) {
		if err := x.answeredBefore(ctx, t, at, in, given); err != nil {
			return nil, err
		}
	}
	if err = t.Follow(ctx, at); err != nil {
		return nil, err
	}
	for _, a := range given {
		run, err := s.Answer(ctx, x.Who.Principal, conv, a.ID, a.Response)
		if err != nil {
			t.Follower.Close()
			return nil, err
		}
		t.Story.Run = run.ID
	}
	x.h.readers.Enter(t.Story.Run)
	return t, nil
}

func noInterrupt() error {
	return &event.Error{
		Kind: event.ErrInvalid, Message: "an answer is to no open interrupt", Hint: "each interruptId is good for one answer",
	}
}

// answeredBefore finds the answers that are not among given in the log, behind at: an SDK has sent them before,
// as the same user. It sets the run that they went to. Answers that say something else, or that were given
// longer ago than an SDK repeats a request, are refused.
func (x *exchange) answeredBefore(ctx context.Context, t *turn, at int64, in *asked, given []interruptResponse) error {
	missing := map[string]json.RawMessage{}
	for _, a := range in.answers {
		if !slices.ContainsFunc(given, func(g interruptResponse) bool { return g.ID == a.ID }) {
			missing[a.ID] = a.Response
		}
	}
	all, err := stream.FindAnswers(ctx, t.Log, at, missing, func(e *event.Event, b *event.Answered, said json.RawMessage) error {
		if in.run.Key == "" || b.By != x.Who.User || time.Since(e.Time) >= retryTime || !strictjson.Same(b.Value, said) {
			return noInterrupt()
		}
		t.Story.Run = e.Run
		return nil
	})
	if err == nil && !all {
		err = noInterrupt()
	}
	return err
}

// goOn answers at once; the run goes on, and keeps the machine alive until it is over.
func (x *exchange) goOn(t *turn) error {
	h := x.h
	done := h.Task("run")
	h.behind.Go(func() {
		defer done()
		defer t.Follower.Close()
		defer h.readers.Leave(t.Story.Run)
		_ = t.Send(h.ends, discard) // it fails where the service is being closed: the run is kept as it stands
	})
	x.W.Header().Set("Preference-Applied", "respond-async")
	x.json(http.StatusAccepted, acceptedBody{"accepted", x.Session, t.Story.Run})
	return nil
}

// acceptedBody says that a run goes on behind its request.
type acceptedBody struct {
	Status  string `json:"status"`
	Session string `json:"runtimeSessionId"`
	Run     string `json:"run"`
}

// asynchronous reports whether the caller wants to look later (RFC 7240).
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

// wantsJSON reports whether the caller wants one value instead of a stream: it says so,
// and does not name streams too.
func wantsJSON(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

// leave cancels a run whose last reader left before its end. If the invocation can be repeated, it first
// waits for the one who repeats it.
func (t *turn) leave() {
	h, who, request, conv, run := t.x.h, t.x.Who.Principal, t.x.ID, t.Conversation, t.Story.Run
	if t.encoder.Done() {
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
		if err != nil && !errors.Is(err, event.ErrConflict) && !errors.Is(err, event.ErrNotFound) { // these two say that it has ended
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

// readerLabel is the conversation's label for who of several servers reads the run of a repeated invocation: the
// run and the server.
const readerLabel = "agentcore_reader"

// takeOver tells other servers that the run is read here: the one that it was read at before must not cancel it.
func (t *turn) takeOver(ctx context.Context) error {
	s := t.x.h.service
	if !s.Shared() || !t.keyed {
		return nil
	}
	_, err := s.UpdateConversation(ctx, t.x.Who.Principal, t.Conversation, service.Changes{
		Metadata: map[string]string{readerLabel: t.Story.Run + " " + t.x.h.id},
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

// leaveTime bounds how long cancelling a run takes.
const leaveTime = 10 * time.Second

// stop ends a runtime session: what runs in it is cancelled, and the next invocation
// begins anew, as on a machine that knows nothing.
func (x *exchange) stop() error {
	if x.R.Header.Get(sessionHeader) == "" {
		return bad("the session to be stopped is not named", "send "+sessionHeader)
	}
	if err := x.inSession(x.R.Header.Get(sessionHeader)); err != nil {
		return err
	}
	if _, err := x.readBody(); err != nil { // it holds a token that repeating needs, and stopping twice does no harm
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
		if err != nil && !errors.Is(err, event.ErrConflict) && !errors.Is(err, event.ErrNotFound) { // these two say that it has ended
			return err
		}
	}
	if _, err := s.ResetConversation(ctx, x.Who.Principal, conv.ID); err != nil {
		return err
	}
	x.json(http.StatusOK, map[string]int{"statusCode": http.StatusOK})
	return nil
}
