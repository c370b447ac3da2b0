package agentcore

import (
	"net/http"
	"strings"

	"github.com/braidrun/braid/server/door"
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
